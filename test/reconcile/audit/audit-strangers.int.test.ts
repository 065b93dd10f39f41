import type { Transaction } from 'kafkajs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAuditConfig } from '../../../src/reconcile/audit/config.ts'
import { runAudit } from '../../../src/reconcile/audit/start.ts'
import { createPartitionReader } from '../../../src/runtime/kafka/partition-reader.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { SHIPMENT_TOPIC } from '../../../src/schemas/topics.ts'
import { fillOutbox } from '../../helpers/fill-outbox.ts'
import { groupTool } from '../../helpers/groups.ts'
import { createInstallation, type Installation } from '../../helpers/installation.ts'
import { withContent } from '../../helpers/rewrite-topics.ts'
import { stackEnv } from '../../helpers/stack.ts'
import { createStranger, type Stranger } from '../../helpers/stranger.ts'

let it: Installation
let stranger: Stranger
let ours: Buffer
const ORDERS = 20
const NONE = { missing: 0, duplicate: 0, amount_mismatch: 0, extra: 0, late: 0 }

beforeAll(async () => {
  it = await createInstallation({ partitions: 1 })
  await fillOutbox(it, ORDERS)
  stranger = await createStranger(it.topics.appId)
  const reader = createPartitionReader(
    { brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false },
    createLog('test', 'silent'),
  )
  ours = (await reader.read(topic(), 0, 0)).records[0]?.value ?? Buffer.alloc(0)
  await reader.close()
}, 120_000)
afterAll(async () => {
  await stranger.close()
  await it.drop()
})

const topic = () => it.topics.name(SHIPMENT_TOPIC)
const forged = (change: object) =>
  withContent({ topic: topic(), partition: 0, offset: 0, timestampMs: 0, key: 'x', headers: {}, value: ours }, change)
    .value
const audit = async (more: Readonly<Record<string, string>> = {}) => {
  const window = { sinceMs: Date.now() - 86_400_000, untilMs: Date.now() + 1_000 }
  const request = { actor: 'test', window, onProgress: () => undefined }
  const end = await runAudit(readAuditConfig(it.env(more)), it.database.pool, request, createLog('audit', 'silent'))
  if (end.kind !== 'done') throw new Error(end.kind)
  return end.report
}

test('the topics of somebody else, or an empty database: undecided, and not all right', async () => {
  const report = await audit({ TOPIC_PREFIX: 'wrong.' })
  expect(report).toMatchObject({ result: 'undecided', events: 0, undecided: [{ lane: null, reason: 'no_lane' }] })
  const other = await audit({ APP_ID: 'another' })
  expect([other.result, other.undecided.map(({ reason }) => reason)]).toEqual(['undecided', ['no_ledger']])
  expect(await audit()).toMatchObject({ result: 'ok', events: 3 * ORDERS })
}, 120_000)

test('what stands behind an open transaction is not missing; when that is over, it is there', async () => {
  const transaction = await stranger.begin()
  const before = await audit()
  await stranger.send(transaction, topic(), ours)
  // One more event of the lane, which is out.
  const { rows } = await it.database.pool.query<{ n: string }>(
    `with l as (update lanes set next_seq = next_seq + 1 returning next_seq - 1 as n)
     insert into events (lane, lane_seq, topic, event_id, kind, merchant, key, sequence, cause, amount_minor, currency, payment_ref, occurred_at)
     select 0, n, $1, '22222222-2222-5222-8222-222222222222', 'ship', 'shop', 'x', 1, 'x', 100, 'CNY', 'x', now() from l
     returning lane_seq as n`,
    [SHIPMENT_TOPIC],
  )
  const laneSeq = Number(rows[0]?.n)
  await stranger.write(
    topic(),
    forged({
      ...{ eventId: '22222222-2222-5222-8222-222222222222', kind: 'ship', merchant: 'shop', outTradeNo: 'x', laneSeq },
      ...{ sequence: 1, cause: 'x', amountMinor: 100, currency: 'CNY', paymentRef: 'x' },
    }),
  )
  await groupTool(it).set('ledger', 0, laneSeq + 1, true)
  const hidden = await audit()
  expect([hidden.counts, hidden.undecided.map(({ reason }) => reason)]).toEqual([NONE, ['open_transaction']])
  await transaction.abort()
  expect(await audit()).toMatchObject({ result: 'ok', counts: NONE, events: before.events + 1 })
}, 180_000)

test('records of strangers: whatever they are, each is one finding, of bounded size', async () => {
  const clean = await audit()
  const aborted: Transaction = await stranger.begin()
  await stranger.send(aborted, topic(), ours)
  await aborted.abort()
  expect(await audit()).toMatchObject({ result: 'ok', digest: clean.digest })
  const unknown = Buffer.from(ours)
  unknown.writeUInt32BE(999_999_999, 1)
  const records = [
    Buffer.from('garbage'),
    null,
    Buffer.alloc(0),
    Buffer.concat([ours.subarray(0, 5), Buffer.alloc(600_000, 0xff)]),
    unknown,
    Buffer.concat([ours, Buffer.from([0])]),
    forged({ outTradeNo: 'nul\u0000byte', eventId: 'nul\u0000', laneSeq: 1_000_000 }),
    forged({ outTradeNo: '\u202e', laneSeq: -5 }),
    forged({ outTradeNo: 'x'.repeat(600_000), laneSeq: 1_000_001 }),
    forged({ outTradeNo: 'a', laneSeq: Number.MAX_SAFE_INTEGER - 1 }),
    forged({ lane: 70_000 }),
    forged({ kind: 'no kind', laneSeq: 1_000_002 }),
  ]
  for (const record of records) await stranger.write(topic(), record)
  const report = await audit()
  expect(report.counts).toEqual({ ...NONE, extra: records.length })
  expect(JSON.stringify(report.findings).length).toBeLessThan(records.length * 1_500)
  const again = await audit()
  expect(again.digest).toBe(report.digest)
  await stranger.write(topic(), forged({ outTradeNo: `${'x'.repeat(599_999)}y`, laneSeq: 1_000_001 }))
  expect((await audit()).digest).not.toBe(report.digest)
}, 180_000)
