import { afterAll, beforeAll, expect, test } from 'vitest'
import { paidonceJson } from '../cli/paidonce.ts'
import { ageOrders, maintainAt } from '../helpers/maintained.ts'
import { anOrder, startTestApi, withoutInstance, type Call, type TestApi } from './start-api.ts'

const LATER = '2028-11-30T12:00:00.000Z'
const PATH = '/v1/orders/acme/old'
let it: TestApi
let acme: Call
let before: Record<string, unknown>
beforeAll(async () => {
  it = await startTestApi()
  acme = await it.as('merchant', 'acme')
  await acme('POST', '/v1/orders', anOrder('old'))
  await it.pool.query(`delete from timers; update orders set status = 'closed'`)
  await it.pool.query(
    `insert into facts (order_id, event_type, provider_ref, amount_minor, currency, amount_kind, event_time, outcome, lane, kafka_offset)
     select id, 'provider_closed', 'wechatpay:c', 0, '', 'none', '2026-01-02T03:04:05Z', 'applied', lane, 1 from orders`,
  )
  await ageOrders(it.pool, Date.parse('2026-11-30T12:00:00Z'))
  before = (await acme('GET', `${PATH}/timeline`)).body
  expect((await maintainAt(it.pool, LATER)).archived.orders).toBe(1)
})
afterAll(() => it.stop())

test('an archived order is read as before, and says so; another merchant does not learn of it', async () => {
  const order = before['order'] as Record<string, unknown>
  expect(order).toMatchObject({ status: 'closed', archived_at: null })
  expect(await acme('GET', PATH)).toMatchObject({ status: 200, body: { ...order, archived_at: LATER } })
  expect((await acme('GET', `${PATH}/timeline`)).body).toEqual({ ...before, order: { ...order, archived_at: LATER } })
  const other = await it.as('merchant', 'other')
  expect((await other('GET', PATH)).status).toBe(404)
})

test('it is not created again, whatever the body, and not closed', async () => {
  for (const body of [anOrder('old'), anOrder('old', { amount_minor: 1 })]) {
    const answer = await acme('POST', '/v1/orders', body)
    expect([answer.status, answer.body['type']]).toEqual([409, 'urn:paidonce:problem:order_archived'])
  }
  const closed = await acme('POST', `${PATH}/close`, {}, { 'idempotency-key': 'k1' })
  expect(closed.status).toBe(409)
  expect(withoutInstance(closed.body)).toMatchObject({ type: 'urn:paidonce:problem:order_archived' })
  expect((await it.pool.query('select from orders')).rowCount).toBe(0)
})

test('on the command line too', async () => {
  const env = { DATABASE_URL: it.database.url }
  expect(await paidonceJson(['order', 'show', 'acme', 'old'], env)).toMatchObject({
    json: { status: 'closed', archived_at: LATER },
  })
  expect(await paidonceJson(['order', 'timeline', 'acme', 'old'], env)).toMatchObject({
    json: { facts: [{ event_type: 'provider_closed' }] },
  })
})

test('maintenance by hand: a dry run changes nothing and says what the run then does', async () => {
  const env = { DATABASE_URL: it.database.url }
  const dry = await paidonceJson(['maintenance', 'run', '--dry-run'], env)
  expect(dry).toMatchObject({ code: 0, json: { result: 'would_be_done', archived_orders: 0 } })
  const run = await paidonceJson(['maintenance', 'run'], env)
  const partitions = (answer: typeof run) => (answer.json as { partitions: unknown[] }).partitions
  expect(partitions(run)).toEqual(partitions(dry))
  expect(run).toMatchObject({ code: 0, json: { result: 'done' } })
  expect(partitions(await paidonceJson(['maintenance', 'run'], env))).toEqual([])
  const holder = await it.pool.connect()
  await holder.query('select pg_advisory_lock(7205711305)')
  expect(await paidonceJson(['maintenance', 'run'], env)).toMatchObject({ code: 3, json: { result: 'busy' } })
  holder.release(true)
})

// The last one: it takes the archive away.
test('when its month was exported and dropped, it is gone, and told apart from one that never was', async () => {
  await it.pool.query('drop table archived_orders_202811')
  const gone = await acme('GET', PATH)
  expect(gone).toMatchObject({ status: 410, body: { type: 'urn:paidonce:problem:order_gone', reason: 'closed' } })
  expect((await acme('GET', '/v1/orders/acme/never')).status).toBe(404)
  expect((await acme('POST', '/v1/orders', anOrder('old'))).status).toBe(409)
})
