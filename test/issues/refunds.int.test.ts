import { afterAll, beforeAll, expect, test } from 'vitest'
import { factsOfRefundQuery as alipayRefund } from '../../src/providers/alipay/facts-of-query.ts'
import { alipayTime } from '../../src/providers/alipay/sign.ts'
import { composeRefund, refundAnswer, type RefundOrder } from '../../src/providers/wechatpay/compose.ts'
import { factsOfRefundQuery } from '../../src/providers/wechatpay/facts-of-query.ts'
import { AMOUNT_MINOR } from '../helpers/installation.ts'
import { PARTY, tradeOf, transactionOf } from './senders.ts'
import { startSystem, type System } from './system.ts'

/** What others met with refunds, by the public report of it; here through gateway and processor. */
let it: System
beforeAll(async () => {
  it = await startSystem()
})
afterAll(() => it.stop())

const WECHATPAY = '200 {"code":"SUCCESS","message":"成功"}'
const SHIPPED = ['ship', 'deduct', 'grant']
const CANCELLED = ['cancel', 'restore', 'revoke']
const PART = ['refund', 'refund', 'refund'] // To each of the three topics.
const factsOf = (facts: ReturnType<typeof factsOfRefundQuery>) => {
  if (typeof facts === 'string') throw new Error(facts)
  return facts
}
const rowsOf = async (sql: string, outTradeNo: string) =>
  (await it.installation.database.pool.query<Record<string, unknown>>(sql, [outTradeNo])).rows

// https://github.com/Pay-Group/best-pay-sdk/issues/28
test('REF-01: a refund notice on the address of payments gives back its part, and is no second payment', async () => {
  await it.create('partly')
  await it.post(it.senders.notice('partly', { status: 'TRADE_SUCCESS' }))
  const refunded = { fen: 10, outBizNo: 'R-1', at: new Date() }
  expect(await it.post(it.senders.notice('partly', { status: 'TRADE_SUCCESS', refunded }))).toEqual(['200 success'])
  await it.settled()
  expect(await it.order('partly')).toMatchObject({ status: 'paid', events: [...SHIPPED, ...PART], anomalies: [] })
  const [told] = await rowsOf(
    `select amount_minor::int, attrs from events where kind = 'refund' and key = $1`,
    'partly',
  )
  expect(told).toEqual({ amount_minor: 10, attrs: '{"refundedMinor":10}' })
})

// https://github.com/wechatpay-apiv3/wechatpay-java/issues/213
test('REF-03: refund_status in a notice and status in an answer are one refund; without either it is refused', async () => {
  await it.create('named')
  await it.post(it.senders.paid('named'), it.senders.refunded('named', 30))
  const refund: RefundOrder = {
    ...{ outTradeNo: 'named', transactionId: transactionOf('named'), outRefundNo: 'R-named', refundId: 'F-named' },
    ...{ totalFen: AMOUNT_MINOR, refundFen: 30, status: 'SUCCESS', at: new Date() },
  }
  await it.learn('named', factsOf(factsOfRefundQuery(refundAnswer(refund), new Date())))
  const { resource, ...envelope } = composeRefund('no-status', PARTY, { ...refund, refundId: 'F-other' })
  const nameless = Object.entries(resource).filter(([name]) => name !== 'refund_status')
  const [answer] = await it.post(it.senders.wechatpay({ ...envelope, resource: Object.fromEntries(nameless) }))
  expect(answer).toMatch(/^400 \{"code":"FAIL"/)
  await it.settled()
  const { status, events, anomalies, facts } = await it.order('named')
  expect({ status, anomalies, events: events.length, refunds: facts.filter((one) => one.includes('F-')) }).toEqual({
    ...{ status: 'paid', anomalies: [], events: 6, refunds: ['refund_succeeded applied wechatpay:F-named'] },
  })
})

// https://github.com/juspay/hyperswitch/issues/5298 and https://github.com/juspay/hyperswitch/issues/3751
test('REF-05, REF-11: a refund of four different numbers, asked for without an answer, finds its order; its number is kept', async () => {
  await it.create('four')
  await it.post(it.senders.paid('four'))
  expect(await it.post(it.senders.refunded('four', 40, { outRefundNo: 'ours-7', refundId: '50300000000007' }))).toEqual(
    [WECHATPAY],
  )
  await it.settled()
  const [refund] = await rowsOf(
    `select provider_ref, payment_ref, detail, outcome::text from facts f join orders o on o.id = f.order_id
     where event_type = 'refund_succeeded' and out_trade_no = $1`,
    'four',
  )
  expect(refund).toEqual({
    ...{ provider_ref: 'wechatpay:50300000000007', payment_ref: `wechatpay:${transactionOf('four')}` },
    ...{ detail: 'out_refund_no ours-7', outcome: 'applied' },
  })
})

// https://github.com/alipay/alipay-easysdk/issues/116
test('REF-06: the number of a refund request comes back as out_biz_no, and stands with the refund', async () => {
  await it.create('biz')
  const refunded = { fen: 20, outBizNo: 'R-2', at: new Date() }
  await it.post(it.senders.notice('biz', { status: 'TRADE_SUCCESS', refunded }))
  await it.settled()
  const [refund] = await rowsOf(
    `select detail from facts f join orders o on o.id = f.order_id where amount_kind = 'cumulative' and out_trade_no = $1`,
    'biz',
  )
  expect(refund).toEqual({ detail: 'out_biz_no R-2; TRADE_SUCCESS' })
})

// https://github.com/binarywang/WxJava/issues/960
test('REF-08: a v2 refund’s time in either form, or in none that can be read, is no reason to refuse it', async () => {
  await it.create('v2')
  const answers = await it.post(
    ...['2018-12-29 16:30:05', '20181229163005', 'yesterday', ''].map((success_time) =>
      it.senders.refundedV2('v2', 30, { success_time }),
    ),
  )
  for (const answer of answers) expect(answer).toMatch(/^200 <xml><return_code><!\[CDATA\[SUCCESS\]\]>/)
  await it.settled()
  // Nobody signed them: the provider is asked, once.
  expect(await it.order('v2')).toMatchObject({ status: 'pending', events: [] })
  const queries = await rowsOf(
    `select ref from timers t join orders o on o.id = t.order_id where kind = 'query' and out_trade_no = $1`,
    'v2',
  )
  expect(queries).toEqual([{ ref: 'refund:R-v2' }])
})

// https://github.com/yansongda/pay/issues/436
test('REF-09: a refund that no notice tells is closed by what its query answers, once', async () => {
  await it.create('unheard')
  await it.post(it.senders.notice('unheard', { status: 'TRADE_SUCCESS' }))
  const answer = {
    ...{ code: '10000', trade_no: tradeOf('unheard'), out_request_no: 'R-1', refund_status: 'REFUND_SUCCESS' },
    ...{ refund_amount: '1.00', gmt_refund_pay: alipayTime(new Date()) },
  }
  for (let asked = 0; asked < 2; asked++) await it.learn('unheard', factsOf(alipayRefund(answer)))
  await it.settled()
  expect(await it.order('unheard')).toMatchObject({
    ...{ status: 'refunded', events: [...SHIPPED, ...CANCELLED], deliveries: ['applied', 'applied', 'duplicate'] },
  })
})

// https://github.com/alipay/alipay-sdk-php-all/issues/5
test('REF-10: TRADE_CLOSED after success is a full refund and no close of an unpaid trade, also where it says no sum', async () => {
  const refunded = { fen: AMOUNT_MINOR, outBizNo: 'R-1', at: new Date() }
  for (const outTradeNo of ['closed-sum', 'closed-no-sum']) {
    await it.create(outTradeNo)
    await it.post(it.senders.notice(outTradeNo, { status: 'TRADE_SUCCESS' }))
  }
  await it.post(it.senders.notice('closed-sum', { status: 'TRADE_CLOSED', refunded }))
  await it.post(it.senders.notice('closed-no-sum', { status: 'TRADE_CLOSED' }))
  await it.settled()
  for (const outTradeNo of ['closed-sum', 'closed-no-sum'])
    expect(await it.order(outTradeNo)).toMatchObject({
      ...{ status: 'refunded', events: [...SHIPPED, ...CANCELLED], anomalies: [] },
    })
})

test('and workers heard of each of it once', async () => {
  const heard = await it.heard()
  const of = (kinds: readonly string[]) => Object.fromEntries(kinds.map((kind) => [kind, 1]))
  const part = { ...of(SHIPPED), refund: 3 }
  const full = of([...SHIPPED, ...CANCELLED])
  expect(heard).toEqual({
    ...{ partly: part, named: part, four: part, unheard: full, 'closed-sum': full, 'closed-no-sum': full },
    biz: part,
  })
})
