import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAuditConfig } from '../../../src/reconcile/audit/config.ts'
import { runAudit } from '../../../src/reconcile/audit/start.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { INPUT_TOPIC } from '../../../src/schemas/topics.ts'
import { listPartitions } from '../../../src/store/partitions.ts'
import { fillOutbox } from '../../helpers/fill-outbox.ts'
import { callbackOf, createInstallation, payment, type Installation } from '../../helpers/installation.ts'
import { ageOrders, maintainAt, rowsIn } from '../../helpers/maintained.ts'
import { startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { until } from '../../helpers/until.ts'

/** Orders of the window that were archived before the audit, as with an `ARCHIVE_AFTER_DAYS` that is short. */
let it: Installation
const ORDERS = Array.from({ length: 40 }, (_, n) => `a-${n}`)
const refund = (order: string, amountMinor: number) =>
  callbackOf(order, {
    ...{ eventType: 'refund_succeeded', providerRef: `wechatpay:re-${order}`, paymentRef: `wechatpay:tx-${order}` },
    ...{ amountMinor, currency: 'CNY', amountKind: 'individual', eventTimeMs: 1_760_000_100_000, detail: null },
  })
const DAY_MS = 86_400_000
const now = Date.now()
const NONE = { missing: 0, duplicate: 0, amount_mismatch: 0, extra: 0, late: 0 }
let before: string

async function audit(window = { sinceMs: now - 10 * DAY_MS, untilMs: now + DAY_MS }, of = it) {
  const request = { actor: 'test', window, onProgress: () => undefined }
  const end = await runAudit(readAuditConfig(of.env()), of.database.pool, request, createLog('audit', 'silent'))
  if (end.kind !== 'done') throw new Error(end.kind)
  return end.report
}
const archive = (of = it) =>
  maintainAt(
    of.database.pool,
    new Date(now).toISOString(),
    { archiveAfterDays: 2 },
    { inputTopic: of.topics.name(INPUT_TOPIC) },
  )
const query = (text: string, values: readonly unknown[] = []) => it.database.pool.query(text, [...values])

/** Paid, partly and wholly refunded; some with a second payment that a person has answered. */
beforeAll(async () => {
  it = await createInstallation({ partitions: 2 })
  await it.createOrders(ORDERS)
  await it.send(ORDERS.map((order) => payment(order)))
  await it.send(ORDERS.slice(0, 8).map((order) => refund(order, 40)))
  await it.send(ORDERS.slice(8, 16).map((order) => refund(order, 100)))
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], 2)
    await until('all is out', async () => (await rowsIn(it.database.pool, 'events')) === 3 * 40 + 3 * 16)
    // A lane without traffic says only after a minute that all is settled.
    await until('its ledger is', () => processor.lanes().reduce((sum, { ledger = 0 }) => sum + ledger, 0) === 168)
  } finally {
    await processor.stop()
  }
  await query('update lanes set settled_seq = next_seq')
  // Those that have changed just now stay.
  await ageOrders(it.database.pool, now - 4 * DAY_MS)
  await query(`update orders set updated_at = now() where out_trade_no = any($1)`, [ORDERS.slice(30)])
  before = (await audit()).digest
  await archive()
  expect([await rowsIn(it.database.pool, 'orders'), await rowsIn(it.database.pool, 'archived_orders')]).toEqual([
    10, 30,
  ])
}, 120_000)
afterAll(() => it.drop())

test('archived orders are judged with those that live, and to the same digest', async () => {
  const report = await audit()
  expect(report).toMatchObject({ result: 'ok', counts: NONE, orders: 40, events: 168, digest: before })
})

test('one that did not change in the window is not of it', async () => {
  const late = { sinceMs: now - DAY_MS, untilMs: now + DAY_MS }
  expect(await audit(late)).toMatchObject({ result: 'ok', orders: 10 })
  // From before the archive said so in a column: told by its document.
  await query('update archived_orders set changed_at = null')
  expect(await audit(late)).toMatchObject({ result: 'ok', orders: 10 })
  expect(await audit()).toMatchObject({ result: 'ok', orders: 40, digest: before })
})

test('faults in two of them: each is named, and nothing else; twice the same digest', async () => {
  const { pool } = it.database
  const setAmount = (minor: string) =>
    pool.query(
      `update archived_orders set document = jsonb_set(document, '{facts,0,amount_minor}', $1::jsonb)
       where document -> 'order' ->> 'out_trade_no' = 'a-20'`,
      [minor],
    )
  await setAmount('90')
  const sent = await pool.query<{ event_id: string }>(
    `update events set order_id = -1 where key = 'a-21' and kind = 'deduct' returning event_id::text`,
  )
  const first = await audit()
  expect(first).toMatchObject({ result: 'findings', counts: { ...NONE, missing: 1, amount_mismatch: 3 } })
  const named = first.findings.map(({ finding, in: where, outTradeNo }) => `${finding} ${where} ${outTradeNo ?? ''}`)
  expect([...new Set(named)].sort()).toEqual(['amount_mismatch orders a-20', 'missing orders a-21'])
  expect(first.findings.find(({ finding }) => finding === 'missing')?.eventId).toBe(sent.rows[0]?.event_id)
  expect((await audit()).digest).toBe(first.digest)
  await setAmount('100')
  await pool.query(`update events set order_id = (select order_id from archived_orders
    where document -> 'order' ->> 'out_trade_no' = 'a-21') where order_id = -1`)
  expect(await audit()).toMatchObject({ result: 'ok', digest: before })
})

test('orders that are archived while it runs are judged once', async () => {
  await ageOrders(it.database.pool, now - 4 * DAY_MS)
  const running = audit()
  const [report] = await Promise.all([running, archive()])
  expect(report).toMatchObject({ result: 'ok', orders: 40, digest: before })
  expect(await rowsIn(it.database.pool, 'orders')).toBe(0)
  expect(await audit()).toMatchObject({ result: 'ok', orders: 40, digest: before })
})

test('pages of both, whichever of them ends first', async () => {
  const many = await createInstallation({ partitions: 1 })
  try {
    await fillOutbox(many, 3_500)
    const { pool } = many.database
    await ageOrders(pool, now - 4 * DAY_MS)
    const { digest } = await audit(undefined, many)
    // Some 1,200 in a row, then as many that stay, then one of two.
    const kept = (n: number) => n >= 1_200 && (n < 2_400 || n % 2 === 0)
    const names = Array.from({ length: 3_500 }, (_, n) => n).filter(kept)
    await pool.query(`update orders set updated_at = now() where out_trade_no = any($1)`, [
      names.map((n) => `order-${n}`),
    ])
    await archive(many)
    expect(await rowsIn(pool, 'orders')).toBe(names.length)
    expect(await audit(undefined, many)).toMatchObject({ result: 'ok', orders: 3_500, digest })
  } finally {
    await many.drop()
  }
})

test('their month was dropped: undecided, and no silent pass; not for a window after it', async () => {
  const { ranges } = await listPartitions(it.database.pool, 'archived_orders')
  for (const { name } of ranges) await query(`drop table ${name}`)
  const report = await audit()
  expect(report).toMatchObject({ result: 'undecided', counts: NONE, orders: 0 })
  expect(report.undecided.map(({ lane, reason }) => [lane, reason])).toEqual([[null, 'archive_dropped']])
  const after = { sinceMs: Date.now() + 60_000, untilMs: Date.now() + DAY_MS }
  expect((await audit(after)).undecided.map(({ reason }) => reason)).toEqual([])
})
