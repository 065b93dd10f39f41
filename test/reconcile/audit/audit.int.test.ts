import { afterAll, beforeAll, expect, test } from 'vitest'
import { callbackOf, createInstallation, payment, type Installation } from '../../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { until } from '../../helpers/until.ts'
import { paidonce, paidonceJson } from '../../cli/paidonce.ts'
import { seedFaults } from './seed-faults.ts'

let it: Installation
const ORDERS = Array.from({ length: 60 }, (_, n) => `o-${n}`)
const refund = (order: string, amountMinor: number) =>
  callbackOf(order, {
    ...{ eventType: 'refund_succeeded', providerRef: `wechatpay:re-${order}`, paymentRef: `wechatpay:tx-${order}` },
    ...{ amountMinor, currency: 'CNY', amountKind: 'individual', eventTimeMs: 1_760_000_100_000, detail: null },
  })

/** Payments, partial and full refunds, second payments, callbacks before their order, bytes that nobody can read. */
beforeAll(async () => {
  it = await createInstallation({ partitions: 3 })
  await it.createOrders(ORDERS.slice(0, 50), '{"sku":1}')
  await it.send(ORDERS.map((order) => payment(order)))
  await it.send(ORDERS.slice(0, 10).map((order) => refund(order, 40)))
  await it.send(ORDERS.slice(10, 20).map((order) => refund(order, 100)))
  await it.send(ORDERS.slice(20, 25).map((order) => payment(order, { providerRef: `wechatpay:again-${order}` })))
  await it.sendRaw(0, 'x', Buffer.from('poison'))
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], 3)
    await it.createOrders(ORDERS.slice(50))
    await untilOut()
  } finally {
    await processor.stop()
  }
}, 120_000)
afterAll(() => it.drop())

const untilOut = () =>
  until('all is applied and out', async () => {
    const { rows } = await it.database.pool.query<{ n: string; held: string }>(
      `select (select count(*) from events) as n, (select count(*) from facts where outcome = 'held') as held`,
    )
    // 3 a payment, 3 a refund, and notices: 5 of anomalies, 1 of a dead letter.
    return Number(rows[0]?.held) === 0 && Number(rows[0]?.n) === 60 * 3 + 20 * 3 + 5 + 1
  })

interface Audit {
  run: number
  result: string
  digest: string
  judged: { events: number; messages: number; orders: number }
  counts: Record<string, number>
  undecided: { lane: number; reason: string }[]
  findings: {
    finding: string
    in: string
    event_id: string
    out_trade_no: string
    topic: string
    lane_seq: number
    offset: number
  }[]
}
const env = () => it.env({ LOG_LEVEL: 'silent' }) as Record<string, string>
const NOW = new Date(Date.now() + 3_600_000).toISOString()
const audit = async (...more: string[]) => {
  const { code, json } = await paidonceJson(['audit', 'run', '--since', '1d', '--until', NOW, ...more], env())
  return { code, ...(json as Audit) }
}
const NONE = { missing: 0, duplicate: 0, amount_mismatch: 0, extra: 0, late: 0 }

test('what the lanes did is right: exit 0, and twice the same digest', async () => {
  const first = await audit()
  expect(first).toMatchObject({ code: 0, result: 'ok', counts: NONE, undecided: [], findings: [] })
  expect(first.judged).toEqual({ events: 246, messages: 246, orders: 60 })
  const second = await audit()
  expect(second).toMatchObject({ code: 0, digest: first.digest })
  const listed = await paidonce(['audit', 'list'], env())
  expect(listed.stdout).toContain(first.digest.slice(0, 12))
})

test('seeded faults in the topics: each is named, and nothing else', async () => {
  const clean = (await audit()).digest
  const named = await seedFaults(it.topics, {
    ...{ missing: 'o-30', twice: 'o-31', dearer: 'o-32', forged: 'o-33', late: 'o-34' },
  })
  const first = await audit()
  expect(first.code).toBe(1)
  expect(first.counts).toEqual({ missing: 1, duplicate: 1, amount_mismatch: 1, extra: 1, late: 1 })
  const said = first.findings.map(({ finding, event_id: id, out_trade_no: order, topic }) => [
    finding,
    id,
    order,
    topic,
  ])
  expect(said.sort()).toEqual(named)
  expect(named.map(([finding]) => finding)).toEqual(['amount_mismatch', 'duplicate', 'extra', 'late', 'missing'])
  for (const { finding, offset, lane_seq: laneSeq } of first.findings) {
    expect(laneSeq).toBeTypeOf('number')
    expect(typeof offset === 'number').toBe(finding !== 'missing')
  }
  const second = await audit()
  expect(second).toMatchObject({ code: 1, digest: first.digest })
  expect(first.digest).not.toBe(clean)
})

test('a hole in our own outbox: the fact without its event, and the message without its row', async () => {
  const { rows } = await it.database.pool.query<{ event_id: string }>(
    `delete from events where key = 'o-40' and kind = 'ship' returning event_id::text`,
  )
  const { findings } = await audit()
  const about = findings.filter(({ event_id: id }) => id === rows[0]?.event_id)
  expect(about.map(({ finding, in: where }) => `${finding} in ${where}`).sort()).toEqual([
    ...['extra in topics', 'missing in orders'],
  ])
})

test('what cannot be judged, beside findings: both are told, and findings decide the exit: 1', async () => {
  const { pool } = it.database
  await pool.query(`update lanes set halted_reason = 'flood', halted_detail = '21' where lane = 1`)
  // Numbered, and not out.
  await pool.query(
    `with l as (update lanes set next_seq = next_seq + 1 where lane = 2 returning next_seq - 1 as n)
     insert into events (lane, lane_seq, topic, event_id, kind, key, cause, occurred_at)
     select 2, n, 'fulfillment.shipment.v1', gen_random_uuid(), 'ship', 'x', 'x', now() from l`,
  )
  const { undecided, result, code } = await audit()
  expect(undecided.map(({ lane, reason }) => `${lane} ${reason}`)).toEqual(['1 halted', '2 not_emitted'])
  // Findings come first.
  expect([result, code]).toEqual(['findings', 1])
})
