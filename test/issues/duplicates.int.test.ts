import { afterAll, beforeAll, expect, test } from 'vitest'
import { paymentResource } from '../../src/providers/wechatpay/compose.ts'
import { factsOfPaymentQuery } from '../../src/providers/wechatpay/facts-of-query.ts'
import { AMOUNT_MINOR } from '../helpers/installation.ts'
import { PARTY, PAID_AT, tradeOf, transactionOf } from './senders.ts'
import { startSystem, type System } from './system.ts'

/** What others met when one thing was told twice, by the public report of it; here through gateway and processor. */
let it: System
beforeAll(async () => {
  it = await startSystem()
})
afterAll(() => it.stop())

const WECHATPAY = '200 {"code":"SUCCESS","message":"成功"}'
const ALIPAY = '200 success'
const RECIPIENT = {
  ...{ mchid: PARTY.mchid, appids: new Set([PARTY.appid]), subMchids: new Set<string>(), subAppids: new Set<string>() },
}
const SHIPPED = ['ship', 'deduct', 'grant']
/** One shipping, whatever else an order went through. */
const SHIPPED_ONCE = { ship: 1, deduct: 1, grant: 1 }

// https://github.com/YunaiV/ruoyi-vue-pro/issues/1152
test('DUP-01: an order paid by WeChat Pay and by Alipay too: both are thanked, one ships, a person gives the other back', async () => {
  for (const outTradeNo of ['both-1', 'both-2', 'both-3']) await it.create(outTradeNo)
  const notice = (outTradeNo: string) => it.senders.notice(outTradeNo, { status: 'TRADE_SUCCESS' })
  expect(await it.post(it.senders.paid('both-1'))).toEqual([WECHATPAY])
  expect(await it.post(notice('both-1'))).toEqual([ALIPAY])
  expect(await it.post(notice('both-2'), it.senders.paid('both-2'))).toEqual([ALIPAY, WECHATPAY])
  expect(await it.post(it.senders.paid('both-3'), notice('both-3'))).toEqual([WECHATPAY, ALIPAY])
  // The second channel tries again, as it did there for ever: it is thanked, and nothing more comes of it.
  expect(await it.post(notice('both-1'), it.senders.paid('both-1'))).toEqual([ALIPAY, WECHATPAY])
  await it.settled()
  for (const outTradeNo of ['both-1', 'both-2', 'both-3'])
    expect(await it.order(outTradeNo)).toMatchObject({
      ...{ status: 'paid', events: [...SHIPPED, 'anomaly_opened'], anomalies: ['double_payment'] },
    })
  expect((await it.order('both-1')).facts).toEqual([
    `payment_succeeded applied wechatpay:${transactionOf('both-1')}`,
    `payment_succeeded anomaly alipay:${tradeOf('both-1')}`,
  ])
})

// https://github.com/medusajs/medusa/issues/13301
test('DUP-03: a callback and the answer of a query within the same moment are one payment', async () => {
  const orders = Array.from({ length: 20 }, (_, n) => `race-${n}`)
  for (const outTradeNo of orders) await it.create(outTradeNo)
  await Promise.all(
    orders.flatMap((outTradeNo) => {
      const paid = { outTradeNo, transactionId: transactionOf(outTradeNo), totalFen: AMOUNT_MINOR, paidAt: PAID_AT }
      const facts = factsOfPaymentQuery(paymentResource(PARTY, paid), RECIPIENT, new Date())
      if (typeof facts === 'string') throw new Error(facts)
      return [it.learn(outTradeNo, facts), it.post(it.senders.paid(outTradeNo))]
    }),
  )
  await it.settled()
  for (const outTradeNo of orders) {
    const { events, deliveries, anomalies } = await it.order(outTradeNo)
    expect({ events, deliveries, anomalies }).toEqual({
      ...{ events: SHIPPED, deliveries: ['applied', 'duplicate'], anomalies: [] },
    })
  }
})

// https://github.com/medusajs/medusa/issues/4798
test('DUP-05: what was applied before is answered with success, so that the sender stops', async () => {
  await it.create('applied')
  for (let delivery = 0; delivery < 3; delivery++) {
    expect(await it.post(it.senders.notice('applied', { status: 'TRADE_SUCCESS' }))).toEqual([ALIPAY])
    await it.settled()
  }
  const { events, deliveries } = await it.order('applied')
  expect({ events, deliveries }).toEqual({ events: SHIPPED, deliveries: ['applied', 'duplicate', 'duplicate'] })
})

// https://github.com/RivenLau/orion-key/pull/39
test('DUP-07: what is not final is never what a success is taken for a repetition of', async () => {
  await it.create('waits')
  await it.create('abnormal')
  await it.post(it.senders.notice('waits', { status: 'WAIT_BUYER_PAY' }, { paidAt: null }))
  await it.post(it.senders.notice('waits', { status: 'TRADE_SUCCESS' }))
  await it.post(it.senders.paid('abnormal'))
  await it.post(it.senders.refunded('abnormal', AMOUNT_MINOR, { status: 'ABNORMAL' }))
  await it.post(it.senders.refunded('abnormal', AMOUNT_MINOR, { status: 'SUCCESS' }))
  await it.settled()
  expect(await it.order('waits')).toMatchObject({ status: 'paid', events: SHIPPED, deliveries: ['noted', 'applied'] })
  expect(await it.order('abnormal')).toMatchObject({
    status: 'refunded',
    deliveries: ['applied', 'anomaly', 'applied'],
  })
})

// https://github.com/marinsagovac/woocommerce-tcom-payway/issues/50
test('DUP-10: three equal callbacks at the same instant: three successes, one shipping', async () => {
  await it.create('thrice')
  const callback = it.senders.paid('thrice')
  expect(await it.post(callback, callback, callback)).toEqual([WECHATPAY, WECHATPAY, WECHATPAY])
  await it.settled()
  expect(await it.order('thrice')).toMatchObject({ events: SHIPPED, deliveries: ['applied', 'duplicate', 'duplicate'] })
})

// https://github.com/code-lives/Pays/issues/13
test('DUP-11: a repetition hours later, with other times around it, does not move the time of the payment', async () => {
  await it.create('timed-w')
  await it.create('timed-a')
  const later = new Date(Date.now() + 6 * 3_600_000)
  await it.post(it.senders.paid('timed-w', { paidAt: PAID_AT }))
  await it.post(it.senders.notice('timed-a', { status: 'TRADE_SUCCESS' }))
  // The same transaction under another message id, with another time in it: the first one stands.
  await it.post(it.senders.paid('timed-w', { paidAt: later }))
  await it.post(it.senders.notice('timed-a', { status: 'TRADE_SUCCESS', at: later }, { paidAt: later }))
  await it.settled()
  for (const outTradeNo of ['timed-w', 'timed-a'])
    expect(await it.order(outTradeNo)).toMatchObject({
      ...{ paidAtMs: PAID_AT.getTime(), events: SHIPPED, deliveries: ['applied', 'duplicate'] },
    })
})

// https://github.com/w7corp/easywechat/issues/2875
test('RSP-12: repeated after a right answer, which nobody could explain there: thanked again, without effect', async () => {
  await it.create('repeated')
  for (let delivery = 0; delivery < 4; delivery++)
    expect(await it.post(it.senders.paid('repeated', { paidAt: PAID_AT }))).toEqual([WECHATPAY])
  await it.settled()
  expect(await it.order('repeated')).toMatchObject({ events: SHIPPED, anomalies: [] })
})

test('and workers heard of each of these orders’ shipping once', async () => {
  const heard = await it.heard()
  expect(Object.keys(heard).length).toBeGreaterThan(25)
  for (const [outTradeNo, counts] of Object.entries(heard))
    expect([outTradeNo, counts]).toMatchObject([outTradeNo, SHIPPED_ONCE])
})
