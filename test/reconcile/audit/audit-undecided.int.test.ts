import { afterEach, beforeEach, expect, test } from 'vitest'
import { javaDeleteBefore } from '../../../dev/parts/java-topics.ts'
import { readAuditConfig } from '../../../src/reconcile/audit/config.ts'
import { runAudit } from '../../../src/reconcile/audit/start.ts'
import type { RunningProcessor } from '../../../src/processor/start.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { SHIPMENT_TOPIC } from '../../../src/schemas/topics.ts'
import { readLastAudit } from '../../../src/store/audit-runs.ts'
import { createInstallation, payment, type Installation } from '../../helpers/installation.ts'
import { metricOf, probe, startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { stackEnv } from '../../helpers/stack.ts'
import { until } from '../../helpers/until.ts'

let it: Installation
let processor: RunningProcessor
beforeEach(async () => {
  it = await createInstallation({ partitions: 2 })
  processor = await startTestProcessor(it)
  await untilSettled([processor], 2)
})
afterEach(async () => {
  await processor.stop()
  await it.drop()
})

let paid = 0
beforeEach(() => (paid = 0))
async function pay(count: number) {
  const orders = Array.from({ length: count }, () => `P${paid++}`)
  await it.createOrders(orders)
  await it.send(orders.map((order) => payment(order)))
}
const untilOut = () =>
  until('all is out', () => processor.lanes().reduce((sum, { ledger = 0 }) => sum + ledger, 0) === 3 * paid, 60_000)
const DAY_MS = 86_400_000
async function audit(window: { sinceMs: number; untilMs: number } | undefined) {
  const config = readAuditConfig(it.env())
  const request = { actor: 'test', window, onProgress: () => undefined }
  const end = await runAudit(config, it.database.pool, request, createLog('audit', 'silent'))
  if (end.kind !== 'done') throw new Error(end.kind)
  return end.report
}
const all = () => ({ sinceMs: Date.now() - DAY_MS, untilMs: Date.now() + DAY_MS })
const NONE = { missing: 0, duplicate: 0, amount_mismatch: 0, extra: 0, late: 0 }

test('beside live traffic nothing is found that is not there', async () => {
  const sending = (async () => {
    for (let round = 0; round < 20; round++) await pay(100)
  })()
  let audits = 0
  const isSent = () => paid === 2_000
  while (!isSent() || audits < 3) {
    const { counts, undecided } = await audit(all())
    expect(counts).toEqual(NONE)
    expect(undecided.filter(({ reason }) => reason !== 'not_emitted')).toEqual([])
    audits += 1
  }
  await sending
  await untilOut()
  expect(await audit(all())).toMatchObject({ result: 'ok', events: 6_000, messages: 6_000, orders: 2_000 })
})

test('a topic that retention has shortened, an outbox that is: undecided, and no false finding', async () => {
  await pay(20)
  await untilOut()
  await javaDeleteBefore(stackEnv().KAFKA_BROKERS, it.topics.name(SHIPMENT_TOPIC), 0, 5)
  const shortened = await audit(all())
  expect(shortened).toMatchObject({ result: 'undecided', counts: NONE })
  expect(shortened.undecided.map(({ lane, reason }) => [lane, reason])).toEqual([[0, 'topic_trimmed']])

  // As a dropped day leaves it: events, and what caused them, are older than all that is kept.
  const { pool } = it.database
  const gone = `(select key from events where lane = 1 and lane_seq < 6)`
  await pool.query(`update facts set recorded_at = now() - interval '2 hours'
    where order_id in (select id from orders where out_trade_no in ${gone})`)
  await pool.query(`update orders set created_at = now() - interval '2 hours' where out_trade_no in ${gone}`)
  await pool.query('delete from events where lane = 1 and lane_seq < 6')
  const trimmed = await audit(all())
  expect(trimmed).toMatchObject({ result: 'undecided', counts: NONE })
  expect(trimmed.undecided.map(({ lane, reason }) => [lane, reason])).toEqual([
    ...[
      [0, 'topic_trimmed'],
      [1, 'events_trimmed'],
    ],
  ])
})

test('what is numbered and not out yet is not missing', async () => {
  await pay(4)
  await untilOut()
  await processor.stop()
  await it.database.pool.query(
    `with l as (update lanes set next_seq = next_seq + 1 returning lane, next_seq - 1 as n)
     insert into events (lane, lane_seq, topic, event_id, kind, key, cause, occurred_at)
     select lane, n, $1, gen_random_uuid(), 'ship', 'x', 'x', now() from l`,
    [SHIPMENT_TOPIC],
  )
  const { counts, undecided, result } = await audit(all())
  expect([result, counts, undecided.map(({ reason }) => reason)]).toEqual([
    ...['undecided', NONE, ['not_emitted', 'not_emitted']],
  ])
})

test('a window has its own events only; the metrics tell of the last run', async () => {
  await pay(5)
  await untilOut()
  await it.database.pool.query(`update events set created_at = now() - interval '2 hours'`)
  const between = Date.now() - DAY_MS / 24
  await pay(7)
  await untilOut()
  expect(await audit({ sinceMs: between, untilMs: Date.now() + DAY_MS })).toMatchObject({ result: 'ok', events: 21 })
  const before = await audit({ sinceMs: between - DAY_MS, untilMs: between })
  expect(before).toMatchObject({ result: 'ok', events: 15 })

  await it.database.pool.query(`delete from events where key = 'P11' and kind = 'ship'`)
  expect(await audit(all())).toMatchObject({ result: 'findings', counts: { ...NONE, missing: 1, extra: 1 } })
  expect(await readLastAudit(it.database.pool)).toMatchObject({ findings: { missing: 1 }, isUndecided: false })
  const text = await until(
    'it is sampled',
    async () => {
      const { text } = await probe(processor, '/metrics')
      return metricOf(text, 'paidonce_audit_findings', 'missing') === 1 && text
    },
    30_000,
  )
  expect(metricOf(text, 'paidonce_audit_findings', 'late')).toBe(0)
  expect(metricOf(text, 'paidonce_audit_age_seconds')).toBeLessThan(60)
})

test('a run that was stopped goes on where it was, and comes to the same digest', async () => {
  await pay(30)
  await untilOut()
  const whole = await audit(all())
  await expect(audit(undefined)).rejects.toThrow('nothing_to_resume')
  const { pool } = it.database
  await pool.query(
    `update audit_runs set finished_at = null, result = null, digest = null, orders_after = 0, orders = null`,
  )
  await pool.query('delete from audit_lanes where lane = 1')
  expect(await audit(undefined)).toMatchObject({ run: { id: whole.run.id }, digest: whole.digest })
  // What was judged is not judged again.
  await pool.query(`update audit_runs set finished_at = null, result = null, digest = null`)
  await pool.query(`update audit_lanes set report = jsonb_set(report, '{events}', '1000') where lane = 0`)
  const again = await audit(undefined)
  expect(again.digest).toBe(whole.digest)
  expect(again.events).toBeGreaterThan(1_000)
})
