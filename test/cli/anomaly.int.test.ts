import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fileCommand } from '../../src/store/file-command.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { createInstallation, MERCHANT, payment, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'
import { paidonce, paidonceJson } from './paidonce.ts'

let it: Installation
let env: Record<string, string>
let processor: RunningProcessor | undefined
beforeAll(async () => {
  it = await createInstallation()
  env = it.env({ LOG_LEVEL: 'silent' }) as Record<string, string>
  await startProcessor()
})
afterAll(async () => {
  await processor?.stop()
  await it.drop()
})
async function startProcessor() {
  processor = await startTestProcessor(it)
  await untilSettled([processor], it.topics.partitions)
}
async function stopProcessor() {
  await processor?.stop()
  processor = undefined
}

/** Orders that were closed and then paid: the anomalies' numbers, in the order of the orders. */
async function paidAfterClose(orders: readonly string[]): Promise<number[]> {
  await it.createOrders(orders)
  for (const outTradeNo of orders)
    await fileCommand(it.database.pool, it.topics.appId, {
      ...{ kind: 'close', merchant: MERCHANT, outTradeNo, idempotencyKey: `close-${outTradeNo}` },
      ...{ bodyHash: Buffer.from(outTradeNo), body: '{}', actor: 'test' },
    })
  const ids = async (sql: string) => {
    const { rows } = await it.database.pool.query<{ id: string }>(sql, [orders])
    return rows.length === orders.length && rows.map(({ id }) => Number(id))
  }
  await until('they are closed', () => ids(`select id from orders where out_trade_no = any($1) and status = 'closed'`))
  await it.send(orders.map((order) => payment(order)))
  return until('they are anomalies', () =>
    ids(`select a.id from anomalies a join orders o on o.id = order_id where out_trade_no = any($1)
      order by array_position($1, out_trade_no)`),
  )
}
const json = async (...args: string[]) => {
  const { code, json } = await paidonceJson(['anomaly', ...args], env)
  return { code, json: json as Record<string, unknown> & { anomalies: Record<string, unknown>[] } }
}
const answer = (resolution: string, reason = 'because', actor = 'ann') => [
  ...['--resolution', resolution, '--reason', reason, '--actor', actor, '--yes'],
]
const statesOf = async (orders: readonly string[]) => {
  const { rows } = await it.database.pool.query<{ s: string }>(
    `select status || ' ' || coalesce(a.resolution || ' by ' || a.resolved_by, 'open') as s
     from orders o join anomalies a on a.order_id = o.id where out_trade_no = any($1) order by o.id`,
    [orders],
  )
  return rows.map(({ s }) => s)
}
const actionsOf = async (ids: readonly number[]) => {
  const { rows } = await it.database.pool.query<{ a: string }>(
    `select actor || ' ' || action || ' ' || reason as a from operator_actions
     where (target->>'anomalyId')::int = any($1) order by id`,
    [ids],
  )
  return rows.map(({ a }) => a)
}

test('list, show, claim, release and resolve one', async () => {
  const [id = 0] = await paidAfterClose(['one'])
  const name = String(id)
  expect((await json('list', '--kind', 'paid_after_close')).json.anomalies).toMatchObject([{ id, out_trade_no: 'one' }])
  expect((await json('list', '--kind', 'disputed')).json.anomalies).toEqual([])
  const shown = await paidonce(['anomaly', 'show', name], env)
  expect(shown.stdout).toContain('takes         accept_payment, refund_outside, ignore')
  expect(shown.stdout).toMatch(/^fact:$/m)
  expect(shown.stdout).toMatch(/^ {2}eventTimeMs +2025-10-09T08:53:20.000Z$/m)
  expect(shown.stdout).toMatch(/^order:\n( {2}.*\n)* {2}status +closed$/m)

  expect(await json('claim', name, '--actor', 'ann')).toMatchObject({ code: 0, json: { owner: 'ann' } })
  const second = await paidonce(['anomaly', 'claim', name, '--actor', 'bob'], env)
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('ann works on it.')])
  expect(await json('resolve', name, ...answer('ignore', 'r', 'bob'))).toMatchObject({
    code: 1,
    json: { resolved: 0, anomalies: [{ id, result: 'refused', reason: 'claimed', detail: 'ann works on it.' }] },
  })
  const silent = await paidonce(['anomaly', 'release', name, '--actor', 'bob', '--owner', 'ann'], env)
  expect([silent.code, silent.stderr]).toEqual([2, expect.stringContaining('--reason')])
  expect((await json('release', name, '--actor', 'ann')).json['owner']).toBeNull()

  const wrong = await json('resolve', name, ...answer('reopen'))
  expect(wrong).toMatchObject({ code: 1, json: { anomalies: [{ reason: 'not_allowed' }] } })
  expect(await json('resolve', name, ...answer('accept_payment', 'in stock'))).toMatchObject({
    code: 0,
    json: { resolved: 1, refused: 0, pending: 0 },
  })
  expect(await statesOf(['one'])).toEqual(['paid accept_payment by ann'])
  expect(await actionsOf([id])).toEqual(['ann anomaly_claim ', 'ann anomaly_release ', 'ann anomaly_resolve in stock'])
  const late = await json('resolve', name, ...answer('ignore', 'r', 'bob'))
  expect(late.json.anomalies).toMatchObject([
    { reason: 'already_resolved', detail: 'It was resolved before, by ann: accept_payment.' },
  ])
  expect((await paidonce(['anomaly', 'show', '999999'], env)).code).toBe(1)
})

test('in bulk: counted first, answered once each, and what was refused is said', async () => {
  const orders = Array.from({ length: 230 }, (_, i) => `bulk-${i}`)
  const ids = await paidAfterClose(orders)
  await json('claim', String(ids[7]), '--actor', 'bob')
  const filter = ['--kind', 'paid_after_close', '--merchant', MERCHANT]
  const dry = await json('resolve', ...filter, ...answer('refund_outside'), '--dry-run')
  expect(dry).toMatchObject({
    code: 1,
    json: {
      anomalies: 230,
      plan: [
        { kind: 'paid_after_close', would: 'refund_outside', count: 229 },
        { kind: 'paid_after_close', would: 'refused: claimed by bob', count: 1 },
      ],
    },
  })
  expect(await actionsOf(ids)).toHaveLength(1)
  const unasked = await paidonce(['anomaly', 'resolve', ...filter, ...answer('refund_outside').slice(0, -1)], env)
  expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining('Add --yes.')])

  const done = await paidonce(['anomaly', 'resolve', ...filter, ...answer('refund_outside', 'ticket 1')], env)
  expect([done.code, done.stdout.split('\n')[0]]).toEqual([
    1,
    '229 resolved as refund_outside, 1 refused, 0 not answered yet',
  ])
  expect(done.stderr).toMatch(/^run \S+\n100 of 230 answered.*\n200 of 230 answered.*\n230 of 230 answered, 1 refused/)
  const actions = (await actionsOf(ids)).filter((action) => action === 'ann anomaly_resolve ticket 1')
  expect(actions).toHaveLength(229)
  expect((await json('list')).json.anomalies).toMatchObject([{ id: ids[7], owner: 'bob' }])
  await json('resolve', String(ids[7]), ...answer('ignore', 'r', 'bob'))
}, 60_000)

test('a run that was stopped: no lane answers; then killed; then it goes on, and nothing is answered twice', async () => {
  const orders = Array.from({ length: 150 }, (_, i) => `run-${i}`)
  const ids = await paidAfterClose(orders)
  await stopProcessor()
  const first = await json('resolve', '--all', ...answer('ignore', 'ticket 2'), '--wait', '0')
  expect([first.code, first.json['resolved'], first.json['pending']]).toEqual([3, 0, 150])
  const run = String(first.json['run'])
  const resume = ['anomaly', 'resolve', '--all', ...answer('ignore', 'ticket 2'), '--run', run]

  const main = join(import.meta.dirname, '../../src/cli/main.ts')
  const child = spawn(process.execPath, [main, ...resume], { env: { ...process.env, ...env }, stdio: 'ignore' })
  await until('it waits for its first hundred', async () => {
    const { rows } = await it.database.pool.query(
      `select from pg_stat_activity where application_name = 'paidonce-cli' and datname = current_database()
        and query like '%c.id = any%'`,
    )
    return rows.length > 0
  })
  child.kill('SIGKILL')
  await once(child, 'exit')

  const [extra = 0] = await (async () => {
    await startProcessor()
    return paidAfterClose(['after-the-run-began'])
  })()
  const last = await paidonceJson(resume, env)
  const { resolved, refused, pending } = last.json as Record<string, number>
  expect([last.code, refused, pending]).toEqual([0, 0, 0])
  expect(resolved).toBeLessThanOrEqual(150)
  expect(await statesOf(orders)).toEqual(orders.map(() => 'closed ignore by ann'))
  expect(await actionsOf(ids)).toEqual(ids.map(() => 'ann anomaly_resolve ticket 2'))
  const { rows } = await it.database.pool.query(
    `select count(*)::int as n from events where kind = 'anomaly_resolved' and key like 'run-%'`,
  )
  expect(rows).toEqual([{ n: 150 }])
  expect(await statesOf(['after-the-run-began'])).toEqual(['closed open'])

  const reused = await json('resolve', String(ids[0]), ...answer('ignore', 'another reason'), '--run', run)
  expect(reused).toMatchObject({ code: 1, json: { anomalies: [{ reason: 'key_reused' }] } })
  await json('resolve', String(extra), ...answer('ignore'))
}, 60_000)

test('more than 10,000: the oldest first, and how to go on behind them though they stay open', async () => {
  const { rows } = await it.database.pool.query<{ id: string }>(
    `with o as (insert into orders (merchant, out_trade_no, lane, status, amount_minor, currency)
       select 'many', 'many-' || n, 0, 'paid', 100, 'CNY' from generate_series(1, 10003) n returning id)
     insert into anomalies (order_id, lane, kind, cause, facts, owner, claimed_at)
     select id, 0, 'disputed', 'payment_disputed/' || id, '{}', 'bob', now() from o order by id returning id`,
  )
  const last = Number(rows[9_999]?.id)
  const all = ['--merchant', 'many', ...answer('ignore')]
  const dry = await json('resolve', ...all, '--dry-run')
  expect(dry.json).toMatchObject({ anomalies: 10_000, next: last, plan: [{ would: 'refused: claimed by bob' }] })
  const done = await paidonce(['anomaly', 'resolve', ...all], env)
  const goOn = done.stdout.split('\n').at(-2) ?? ''
  expect(goOn).toMatch(new RegExp(`^More than 10000 are there: for the rest go on with: --run \\S+ --after ${last}$`))
  const rest = await json('resolve', ...all, ...goOn.split(' ').slice(-4))
  expect([rest.json['refused'], rest.json['next']]).toEqual([3, null])
  expect(await json('resolve', ...all, '--after', String(rows.at(-3)?.id))).toMatchObject({
    json: { refused: 2, next: null },
  })
}, 60_000)

test.each([
  [['resolve', '1', '--after', '1', '--resolution', 'ignore', '--reason', 'r'], 'do not go together'],
  [['resolve', '--resolution', 'ignore', '--reason', 'r'], 'Nothing says which anomalies are meant.'],
  [['resolve', '1', '--all', '--resolution', 'ignore', '--reason', 'r'], 'do not go together'],
  [['resolve', '1', '--resolution', 'ignore'], '--reason'],
  [['resolve', '1', '--reason', 'r'], '--resolution'],
  [['resolve', '1', '--reason', 'r', '--resolution', 'refunded'], 'accept_payment'],
  [['resolve', '--all', '--reason', 'r', '--resolution', 'ignore', '--run', 'x'], 'as the run said'],
  [['list', '--kind', 'nothing'], 'double_payment'],
  [['claim', 'x'], 'integer'],
])('%j is refused by name', async (args, said) => {
  const { code, stderr } = await paidonce(['anomaly', ...args], env)
  expect([code, stderr]).toEqual([2, expect.stringContaining(said)])
})
