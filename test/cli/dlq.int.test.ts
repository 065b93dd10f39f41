import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, MERCHANT, payment, type Installation } from '../helpers/installation.ts'
import { startTestProcessor } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'
import { paidonce, paidonceJson } from './paidonce.ts'

let it: Installation
let env: Record<string, string>
let processor: RunningProcessor
beforeAll(async () => {
  it = await createInstallation({ partitions: 2 })
  env = it.env({ LOG_LEVEL: 'silent' }) as Record<string, string>
  processor = await startTestProcessor(it)
})
afterAll(async () => {
  await processor.stop()
  await it.drop()
})

interface Letter {
  id: number
  status: string
  reason: string
  out_trade_no: string | null
  replay_count: number
}
const list = async (...args: string[]) =>
  (await paidonceJson(['dlq', 'list', ...args], env)).json as { dead_letters: Letter[]; next: number | null }
interface Replayed {
  run: number
  to_replay: number
  by_reason: Record<string, number>
  refused: { id: number; why: string }[]
  results: Record<string, number>
  replays: { dead_letter: number; result: string; detail: string }[]
}
const replay = async (...args: string[]) => {
  const { code, json } = await paidonceJson(['dlq', 'replay', ...args, '--note', 'a test', '--yes'], env)
  return { code, ...(json as Replayed) }
}
const open = (count: number, ...args: string[]) =>
  until(`${count} dead letters are open`, async () => {
    const { dead_letters: letters } = await list(...args)
    return letters.length === count && letters
  })
const actions = async (action: string) =>
  (
    await it.database.pool.query<{ target: Record<string, unknown>; reason: string; actor: string }>(
      'select target, reason, actor from operator_actions where action = $1 order by id',
      [action],
    )
  ).rows

test('a poison record among 10,000: the others go through; replayed after a fix it is applied, and then a duplicate', async () => {
  const { pool } = it.database
  const orders = Array.from({ length: 10_000 }, (_, index) => `K${index}`)
  const others = orders.filter((order) => order !== 'K5000')
  await it.createOrders(orders)
  await pool.query('alter table facts drop constraint facts_provider_ref_check')
  await pool.query(`alter table facts add constraint facts_provider_ref_check check (provider_ref not like '%poison%')`)
  await it.send(orders.map((order) => payment(order, order === 'K5000' ? { providerRef: 'poison:1' } : {})))
  const events = await readEvents(it.topics, { atLeast: 3 * others.length })
  expect(checkExactlyOnce(others, events)).toEqual(nothingWrong(others))
  const [letter] = await open(1)
  if (letter === undefined) throw new Error('no dead letter')
  expect(letter).toMatchObject({ reason: 'unprocessable', out_trade_no: 'K5000', status: 'open' })
  const { rows: outcomes } = await pool.query<{ outcome: string; n: number }>(
    'select outcome::text, count(*)::int as n from deliveries group by 1 order by 1',
  )
  expect(outcomes).toEqual([
    { outcome: 'applied', n: others.length },
    { outcome: 'dead_letter', n: 1 },
  ])

  // Before the fix it fails again, and says so: a new dead letter, which knows how often.
  const failed = await replay(String(letter.id))
  expect(failed).toMatchObject({ code: 1, results: { failed_again: 1 } })
  expect(failed.replays[0]?.detail).toMatch(/^dead letter \d+: unprocessable: 23514/)
  const [again] = await open(1)
  expect(again).toMatchObject({ reason: 'unprocessable', replay_count: 1 })

  await pool.query('alter table facts drop constraint facts_provider_ref_check')
  const applied = await replay(String(again?.id))
  expect(applied).toMatchObject({ code: 0, results: { applied: 1 } })
  const all = await readEvents(it.topics, { atLeast: 3 * orders.length })
  const inOrder = [...others, 'K5000']
  expect(checkExactlyOnce(inOrder, all)).toEqual(nothingWrong(inOrder))

  const twice = await replay(String(again?.id))
  expect(twice).toMatchObject({ code: 1, results: { duplicate: 1 } })
  expect(await list()).toEqual({ dead_letters: [], next: null })
  expect(await actions('dead_letters_replay')).toMatchObject(
    [letter.id, again?.id, again?.id].map((id) => ({ reason: 'a test', target: { ids: [id], count: 1 } })),
  )
  const { json } = await paidonceJson(['dlq', 'inspect', String(again?.id)], env)
  expect(json).toMatchObject({
    status: 'replayed',
    decoded: { kind: 'callback', callback: { outTradeNo: 'K5000', facts: [{ providerRef: 'poison:1' }] } },
    headers: { paidonce_replay_count: '1', paidonce_replay_of: String(letter.id) },
    replays: [{ result: 'applied' }, { result: 'duplicate' }],
  })
  const { rows } = await pool.query<{ source: string; outcome: string }>(
    `select source, outcome::text from deliveries d join orders o on o.id = d.order_id
     where out_trade_no = 'K5000' order by kafka_offset`,
  )
  expect(rows).toEqual(['applied', 'duplicate'].map((outcome) => ({ source: 'replay', outcome })))
}, 120_000)

describe('of several', () => {
  beforeAll(async () => {
    const callback = { ...payment('U1').callback, facts: [] }
    await it.sendRaw(0, 'one byte', Buffer.from([0]))
    await it.sendRaw(0, null, Buffer.from('no key'))
    await it.send([
      { key: 'U1', callback },
      { key: 'evt_1', callback: { ...callback, outTradeNo: null } },
    ])
    await it.send([{ ...payment('W1'), key: 'W2' }])
    await open(5)
  })

  test('list: filters, pages, and what is wrong with a filter', async () => {
    const reasons = (letters: Letter[]) => letters.map(({ reason }) => reason).sort()
    expect(reasons((await list('--merchant', MERCHANT)).dead_letters)).toEqual([
      'misrouted',
      'unroutable',
      'unsupported',
    ])
    expect(reasons((await list('--reason', 'unroutable', '--reason', 'misrouted')).dead_letters)).toHaveLength(2)
    expect((await list('--until', '1h')).dead_letters).toEqual([])
    expect((await list('--since', '1h')).dead_letters).toHaveLength(5)
    const first = await list('--limit', '3')
    expect(first.dead_letters).toHaveLength(3)
    const second = await list('--limit', '3', '--before', String(first.next))
    expect([second.dead_letters.length, second.next]).toEqual([2, null])
    expect(await paidonce(['dlq', 'list', '--reason', 'bad'], env)).toMatchObject({ code: 2 })
    const { stdout } = await paidonce(['dlq', 'list'], env)
    expect(stdout).toContain('unroutable')
  })

  test('inspect shows bytes, and says why they cannot be decoded; an unknown one is a finding', async () => {
    const [letter] = (await list('--reason', 'undecodable')).dead_letters
    const { code, stdout } = await paidonce(['dlq', 'inspect', String(letter?.id)], env)
    expect(code).toBe(0)
    expect(stdout).toMatch(/\(undecodable: first byte 110 instead of 0\)/)
    expect(stdout).toContain('000000  6e 6f 20 6b 65 79')
    expect(await paidonce(['dlq', 'inspect', '999999'], env)).toMatchObject({ code: 1 })
    // The bytes are in Postgres: whoever mends a registry wants to see them.
    const away = { ...env, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' }
    const blind = await paidonce(['dlq', 'inspect', String(letter?.id)], away)
    expect(blind).toMatchObject({ code: 0, stdout: expect.stringContaining('000000  6e 6f 20 6b 65 79') as string })
    expect(blind.stdout).toMatch(/\(skipped: .*127\.0\.0\.1:1/)
  })

  test('a dry run counts by reason, says what would be refused and why, and does nothing', async () => {
    const plan = await replay('--all', '--dry-run')
    expect(plan).toMatchObject({ code: 1, by_reason: { undecodable: 1, unroutable: 1, unsupported: 1 } })
    expect(plan.refused.map(({ why }) => why).sort()).toEqual(['key_is_not_the_order', 'no_key'])
    expect((await list()).dead_letters).toHaveLength(5)
    expect(await actions('dead_letters_replay')).toHaveLength(3)
  })

  test('what nobody mended fails again, time and again, until it is quarantined', async () => {
    for (let count = 1; count <= 4; count++)
      expect(await replay('--reason', 'unsupported')).toMatchObject({ code: 1, results: { failed_again: 1 } })
    expect((await list('--reason', 'unsupported')).dead_letters).toMatchObject([{ replay_count: 4 }])
    expect(await replay('--reason', 'unsupported')).toMatchObject({ results: { quarantined: 1 } })
    const [kept] = (await list('--status', 'quarantined')).dead_letters
    expect(kept).toMatchObject({ reason: 'unsupported', replay_count: 5 })
    expect(await replay('--reason', 'unsupported')).toMatchObject({ code: 0, to_replay: 0 })
    expect((await replay(String(kept?.id))).refused).toEqual([{ id: kept?.id, why: 'quarantined' }])
    expect(await replay(String(kept?.id), '--quarantined')).toMatchObject({ results: { quarantined: 1 } })
    expect((await list('--status', 'quarantined')).dead_letters).toHaveLength(1)
  })

  test('discard: with a reason, once, and it is not replayed any more', async () => {
    const note = ['--note', 'not ours']
    expect(await paidonce(['dlq', 'discard', '--all'], env)).toMatchObject({ code: 2 })
    expect(await paidonce(['dlq', 'discard', ...note], env)).toMatchObject({ code: 2 })
    const discard = async (...args: string[]) =>
      (await paidonceJson(['dlq', 'discard', ...args, ...note, '--yes'], env)) as {
        code: number
        json: { discarded: number; by_reason: object }
      }
    const [letter] = (await list('--reason', 'unroutable')).dead_letters
    const dry = await discard('--all', '--dry-run')
    expect(dry.json.discarded).toBe(5)
    // Named twice it is one.
    const twice = [String(letter?.id), String(letter?.id)]
    expect((await replay(...twice, '--dry-run')).code).toBe(0)
    expect(await discard(...twice)).toMatchObject({ code: 0, json: { by_reason: { unroutable: 1 }, not_open: 0 } })
    expect(await discard(String(letter?.id))).toMatchObject({ code: 1, json: { discarded: 0 } })
    expect((await replay(String(letter?.id))).refused).toEqual([{ id: letter?.id, why: 'discarded' }])
    expect(await actions('dead_letters_discard')).toMatchObject([{ reason: 'not ours', target: { ids: [letter?.id] } }])
  })
})
