import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPartitionReader } from '../../src/runtime/kafka/partition-reader.ts'
import { createLog } from '../../src/runtime/log.ts'
import { FULFILLMENT_TOPICS, POINTS_TOPIC, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { groupTool } from '../helpers/groups.ts'
import { createLostLedger, workUntil, type LostLedger } from '../helpers/lost-ledger.ts'
import { withContent } from '../helpers/rewrite-topics.ts'
import { stackEnv } from '../helpers/stack.ts'
import { createStranger, type Stranger } from '../helpers/stranger.ts'

let it: LostLedger
let stranger: Stranger
beforeEach(async () => {
  it = await createLostLedger(1)
  stranger = await createStranger(it.installation.topics.appId)
  await it.pay()
  await workUntil(it, it.whole())
}, 120_000)
afterEach(async () => {
  await stranger.close()
  await it.installation.drop()
})
const nameOf = (topic: (typeof FULFILLMENT_TOPICS)[number]) => it.installation.topics.name(topic)

/** The ledger is gone, and Postgres knows of the last order's events not whether they are out. */
async function loseLedger() {
  await it.installation.database.pool.query('update lanes set settled_seq = $1', [it.whole() - 3])
  await groupTool(it.installation).delete('ledger')
  await it.halt('ledger_missing')
}

test('what a stranger’s open transaction hides is out: the ledger is not told from the rest, and nothing goes out twice', async () => {
  const open = await stranger.begin()
  for (const topic of FULFILLMENT_TOPICS) await stranger.send(open, nameOf(topic), Buffer.from('not ours'))
  await it.pay()
  await workUntil(it, it.whole())
  await loseLedger()
  expect(await it.rebuild(0)).toEqual({ code: 3, result: 'hidden' })
  expect([await it.haltedBy(0), await it.ledgerOf(0)]).toEqual(['ledger_missing', undefined])
  await open.abort()
  expect(await it.rebuild(0)).toEqual({ code: 0, result: 'rebuilt' })
  expect(await it.ledgerOf(0)).toEqual({ offset: it.whole(), metadata: String(it.whole()) })
  await it.pay()
  await workUntil(it, it.whole())
  const { found, expected } = await it.findings()
  expect(found).toEqual(expected)
}, 240_000)

test('a forged number that Postgres has as another event: nothing is concluded from it', async () => {
  const reader = createPartitionReader(
    { brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false },
    createLog('test', 'silent'),
  )
  const { records } = await reader.read(nameOf(SHIPMENT_TOPIC), 0, 0)
  await reader.close()
  const value = records[0]?.value ?? null
  await loseLedger()
  const record = { topic: POINTS_TOPIC, partition: 0, offset: 0, timestampMs: 0, key: 'x', headers: {}, value }
  await stranger.write(nameOf(SHIPMENT_TOPIC), withContent(record, { laneSeq: it.whole() - 1 }).value)
  expect(await it.rebuild(0)).toEqual({ code: 3, result: 'foreign' })
  expect([await it.haltedBy(0), await it.ledgerOf(0)]).toEqual(['ledger_missing', undefined])
}, 180_000)
