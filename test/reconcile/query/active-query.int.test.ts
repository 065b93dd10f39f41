import { afterAll, beforeAll, expect, test } from 'vitest'
import type { QueryTarget } from '../../../src/providers/query.ts'
import type { RunningProcessor } from '../../../src/processor/start.ts'
import { createInstallation, MERCHANT, payment, type Installation } from '../../helpers/installation.ts'
import { startTestProcessor } from '../../helpers/processor.ts'
import { clientsOf, fakeClient, NOT_PAID, paidAnswer, startTestReconciler } from '../../helpers/reconciler.ts'
import { until } from '../../helpers/until.ts'

let it: Installation
let processor: RunningProcessor
beforeAll(async () => {
  it = await createInstallation({ partitions: 2 })
  processor = await startTestProcessor(it, { EXPIRY_GRACE_SEC: '0' })
})
afterAll(async () => {
  await processor.stop()
  await it.drop()
})

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}-${n}`)
const numbersOf = (asked: readonly QueryTarget[]) => asked.map(({ outTradeNo }) => outTradeNo).sort()
async function statusOf(prefix: string): Promise<Record<string, number>> {
  const { rows } = await it.database.pool.query<{ status: string; n: number }>(
    `select status::text, count(*)::int as n from orders where out_trade_no like $1 group by status`,
    [`${prefix}-%`],
  )
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]))
}
async function timersOf(prefix: string) {
  const { rows } = await it.database.pool.query<{ attempts: number; answer: string | null; isDone: boolean }>(
    `select t.attempts, t.answer, t.done_at is not null as "isDone" from timers t join orders o on o.id = t.order_id
     where t.kind = 'query' and o.out_trade_no like $1`,
    [`${prefix}-%`],
  )
  return rows
}

test('orders that hear nothing are asked about by one of two reconcilers, once each, and paid', async () => {
  const orders = names('silent', 300)
  await it.createOrders(orders)
  const client = fakeClient((target) => paidAnswer(target))
  const never = fakeClient(() => ({ kind: 'not_found' }))
  const both = clientsOf({ wechatpay: client, alipay: never })
  // Time enough for the lanes between the first question and the second.
  const start = () => startTestReconciler(it, both, { QUERY_FIRST_MS: '3000' })
  const reconcilers = await Promise.all([start(), start()])
  try {
    await until('all are paid', async () => (await statusOf('silent'))['paid'] === 300, 30_000)
    expect(numbersOf(client.asked)).toEqual([...orders].sort())
    expect(numbersOf(never.asked)).toEqual([...orders].sort())
    // A timer that is not needed is read once more, and goes; nobody is asked for that.
    await it.database.pool.query(`update timers set due_at = now() where kind = 'query'`)
    await until('no question is left', async () => (await timersOf('silent')).length === 0)
    expect(client.asked).toHaveLength(300)
    const { rows } = await it.database.pool.query(
      `select d.source, d.outcome::text, count(*)::int from deliveries d join orders o on o.id = d.order_id
       where o.out_trade_no like 'silent-%' group by 1, 2`,
    )
    expect(rows).toEqual([{ source: 'query', outcome: 'applied', count: 300 }])
    // The callbacks come after all: what is known already.
    await it.send(orders.map((order) => payment(order)))
    await until('the late callbacks are met', async () => {
      const { rows: late } = await it.database.pool.query(
        `select from deliveries d join orders o on o.id = d.order_id
         where o.out_trade_no like 'silent-%' and d.source = 'callback' and d.outcome = 'duplicate'`,
      )
      return late.length === 300
    })
  } finally {
    await Promise.all(reconcilers.map((one) => one.stop()))
  }
})

test('an order that is paid in time is never asked about, and costs no timer', async () => {
  const orders = names('prompt', 50)
  const client = fakeClient(() => NOT_PAID)
  const reconciler = await startTestReconciler(it, clientsOf({ wechatpay: client }), { QUERY_FIRST_MS: '5000' })
  try {
    await it.createOrders([...orders, 'prompt-unpaid'])
    await it.send(orders.map((order) => payment(order)))
    await until('the one that is not paid is asked about', () => client.asked.length > 0, 20_000)
    expect(new Set(numbersOf(client.asked))).toEqual(new Set(['prompt-unpaid']))
    expect(await timersOf('prompt')).toHaveLength(1)
  } finally {
    await reconciler.stop()
  }
})

test('gaps grow to the expiry, then comes one more, and the question goes with its order', async () => {
  const client = fakeClient(() => NOT_PAID)
  const reconciler = await startTestReconciler(it, clientsOf({ wechatpay: client }))
  try {
    await it.createOrders(['unpaid-1'], undefined, Date.now() + 3_000)
    await until('it is closed by expiry', async () => (await statusOf('unpaid'))['closed'] === 1, 20_000)
    await until('its last question is asked', async () => (await timersOf('unpaid'))[0]?.isDone !== false)
    expect(client.asked.length).toBeGreaterThanOrEqual(3)
    expect(client.asked.length).toBeLessThanOrEqual(6)
    await it.database.pool.query(`update timers set due_at = now() where kind = 'query'`)
    await until('no question is left', async () => (await timersOf('unpaid')).length === 0)
  } finally {
    await reconciler.stop()
  }
})

test('with EXPIRY_ASK_SEC no order is closed before it was asked about after its expiry', async () => {
  const own = await createInstallation({ partitions: 1 })
  const lane = await startTestProcessor(own, { EXPIRY_GRACE_SEC: '0', EXPIRY_ASK_SEC: '600', WAKE_INTERVAL_MS: '50' })
  // Paid at the last moment: only the question after the expiry hears of it.
  const late = Date.now() + 2_000
  const client = fakeClient((target) => (Date.now() < late ? NOT_PAID : paidAnswer(target)))
  const statuses = async () => {
    const { rows } = await own.database.pool.query<{ status: string }>('select status::text from orders order by id')
    return rows.map(({ status }) => status)
  }
  await own.createOrders(['asked-1', 'asked-2'], undefined, late)
  await own.createOrders(['asked-3'], undefined, Date.now() - 3_600_000)
  try {
    await until('one has waited for long enough', async () => (await statuses())[2] === 'closed', 20_000)
    await until('the expiry has passed', () => Date.now() > late + 500)
    expect(await statuses()).toEqual(['pending', 'pending', 'closed'])
    const reconciler = await startTestReconciler(own, clientsOf({ wechatpay: client }))
    try {
      await until('they are paid', async () => (await statuses()).filter((one) => one === 'paid').length === 2)
      await own.createOrders(['asked-4'], undefined, Date.now() + 1_000)
      const unpaid = fakeClient(() => NOT_PAID)
      await reconciler.stop()
      const second = await startTestReconciler(own, clientsOf({ wechatpay: unpaid }))
      await until('one that is not paid is closed', async () => (await statuses())[3] === 'closed', 20_000)
      expect(unpaid.asked.length).toBeGreaterThan(0)
      await second.stop()
    } finally {
      await reconciler.stop()
    }
  } finally {
    await lane.stop()
    await own.drop()
  }
})

test('what a provider does not answer is asked again soon, and another merchant does not wait for it', async () => {
  const slow = fakeClient(
    () => new Promise((resolve) => setTimeout(() => resolve({ kind: 'try_later', reason: 'timeout' }), 1_500)),
  )
  const quick = fakeClient((target, n) =>
    n % 2 === 0 ? paidAnswer(target) : { kind: 'try_later', reason: 'system_error' },
  )
  const clients = new Map([...clientsOf({ wechatpay: slow }), ...clientsOf({ wechatpay: quick }, 'other')])
  await it.createOrders(names('slow', 200))
  await it.createOrders(names('quick', 20))
  await it.database.pool.query(`update orders set merchant = 'other' where out_trade_no like 'quick-%'`)
  const more = { QUERY_PER_MERCHANT_MAX: '2', QUERY_IN_FLIGHT_MAX: '4' }
  const reconciler = await startTestReconciler(it, clients, more)
  try {
    await until('the others are asked', () => quick.asked.length >= 30, 30_000)
    // Two at a time, a second and a half each.
    expect(slow.asked.length).toBeLessThan(60)
    await until('what they said is kept', async () =>
      (await timersOf('slow')).some(({ answer }) => answer === 'wechatpay: timeout'),
    )
  } finally {
    await reconciler.stop()
  }
})

test('a hint is asked about where it was filed, and given up after so many tries', async () => {
  await it.createOrders(['hint-1'])
  await it.send([payment('hint-1')])
  await until('it is paid', async () => (await statusOf('hint'))['paid'] === 1)
  await it.database.pool.query(
    `insert into timers (lane, order_id, kind, ref, due_at)
     select lane, id, 'query', 'refund:R1', now() from orders where out_trade_no = 'hint-1'`,
  )
  const v2 = fakeClient(() => ({ kind: 'not_found' }))
  const alipay = fakeClient(() => NOT_PAID)
  const reconciler = await startTestReconciler(it, clientsOf({ alipay, 'wechatpay-v2': v2 }), {
    ...{ QUERY_FIRST_MS: '100', QUERY_HINT_TRIES_MAX: '3' },
  })
  try {
    await until('it is given up', async () => (await timersOf('hint')).length === 0)
    const about = ({ outTradeNo }: QueryTarget) => outTradeNo === 'hint-1'
    expect(v2.asked.filter(about)).toEqual(
      new Array(3).fill({ kind: 'refund', outTradeNo: 'hint-1', ref: 'refund:R1' }),
    )
    expect(alipay.asked.filter(about)).toEqual([])
    const text = await (await fetch(`http://127.0.0.1:${reconciler.metricsPort}/metrics`)).text()
    expect(text).toContain('paidonce_query_settled_total{outcome="given_up"} 1')
  } finally {
    await reconciler.stop()
  }
})

test('a refund whose payment nobody told of is asked about before its limit, and applied', async () => {
  const own = await createInstallation({ partitions: 1 })
  const lane = await startTestProcessor(own)
  await own.createOrders(['held-1'])
  await own.send([
    payment('held-1', {
      eventType: 'refund_succeeded',
      providerRef: 'wechatpay:r1',
      paymentRef: 'wechatpay:tx-held-1',
      amountKind: 'individual',
    }),
  ])
  const statuses = async () =>
    (await own.database.pool.query<{ status: string }>('select status::text from orders')).rows
  const client = fakeClient((target) => paidAnswer(target))
  try {
    await until('it is held', async () => {
      const { rows } = await own.database.pool.query(`select from timers where kind = 'held_limit'`)
      return rows.length === 1
    })
    // So that nothing but the limit asks.
    await own.database.pool.query(`delete from timers where kind = 'expiry'`)
    const reconciler = await startTestReconciler(own, clientsOf({ wechatpay: client }), {
      QUERY_HELD_BEFORE_MS: String(86_400_000),
    })
    await until('its payment is known', async () => (await statuses())[0]?.status === 'refunded')
    expect(client.asked).toEqual([{ kind: 'payment', outTradeNo: 'held-1' }])
    await reconciler.stop()
  } finally {
    await lane.stop()
    await own.drop()
  }
})

test(`a merchant without keys is not asked about (${MERCHANT} is)`, async () => {
  await it.createOrders(['keyless-1'])
  await it.database.pool.query(`update orders set merchant = 'keyless' where out_trade_no = 'keyless-1'`)
  await it.createOrders(['keyed-1'])
  const client = fakeClient((target) => paidAnswer(target))
  const reconciler = await startTestReconciler(it, clientsOf({ wechatpay: client }))
  try {
    await until('the other one is paid', async () => (await statusOf('keyed'))['paid'] === 1)
    expect(await timersOf('keyless')).toEqual([])
  } finally {
    await reconciler.stop()
  }
})
