import { afterEach, beforeEach, expect, test } from 'vitest'
import { javaDeleteBefore } from '../../dev/parts/java-topics.ts'
import {
  DEAD_LETTER_TOPIC,
  INPUT_TOPIC,
  INVENTORY_TOPIC,
  POINTS_TOPIC,
  SHIPMENT_TOPIC,
} from '../../src/schemas/topics.ts'
import { haltLane, readLane } from '../../src/store/lane-row.ts'
import { rebuildLane } from '../../src/store/rebuild-lane.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { groupTool } from '../helpers/groups.ts'
import { createInstallation, payment, type Installation } from '../helpers/installation.ts'
import { javaProduce } from '../helpers/java-consumer.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { stackEnv } from '../helpers/stack.ts'
import { until } from '../helpers/until.ts'
import { paidonceJson } from './paidonce.ts'

let it: Installation
let paid: string[] = []
beforeEach(async () => {
  it = await createInstallation({ partitions: 1 })
  paid = []
  await pay('R1', 'R2', 'R3')
  await work(untilEmitted)
})
afterEach(() => it.drop())

async function pay(...orders: string[]) {
  await it.createOrders(orders)
  await it.send(orders.map((order) => payment(order)))
  paid.push(...orders)
}
async function work(then: (processor: RunningProcessor) => Promise<unknown>) {
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], 1)
    await then(processor)
  } finally {
    await processor.stop()
  }
}
const laneRow = async () =>
  (
    await it.database.pool.query<{ halted_reason: string | null; next_seq: string; settled_seq: string }>(
      'select * from lanes',
    )
  ).rows[0]
const untilLedger = (ledger: number) => (processor: RunningProcessor) =>
  until(`the ledger is ${ledger}`, () => processor.lanes()[0]?.ledger === ledger)
const untilEmitted = (processor: RunningProcessor) => untilLedger(3 * paid.length)(processor)
const untilHalted = (reason: string) =>
  work(() => until('it halts', async () => (await laneRow())?.halted_reason === reason))
const rebuild = (...more: string[]) =>
  paidonceJson(
    ['lane', 'rebuild', '0', '--reason', 'the group was deleted', '--actor', 'mei', ...more],
    it.env({ LOG_LEVEL: 'silent' }) as Record<string, string>,
  )
/** Goes on; of a topic that was trimmed only what came since is there. */
async function expectExactlyOnce(trimmed: readonly string[] = []) {
  await pay('R4')
  await work(untilEmitted)
  const events = await readEvents(it.topics)
  const kept = (of: string) => events.filter(({ topic, key }) => topic === of && key !== 'R4')
  for (const topic of trimmed) expect(kept(topic)).toEqual([])
  const { lost, ...others } = checkExactlyOnce(paid, events)
  expect(lost).toHaveLength(3 * trimmed.length)
  const { lost: none, events: all, ...right } = nothingWrong(paid)
  expect([others, none]).toEqual([{ ...right, events: all - lost.length }, []])
}
const trim = async (topic: typeof INVENTORY_TOPIC | typeof POINTS_TOPIC) =>
  javaDeleteBefore(stackEnv().KAFKA_BROKERS, it.topics.name(topic), 0, -1)

test('a ledger that is gone is told from the topics; a dry run changes nothing; who did it is kept', async () => {
  await groupTool(it).delete('ledger')
  await untilHalted('ledger_missing')
  expect(await rebuild('--dry-run')).toMatchObject({
    code: 0,
    json: { result: 'would_rebuild', ledger: 9, before: null },
  })
  expect((await laneRow())?.halted_reason).toBe('ledger_missing')
  expect((await groupTool(it).offsets('ledger')).size).toBe(0)
  expect(await rebuild().catch(String)).toContain('Add --yes')
  const done = { lane: 0, result: 'rebuilt', ledger: 9, imported: 0, before: null }
  expect(await rebuild('--yes')).toEqual({ code: 0, json: done })
  expect((await groupTool(it).offsets('ledger')).get(0)).toEqual({ offset: 9, metadata: '9' })
  const { rows } = await it.database.pool.query(
    'select actor, action, reason, target from operator_actions order by id',
  )
  expect(rows).toMatchObject([
    { actor: 'mei', action: 'lane_rebuild', reason: 'the group was deleted', target: { ledger: 9, imported: 0 } },
    { actor: 'mei', action: 'lane_resume' },
  ])
  expect(await rebuild('--yes').catch(String)).toContain('not halted')
  await expectExactlyOnce()
})

test('both groups are gone, and events are numbered that are not out: they go out, and the log is not read again', async () => {
  // An owner died between the two steps.
  await it.database.pool.query('update lanes set settled_seq = 3')
  await it.database.pool.query(
    `insert into events (lane, lane_seq, topic, event_id, kind, key, cause, occurred_at, attrs)
     values (0, 9, $1, gen_random_uuid(), 'dead_letter', 'x', 'x', now(), '{}')`,
    [DEAD_LETTER_TOPIC],
  )
  await it.database.pool.query('update lanes set next_seq = 10')
  await groupTool(it).delete('ledger')
  await groupTool(it).delete('input')
  await untilHalted('offsets_missing')
  expect(await rebuild('--yes')).toMatchObject({ code: 0, json: { result: 'rebuilt', ledger: 9 } })
  expect((await groupTool(it).offsets('input')).get(0)?.offset).toBe(3)
  await work(untilLedger(10))
  const ledger = (await groupTool(it).offsets('ledger')).get(0)
  expect(ledger).toEqual({ offset: 10, metadata: '10' })
})

test('a ledger that a tool has set, above and without its mark', async () => {
  await groupTool(it).set('ledger', 0, 7)
  await untilHalted('ledger_without_mark')
  expect(await rebuild('--yes')).toMatchObject({ code: 0, json: { result: 'rebuilt', ledger: 9, before: 7 } })
  await expectExactlyOnce()
})

test('the end of a topic is gone: unproven, exit 3, still halted; whoever vouches for Postgres goes on', async () => {
  await groupTool(it).delete('ledger')
  await untilHalted('ledger_missing')
  await trim(INVENTORY_TOPIC)
  const unproven = { code: 3, json: { result: 'unproven', at_least: 9, topics: [INVENTORY_TOPIC] } }
  expect(await rebuild('--yes')).toMatchObject(unproven)
  expect((await laneRow())?.halted_reason).toBe('ledger_missing')
  const vouched = ['--yes', '--not-restored']
  expect(await rebuild(...vouched)).toMatchObject({ code: 0, json: { result: 'rebuilt', ledger: 9 } })
  await expectExactlyOnce([INVENTORY_TOPIC])
})

test('the last event is gone with the end of its topic: nobody can tell whether it was out', async () => {
  await groupTool(it).delete('ledger')
  await untilHalted('ledger_missing')
  await trim(POINTS_TOPIC)
  const unproven = { code: 3, json: { result: 'unproven', at_least: 8, topics: [POINTS_TOPIC] } }
  expect(await rebuild('--yes', '--not-restored')).toMatchObject(unproven)
  expect((await laneRow())?.halted_reason).toBe('ledger_missing')
})

/** Postgres is set back to before the last order's events: row, orders and facts know nothing of them. */
async function setBack() {
  const { pool } = it.database
  await pool.query('delete from events where lane_seq >= 6')
  await pool.query(`delete from facts where order_id = (select id from orders where out_trade_no = 'R3')`)
  await pool.query(
    `update orders set status = 'pending', accepted_ref = null, paid_at = null, version = 0, sequence = 0 where out_trade_no = 'R3'`,
  )
  await pool.query('update lanes set next_seq = 6, settled_seq = 3, applied_offset = 2')
}
const imported = async () =>
  (await it.database.pool.query('select lane_seq from imported_events order by 1')).rows.map(
    ({ lane_seq: laneSeq }: { lane_seq: string }) => Number(laneSeq),
  )

test('Postgres is behind, and the command dies between its two stores: run again, it ends exact', async () => {
  await setBack()
  await untilHalted('ledger_above_counter')
  expect(await rebuild('--dry-run')).toMatchObject({ code: 0, json: { result: 'would_rebuild', imported: 3 } })
  expect(await imported()).toEqual([])
  // Its transaction with Postgres is done, and Kafka was not told.
  const row = await readLane(it.database.pool, it.topics.name(INPUT_TOPIC), 0)
  if (row === undefined) throw new Error('no row')
  const rows = await readEvents(it.topics)
  const events = rows.map(({ ceId, laneSeq }) => ({ eventId: ceId, laneSeq })).filter(({ laneSeq }) => laneSeq >= 6)
  const pages = (async function* () {
    await Promise.resolve()
    yield events
  })()
  const request = { row, ledger: 9, readAnewFrom: undefined, actor: 'mei', reason: 'restored' }
  expect(await rebuildLane(it.database.pool, { ...request, events: pages })).toEqual({ kind: 'rebuilt', imported: 3 })
  expect([await imported(), (await laneRow())?.halted_reason]).toEqual([[6, 7, 8], 'ledger_above_counter'])
  expect(await rebuild('--yes')).toMatchObject({ code: 0, json: { result: 'rebuilt', ledger: 9, imported: 0 } })
  await expectExactlyOnce()
  expect(await imported()).toEqual([])
})

test('Postgres is behind, and the topics lack one of the events in between: nothing is imported', async () => {
  await setBack()
  await untilHalted('ledger_above_counter')
  await trim(POINTS_TOPIC)
  const incomplete = { code: 3, json: { result: 'incomplete', found: 2, wanted: 3 } }
  expect(await rebuild('--dry-run')).toMatchObject(incomplete)
  expect(await rebuild('--yes')).toMatchObject(incomplete)
  expect([await imported(), (await laneRow())?.next_seq]).toEqual([[], '6'])
  expect((await laneRow())?.halted_reason).toBe('ledger_above_counter')
})

test('another writer in an output topic: nothing is concluded from it', async () => {
  await groupTool(it).delete('ledger')
  await untilHalted('ledger_missing')
  const topic = it.topics.name(SHIPMENT_TOPIC)
  await javaProduce([{ topic, partition: 0, key: 'x', value: Buffer.from('no event') }])
  expect(await rebuild('--yes')).toMatchObject({
    ...{ code: 3, json: { result: 'foreign', detail: expect.stringContaining('partition 0 offset') as string } },
  })
  expect((await laneRow())?.halted_reason).toBe('ledger_missing')
})

test('a lane that is not halted, or by something else, is not rebuilt', async () => {
  expect(await rebuild('--yes').catch(String)).toContain('not halted')
  await haltLane(it.database.pool, it.topics.name(INPUT_TOPIC), 0, { reason: 'flood', detail: '21' })
  expect(await rebuild('--yes').catch(String)).toContain('not about its ledger')
})
