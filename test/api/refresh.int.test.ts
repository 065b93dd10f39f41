import { afterAll, beforeAll, expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi, type Api } from '../../src/api/start.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import type { RunningReconciler } from '../../src/reconcile/start.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import { createLog } from '../../src/runtime/log.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { createInstallation, MERCHANT, payment, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { clientsOf, fakeClient, NOT_PAID, paidAnswer, startTestReconciler } from '../helpers/reconciler.ts'
import { until } from '../helpers/until.ts'
import { callWith, type Call } from './start-api.ts'

let it: Installation
let processor: RunningProcessor
let reconciler: RunningReconciler
let api: Api
const paid = new Set<string>()
/** Until then an answer is on its way. */
const slow = new Map<string, Promise<undefined>>()
const client = fakeClient(async (target) => {
  const answer = paid.has(target.outTradeNo) ? paidAnswer(target) : NOT_PAID
  await slow.get(target.outTradeNo)
  return answer
})

// Nothing but a refresh asks: the schedule's first question would come after an hour.
const SLOW = { QUERY_FIRST_MS: '3600000', QUERY_LOOK_MS: '30000' }
beforeAll(async () => {
  it = await createInstallation({ partitions: 2 })
  processor = await startTestProcessor(it)
  await untilSettled([processor], 2)
  reconciler = await startTestReconciler(it, clientsOf({ wechatpay: client }), SLOW)
  await until('the reconciler asks', async () => (await fetch(`http://127.0.0.1:${reconciler.metricsPort}/readyz`)).ok)
  api = await startApi(readApiConfig(it.env({ REFRESH_PER_SEC: '3' })), { log: createLog('api', 'silent') })
  await until('the api is ready', async () => (await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`)).ok)
})
afterAll(async () => {
  await api.stop()
  await reconciler.stop()
  await processor.stop()
  await it.drop()
})

async function as(name: string): Promise<Call> {
  const { token, hash } = mintToken()
  const of = { name, role: 'merchant', merchant: MERCHANT, expiresAtMs: null } as const
  await insertApiToken(it.database.pool, { ...of, tokenHash: hash })
  return callWith(`http://127.0.0.1:${api.port}`, token)
}
const path = (order: string, query = '?refresh=true') => `/v1/orders/${MERCHANT}/${order}${query}`

test('a refresh asks at once, and shows the order as it is then; without one nobody is asked', async () => {
  const call = await as('page')
  await it.createOrders(['now-1'])
  paid.add('now-1')
  expect((await call('GET', path('now-1', ''))).body).toMatchObject({ status: 'pending' })
  expect((await call('GET', path('now-1', ''))).body).not.toHaveProperty('refresh')
  expect((await call('GET', path('now-1', '?refresh=false'))).body).toMatchObject({ status: 'pending' })
  expect(client.asked).toHaveLength(0)
  const { body } = await call('GET', path('now-1'))
  expect(body).toMatchObject({ status: 'paid', payment: 'wechatpay:tx-now-1', refresh: 'asked' })
  expect((await call('GET', path('now-1'))).body).toMatchObject({ status: 'paid', refresh: 'settled' })
  expect(client.asked).toEqual([{ kind: 'payment', outTradeNo: 'now-1' }])
})

test('not paid is answered as soon as the provider says so; again at once, nobody is asked', async () => {
  const call = await as('impatient')
  await it.createOrders(['unpaid-1'])
  expect((await call('GET', path('unpaid-1'))).body).toMatchObject({ status: 'pending', refresh: 'asked' })
  expect((await call('GET', path('unpaid-1'))).body).toMatchObject({ status: 'pending', refresh: 'recent' })
  expect(client.asked.filter(({ outTradeNo }) => outTradeNo === 'unpaid-1')).toHaveLength(1)
  // The schedule stands: the next question is a first gap away, whoever asked before.
  const { rows } = await it.database.pool.query(
    `select from timers t join orders o on o.id = t.order_id where o.out_trade_no = 'unpaid-1' and t.kind = 'query'
     and t.due_at between now() + interval '50 minutes' and now() + interval '100 minutes'`,
  )
  expect(rows).toHaveLength(1)
  // Five seconds later it may be asked again, and has been paid meanwhile.
  paid.add('unpaid-1')
  await it.database.pool.query(
    `update timers set refreshed_at = refreshed_at - interval '5 seconds' where kind = 'query'`,
  )
  expect((await call('GET', path('unpaid-1'))).body).toMatchObject({ status: 'paid', refresh: 'asked' })
})

test('an answer that was on its way when somebody wanted to know is not the one', async () => {
  const call = await as('early')
  await it.createOrders(['early-1'])
  const { promise, resolve: arrive } = Promise.withResolvers<undefined>()
  slow.set('early-1', promise)
  expect((await call('GET', path('early-1'))).body).toMatchObject({ status: 'pending', refresh: 'pending' })
  const asked = () => client.asked.filter(({ outTradeNo }) => outTradeNo === 'early-1')
  expect(asked()).toHaveLength(1)
  await it.database.pool.query(
    `update timers set refreshed_at = refreshed_at - interval '6 seconds' where kind = 'query'`,
  )
  paid.add('early-1')
  const wish = call('GET', path('early-1'))
  await until('the wish is filed', async () => {
    const { rows } = await it.database.pool.query(
      `select from timers t join orders o on o.id = t.order_id
       where o.out_trade_no = 'early-1' and t.kind = 'query' and t.wished_at is not null`,
    )
    return rows.length === 1
  })
  arrive(undefined)
  // Where the lane takes longer than the api waits it says so; "asked, and not paid" would be the old answer.
  const { body } = await wish
  expect([body['status'], body['refresh']]).not.toEqual(['pending', 'asked'])
  await until('it is paid', async () => (await call('GET', path('early-1', ''))).body['status'] === 'paid')
  expect(asked()).toHaveLength(2)
})

test('a callback that comes while it is waited for answers it', async () => {
  const call = await as('lucky')
  await it.createOrders(['raced-1'])
  await it.database.pool.query(
    `insert into timers (lane, order_id, kind, ref, merchant, due_at, leased_until)
     select lane, id, 'query', 'payment', merchant, now() + interval '1 hour', now() + interval '1 hour'
     from orders where out_trade_no = 'raced-1'`,
  )
  const asking = call('GET', path('raced-1'))
  await it.send([payment('raced-1')])
  expect((await asking).body).toMatchObject({ status: 'paid', refresh: 'asked' })
})

test('who asks too often is answered with what is known, and asks nobody', async () => {
  const [call, other] = [await as('flood'), await as('calm')]
  const orders = ['f-1', 'f-2', 'f-3', 'f-4', 'f-5', 'f-6']
  await it.createOrders([...orders, 'f-calm'])
  const answers = await Promise.all(orders.map((order) => call('GET', path(order))))
  const results = answers.map(({ body }) => body['refresh'])
  expect(results.filter((result) => result === 'limited').length).toBeGreaterThanOrEqual(2)
  expect(results.filter((result) => result === 'asked').length).toBeGreaterThanOrEqual(3)
  expect((await other('GET', path('f-calm'))).body).toMatchObject({ refresh: 'asked' })
})

test('another merchant’s order is not asked about, nor is a word that is none', async () => {
  const call = await as('stranger')
  await it.createOrders(['theirs-1'])
  await it.database.pool.query(`update orders set merchant = 'other' where out_trade_no = 'theirs-1'`)
  expect((await call('GET', '/v1/orders/other/theirs-1?refresh=true')).status).toBe(404)
  expect((await call('GET', path('now-1', '?refresh=yes'))).body).toMatchObject({ field: 'refresh' })
  const { rows } = await it.database.pool.query(
    `select from timers t join orders o on o.id = t.order_id where o.out_trade_no = 'theirs-1' and t.kind = 'query'`,
  )
  expect(rows).toEqual([])
})

test('while nobody asks providers it says so after its time', async () => {
  const call = await as('alone')
  await reconciler.stop()
  await it.createOrders(['alone-1'])
  expect((await call('GET', path('alone-1'))).body).toMatchObject({ status: 'pending', refresh: 'pending' })
  // Whoever starts later asks.
  paid.add('alone-1')
  reconciler = await startTestReconciler(it, clientsOf({ wechatpay: client }), SLOW)
  await until('it is paid', async () => (await call('GET', path('alone-1', ''))).body['status'] === 'paid')
})
