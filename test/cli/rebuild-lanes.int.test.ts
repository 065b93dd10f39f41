import { afterAll, beforeAll, expect, test } from 'vitest'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { haltLane } from '../../src/store/lane-row.ts'
import { groupTool } from '../helpers/groups.ts'
import { createSetBackLedger, workUntil, type LostLedger } from '../helpers/lost-ledger.ts'
import { paidonceHere } from './paidonce-here.ts'

/** Three lanes have lost their ledger, and Postgres was set back, so that each has three events to import. */
let it: LostLedger
beforeAll(async () => {
  it = await createSetBackLedger(3)
}, 120_000)
afterAll(() => it.installation.drop())

const paidonce = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  paidonceHere(args, it.installation.env({ LOG_LEVEL: 'silent', ...more }))
const rebuild = async (args: readonly string[], more?: Readonly<Record<string, string>>) => {
  const { code, stdout, stderr } = await paidonce(
    ['lane', 'rebuild', '--reason', 'it is gone', '--output', 'json', ...args],
    more,
  )
  return { code, json: stdout === '' ? stderr : (JSON.parse(stdout) as unknown) }
}
const haltBy = (lane: number, reason: string) =>
  haltLane(it.installation.database.pool, it.installation.topics.name(INPUT_TOPIC), lane, { reason, detail: 'test' })
const haltAgainBy = async (lane: number, reason: string) => {
  await it.installation.database.pool.query(
    'update lanes set halted_reason = null, halted_detail = null, halted_at = null where lane = $1',
    [lane],
  )
  await haltBy(lane, reason)
}
const state = async () => [
  [...(await groupTool(it.installation).offsets('ledger'))],
  (await it.installation.database.pool.query('select to_jsonb(l) as lane from lanes l order by lane')).rows,
]

test('either a lane or --lanes; lanes that are none are refused; all is not for numbers', async () => {
  const before = await state()
  const refused = async (...args: string[]) => {
    const { code, stdout, stderr } = await paidonce(['lane', 'rebuild', '--reason', 'x', '--yes', ...args])
    return [code, stdout, stderr] as const
  }
  expect(await refused()).toEqual([2, '', expect.stringContaining('Give a lane or --lanes, and not both')])
  expect((await refused('0', '--lanes', '1'))[0]).toBe(2)
  expect((await refused('--lanes', '0,x'))[2]).toContain('integer from 0 to 32767')
  expect((await refused('--lanes', 'all', '--lanes', '1'))[2]).toContain('It is all, or numbers')
  expect(await refused('--lanes', '0,7')).toEqual([1, '', expect.stringContaining('There is no lane 7')])
  expect(await state()).toEqual(before)
})

test('a dry run says of each lane what it would become, and changes nothing; who is not asked says --yes', async () => {
  const before = await state()
  const would = { result: 'would_rebuild', ledger: 9, imported: 3, before: null }
  expect(await rebuild(['--lanes', 'all', '--dry-run'])).toEqual({
    code: 0,
    json: { lanes: [0, 1, 2].map((lane) => ({ lane, ...would })) },
  })
  const unasked = await paidonce(['lane', 'rebuild', '--lanes', '0,1', '--reason', 'x'])
  expect([unasked.code, unasked.stdout]).toEqual([2, ''])
  expect(unasked.stderr).toContain('Add --yes')
  expect(await state()).toEqual(before)
})

test('each lane is rebuilt by itself: one that may not be is named with its remedy, and the others go on', async () => {
  await haltAgainBy(1, 'flood')
  const first = await rebuild(['--lanes', '0,1', '--yes'])
  expect(first).toEqual({
    code: 1,
    json: {
      lanes: [
        { lane: 0, result: 'rebuilt', ledger: 9, imported: 3, before: null },
        { lane: 1, result: 'refused', detail: 'Lane 1 is halted by flood, which is not about its ledger.' },
      ],
    },
  })
  expect(await Promise.all([0, 1, 2].map((lane) => it.haltedBy(lane)))).toEqual([null, 'flood', 'ledger_missing'])

  await haltAgainBy(1, 'ledger_missing')
  const { code, stdout } = await paidonce(['lane', 'rebuild', '--lanes', 'all', '--reason', 'x', '--yes'])
  expect(code).toBe(0)
  // Lane 0 goes on by now: it is not mentioned.
  expect(stdout).not.toMatch(/│ 0 +│/)
  for (const lane of [1, 2]) expect(stdout).toMatch(new RegExp(`│ ${lane} +│ rebuilt +│ 9 `))
  expect(await rebuild(['--lanes', 'all', '--yes'])).toEqual({ code: 0, json: { lanes: [] } })

  // Behind one more order in each lane, all that was imported is derived again.
  await it.pay()
  await workUntil(it, it.whole())
  const { found, expected, imported } = await it.findings()
  expect(found).toEqual(expected)
  expect(imported).toBe(0)
}, 180_000)

test('Kafka goes away: the lane that was tried says why, the rest is left alone, exit 3', async () => {
  for (const lane of [0, 1]) await haltBy(lane, 'ledger_missing')
  const { code, json } = await rebuild(['--lanes', '0,1', '--yes'], { KAFKA_BROKERS: '127.0.0.1:1' })
  expect(code).toBe(3)
  expect(json).toMatchObject({
    lanes: [
      { lane: 0, result: 'failed' },
      { lane: 1, result: 'not_tried' },
    ],
  })
  expect(await it.haltedBy(0)).toBe('ledger_missing')
}, 120_000)
