import { afterAll, beforeAll, expect, test } from 'vitest'
import { AMOUNT_MINOR } from '../helpers/installation.ts'
import { until } from '../helpers/until.ts'
import { startSystem, type System } from './system.ts'

/** What others met when things came late, early, in another order or with another sum; here through the whole system. */
let it: System
beforeAll(async () => {
  it = await startSystem()
})
afterAll(() => it.stop())

const WECHATPAY = '200 {"code":"SUCCESS","message":"成功"}'
const ALIPAY = '200 success'
const SHIPPED = ['ship', 'deduct', 'grant']
const CANCELLED = ['cancel', 'restore', 'revoke']
const FULL = (status: 'TRADE_CLOSED' | 'TRADE_FINISHED') => ({
  ...{ status, refunded: { fen: AMOUNT_MINOR, outBizNo: 'R-1', at: new Date() } },
})

// https://github.com/mollie/WooCommerce/issues/1252
test('ORD-01: a payment that is told after its full refund is written down, and opens and ships nothing', async () => {
  await it.create('late-paid')
  expect(await it.post(it.senders.refunded('late-paid', AMOUNT_MINOR))).toEqual([WECHATPAY])
  await it.settled()
  expect(await it.order('late-paid')).toMatchObject({ status: 'pending', events: [], deliveries: ['held'] })
  expect(await it.post(it.senders.paid('late-paid'))).toEqual([WECHATPAY])
  await it.post(it.senders.paid('late-paid')) // And once more, a day later.
  await it.settled()
  const order = await it.order('late-paid')
  expect(order).toMatchObject({ status: 'refunded', events: [], anomalies: [] })
  expect(order.facts.toSorted()).toEqual([
    'payment_succeeded applied wechatpay:W-late-paid',
    'refund_succeeded noted wechatpay:F-late-paid', // Nothing had gone out that it could take back.
  ])
})

// https://github.com/NEARBuilders/nearmerch.com/issues/209
test('ORD-02: a close that is told after the payment takes nothing back, and a person hears of it', async () => {
  await it.create('late-close')
  await it.post(it.senders.notice('late-close', { status: 'TRADE_SUCCESS' }))
  expect(await it.post(it.senders.notice('late-close', { status: 'TRADE_CLOSED' }, { paidAt: null }))).toEqual([ALIPAY])
  await it.settled()
  expect(await it.order('late-close')).toMatchObject({
    ...{ status: 'paid', events: [...SHIPPED, 'anomaly_opened'], anomalies: ['closed_after_payment'] },
  })
})

// https://github.com/helei112g/payment/issues/67
test('ORD-04: TRADE_FINISHED after success, and after a full refund, is no second payment', async () => {
  await it.create('finished')
  await it.post(it.senders.notice('finished', { status: 'TRADE_SUCCESS' }))
  await it.post(it.senders.notice('finished', { status: 'TRADE_FINISHED' }))
  await it.settled()
  expect(await it.order('finished')).toMatchObject({ status: 'paid', events: SHIPPED })
  await it.post(it.senders.notice('finished', FULL('TRADE_CLOSED')))
  await it.post(it.senders.notice('finished', { status: 'TRADE_FINISHED' }))
  await it.post(it.senders.notice('finished', FULL('TRADE_FINISHED')))
  await it.settled()
  expect(await it.order('finished')).toMatchObject({
    ...{ status: 'refunded', events: [...SHIPPED, ...CANCELLED], anomalies: [] },
  })
})

// https://github.com/yansongda/pay/issues/301
test('ORD-05: TRADE_FINISHED three months later, when the history of deliveries is long dropped, ships nothing', async () => {
  await it.create('quarter')
  await it.post(it.senders.notice('quarter', { status: 'TRADE_SUCCESS' }))
  await it.settled()
  await it.installation.database.pool.query('truncate deliveries')
  const at = new Date(Date.now() + 90 * 86_400_000)
  expect(await it.post(it.senders.notice('quarter', { status: 'TRADE_FINISHED', at }))).toEqual([ALIPAY])
  await it.settled()
  expect(await it.order('quarter')).toMatchObject({ status: 'paid', events: SHIPPED, deliveries: ['duplicate'] })
})

// https://github.com/helei112g/payment/issues/183
test('ORD-08: the close of a trade that nobody paid reaches the shop, once', async () => {
  await it.create('unpaid')
  for (let delivery = 0; delivery < 3; delivery++)
    expect(await it.post(it.senders.notice('unpaid', { status: 'TRADE_CLOSED' }, { paidAt: null }))).toEqual([ALIPAY])
  await it.settled()
  expect(await it.order('unpaid')).toMatchObject({ status: 'closed', events: ['unreserve'], anomalies: [] })
})

// https://github.com/duncanmcclean/statamic-cargo/issues/190
test('UNK-01: a callback before its order is kept and thanked, and applied as soon as the order is there', async () => {
  expect(await it.post(it.senders.paid('early'))).toEqual([WECHATPAY])
  await it.settled()
  expect(await it.order('early')).toMatchObject({ status: 'awaited', events: [], deliveries: ['held'] })
  await it.create('early')
  await until('it is paid', async () => (await it.order('early')).status === 'paid')
  expect(await it.order('early')).toMatchObject({ events: SHIPPED, anomalies: [] })
})

// https://github.com/woocommerce/woocommerce-paypal-payments/issues/4489
test('UNK-03: 40 callbacks, some before their orders and some after, some between: each ships once, none is an error', async () => {
  const orders = Array.from({ length: 40 }, (_, n) => `around-${n}`)
  const answers = await Promise.all(
    orders.map(async (outTradeNo, n) => {
      const callback = it.senders.paid(outTradeNo)
      // Every fourth of them: order first, callback first, both at once, and twice around it.
      if (n % 4 === 0) await it.create(outTradeNo)
      const first = it.post(callback)
      if (n % 4 === 1) await first
      if (n % 4 > 0) await it.create(outTradeNo)
      return [await first, n % 4 === 3 ? await it.post(callback) : []]
    }),
  )
  expect(new Set(answers.flat(2))).toEqual(new Set([WECHATPAY]))
  await it.settled()
  for (const outTradeNo of orders) {
    await until(`${outTradeNo} is paid`, async () => (await it.order(outTradeNo)).status === 'paid')
    expect(await it.order(outTradeNo)).toMatchObject({ events: SHIPPED, anomalies: [] })
  }
})

// https://github.com/essensoft/paylinks/issues/81
test('UNK-05: a signed notice that names neither order nor status is kept for a person, and stops nothing', async () => {
  await it.create('beside')
  expect(await it.post(it.senders.bareClose(), it.senders.paid('beside'))).toEqual([ALIPAY, WECHATPAY])
  await it.settled()
  const { rows } = await it.installation.database.pool.query<{ reason: string }>('select reason from dead_letters')
  expect(rows).toEqual([{ reason: 'unroutable' }])
  expect(await it.order('beside')).toMatchObject({ status: 'paid', events: SHIPPED })
})

// https://github.com/jeequan/jeepay/pull/81
test('AMT-06: another sum ships nothing and is told; another app or seller is refused', async () => {
  await it.create('mixed', 8_800)
  const success = { status: 'TRADE_SUCCESS' } as const
  for (const [change, answer] of [
    [{ app_id: '2021000000000009' }, /^40\d fail$/],
    [{ seller_id: '2088000000000009' }, /^40\d fail$/],
    [{ total_amount: '0.01' }, /^200 success$/],
  ] as const)
    expect((await it.post(it.senders.notice('mixed', success, { change })))[0]).toMatch(answer)
  await it.settled()
  expect(await it.order('mixed')).toMatchObject({
    ...{ status: 'pending', events: ['anomaly_opened'], anomalies: ['amount_mismatch'], deliveries: ['anomaly'] },
  })
})

// https://github.com/macrozheng/mall/issues/998
test('AMT-08: an order of 4999.00 is not paid by 0.01, and still by its own sum', async () => {
  await it.create('cheap', 499_900)
  const success = { status: 'TRADE_SUCCESS' } as const
  await it.post(it.senders.notice('cheap', success, { change: { total_amount: '0.01' } }))
  await it.settled()
  expect(await it.order('cheap')).toMatchObject({ status: 'pending', anomalies: ['amount_mismatch'] })
  await it.post(it.senders.paid('cheap', { totalFen: 499_900 }))
  await it.settled()
  expect(await it.order('cheap')).toMatchObject({ status: 'paid', events: ['anomaly_opened', ...SHIPPED] })
})

// https://github.com/yansongda/pay/issues/685
test('AMT-10: 1,234.56 yuan are 123456 fen, and no separator comes between', async () => {
  await it.create('thousand-w', 123_456)
  await it.create('thousand-a', 123_456)
  await it.post(it.senders.paid('thousand-w', { totalFen: 123_456 }))
  const change = { total_amount: '1234.56' }
  await it.post(it.senders.notice('thousand-a', { status: 'TRADE_SUCCESS' }, { change }))
  await it.settled()
  for (const outTradeNo of ['thousand-w', 'thousand-a'])
    expect(await it.order(outTradeNo)).toMatchObject({ status: 'paid', events: SHIPPED })
})

test('and workers heard of nothing twice, and of nothing that was not theirs', async () => {
  const heard = await it.heard()
  for (const [outTradeNo, counts] of Object.entries(heard))
    for (const count of Object.values(counts)) expect([outTradeNo, count]).toEqual([outTradeNo, 1])
  expect(heard['finished']).toEqual(Object.fromEntries([...SHIPPED, ...CANCELLED].map((kind) => [kind, 1])))
  expect(heard['unpaid']).toEqual({ unreserve: 1 })
  for (const silent of ['late-paid', 'mixed']) expect(heard).not.toHaveProperty([silent])
})
