import { afterAll, beforeAll, expect, test } from 'vitest'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { paidonce } from '../cli/paidonce.ts'
import { anOrder, startTestApi, type Call, type TestApi } from './start-api.ts'

let it: TestApi
let acme: Call
beforeAll(async () => {
  it = await startTestApi()
  acme = await it.as('merchant', 'acme')
})
afterAll(() => it.stop())

/** What a lane leaves of a paid order with a duplicate, a conflict and a late second payment. */
async function givenPaidOrder(outTradeNo: string) {
  await acme('POST', '/v1/orders', anOrder(outTradeNo, { payload: '{}' }))
  const { rows } = await it.pool.query<{ id: string; lane: number }>(
    `update orders set status = 'paid', accepted_ref = 'wechatpay:4200', paid_at = '2026-01-02T03:04:05Z', sequence = 2, version = 3
     where out_trade_no = $1 returning id, lane`,
    [outTradeNo],
  )
  const [id, lane] = [rows[0]?.id, rows[0]?.lane]
  await it.pool.query(
    `insert into facts (order_id, event_type, provider_ref, amount_minor, currency, amount_kind, event_time, outcome, lane, kafka_offset)
     values ($1, 'payment_succeeded', 'wechatpay:4200', 1999, 'CNY', 'none', '2026-01-02T03:04:05Z', 'applied', $2, 10)`,
    [id, lane],
  )
  await it.pool.query(
    `insert into deliveries (lane, kafka_offset, day, order_id, provider, source, event_type, provider_ref, outcome, received_at)
     select $2::int, n, '2026-01-02', $1, 'wechatpay', 'callback', 'payment_succeeded', 'wechatpay:4200',
       (array['applied', 'duplicate', 'conflict'])[n - 9]::delivery_outcome, '2026-01-02T03:04:06Z'::timestamptz + n * interval '1 second'
     from generate_series(10, 12) n`,
    [id, lane],
  )
  await it.pool.query(
    `insert into events (lane, lane_seq, topic, event_id, kind, order_id, merchant, key, sequence, cause, amount_minor, currency, payment_ref, occurred_at)
     select $2::int, n, 'fulfillment.' || (array['shipment', 'inventory'])[n - 6] || '.v1', gen_random_uuid(), (array['ship', 'deduct'])[n - 6],
       $1, 'acme', $3, n - 6, 'payment_succeeded/wechatpay:4200', 1999, 'CNY', 'wechatpay:4200', '2026-01-02T03:04:05Z'
     from generate_series(7, 8) n`,
    [id, lane, outTradeNo],
  )
  await it.pool.query(
    `insert into anomalies (order_id, lane, kind, cause, facts) values ($1, $2, 'conflicting_fact', 'payment_succeeded/wechatpay:4200', '{}')`,
    [id, lane],
  )
  await it.pool.query(
    `insert into lanes (topic, lane, start_offset, applied_offset, next_seq, settled_seq) values ($1, $2, 0, 13, 9, 8) on conflict do nothing`,
    [INPUT_TOPIC, lane],
  )
  return lane ?? -1
}

test('an order as it stands', async () => {
  const lane = await givenPaidOrder('r1')
  const { status, body } = await acme('GET', '/v1/orders/acme/r1')
  expect(status).toBe(200)
  expect(body).toMatchObject({
    ...{
      merchant: 'acme',
      out_trade_no: 'r1',
      status: 'paid',
      amount_minor: 1_999,
      currency: 'CNY',
      group: null,
      lane,
    },
    ...{ payment: 'wechatpay:4200', paid_at: '2026-01-02T03:04:05.000Z', closed_by: null, closed_at: null },
    ...{ expires_at: '2036-11-11T04:30:00.000Z', held_facts: 0, events: 2, version: 3, has_payload: true },
  })
})

test('its timeline: every delivery, fact, event and anomaly, oldest first', async () => {
  const lane = await givenPaidOrder('r2')
  const { body } = await acme('GET', '/v1/orders/acme/r2/timeline')
  const timeline = body as Record<string, Record<string, unknown>[]>
  expect(timeline['order']).toMatchObject({ status: 'paid' })
  expect(timeline['deliveries']?.map((d) => [d['lane'], d['offset'], d['outcome'], d['received_at']])).toEqual([
    [lane, 10, 'applied', '2026-01-02T03:04:16.000Z'],
    [lane, 11, 'duplicate', '2026-01-02T03:04:17.000Z'],
    [lane, 12, 'conflict', '2026-01-02T03:04:18.000Z'],
  ])
  expect(timeline['facts']).toMatchObject([
    {
      ...{ event_type: 'payment_succeeded', provider_ref: 'wechatpay:4200', amount_minor: 1_999, currency: 'CNY' },
      ...{ event_time: '2026-01-02T03:04:05.000Z', outcome: 'applied', lane, offset: 10, payment_ref: null },
    },
  ])
  expect(timeline['events']).toMatchObject([
    { kind: 'ship', topic: 'fulfillment.shipment.v1', lane, lane_seq: 7, sequence: 1, settled: true },
    { kind: 'deduct', topic: 'fulfillment.inventory.v1', lane, lane_seq: 8, sequence: 2, settled: false },
  ])
  expect(timeline['anomalies']).toMatchObject([{ kind: 'conflicting_fact', resolved_at: null }])
  expect(timeline['truncated']).toEqual([])
})

test('its timeline names who works on an anomaly, who answered it and why, and what waits behind which brake', async () => {
  await givenPaidOrder('r4')
  await it.pool.query(
    `with b as (insert into brakes (merchant, set_by, reason) values ('acme', 'ann', 'wrong labels') returning id)
     insert into waiting_events (lane, brake_id, topic, event_id, kind, order_id, merchant, key, sequence, cause, occurred_at)
     select o.lane, b.id, 'fulfillment.points.v1', gen_random_uuid(), 'grant', o.id, 'acme', 'r4', 3, 'c', '2026-01-02T03:04:05Z'
     from b, orders o where out_trade_no = 'r4'`,
  )
  await it.pool.query(
    `update anomalies set owner = 'bob', claimed_at = '2026-01-03Z', resolved_at = '2026-01-04Z', resolution = 'ignore',
       resolved_by = 'bob', reason = 'a test payment' where order_id = (select id from orders where out_trade_no = 'r4')`,
  )
  const { body } = await acme('GET', '/v1/orders/acme/r4/timeline')
  expect(body['waiting']).toMatchObject([
    { kind: 'grant', topic: 'fulfillment.points.v1', sequence: 3, brake: 1, brake_reason: 'wrong labels' },
  ])
  expect(body['anomalies']).toMatchObject([
    {
      ...{ owner: 'bob', claimed_at: '2026-01-03T00:00:00.000Z', resolved_at: '2026-01-04T00:00:00.000Z' },
      ...{ resolution: 'ignore', resolved_by: 'bob', reason: 'a test payment' },
    },
  ])
  const { stdout } = await paidonce(['order', 'timeline', 'acme', 'r4'], { DATABASE_URL: it.database.url })
  expect(stdout).toMatch(/event grant waits .*points\.v1 lane \d+, behind brake 1: wrong labels/)
  expect(stdout).toMatch(/anomaly claimed .*conflicting_fact by bob/)
  expect(stdout).toMatch(/anomaly resolved .*conflicting_fact: ignore by bob: a test payment/)
})

test('of more than 1,000 deliveries the latest are shown, and it says so', async () => {
  await givenPaidOrder('r3')
  await it.pool.query(
    `insert into deliveries (lane, kafka_offset, day, order_id, outcome, received_at)
     select lane, 100 + n, '2026-01-02', id, 'duplicate', '2026-01-03'::timestamptz + n * interval '1 second'
     from orders, generate_series(1, 1000) n where out_trade_no = 'r3'`,
  )
  const { body } = await acme('GET', '/v1/orders/acme/r3/timeline')
  const deliveries = body['deliveries'] as { offset: number }[]
  expect([deliveries.length, deliveries[0]?.offset, deliveries.at(-1)?.offset]).toEqual([1_000, 101, 1_100])
  expect(body['truncated']).toEqual(['deliveries'])
})

test('an order known only from callbacks can be looked at, whatever its number looks like', async () => {
  await it.pool.query(`insert into orders (merchant, out_trade_no, lane) values ('acme', '订单 / 1', 0)`)
  const { status, body } = await acme('GET', `/v1/orders/acme/${encodeURIComponent('订单 / 1')}`)
  expect([status, body['status'], body['amount_minor']]).toEqual([200, 'awaited', null])
})

test.each(['nothing', encodeURIComponent('a\u0000b'), 'x'.repeat(65)])('%s is not found', async (outTradeNo) => {
  for (const path of ['', '/timeline'])
    expect((await acme('GET', `/v1/orders/acme/${outTradeNo}${path}`)).status).toBe(404)
})
