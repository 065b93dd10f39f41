import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { factCause } from '../../src/orders/identity.ts'
import type { Fact } from '../../src/orders/model.ts'
import { factsOfBillRow } from '../../src/providers/alipay/facts-of-bill.ts'
import { factsOfPaymentQuery, factsOfRefundQuery } from '../../src/providers/alipay/facts-of-query.ts'
import { SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { printedRandom } from '../helpers/seed.ts'
import { AMOUNT, fact } from '../orders/build.ts'
import { Shop, type Step } from '../orders/shop.ts'
import { factsOf, fullRefund, NOW, partialRefund, payment, TRADE_NO, unpaidClose } from './alipay-subject.ts'

const { seed } = printedRandom('alipay identity')

const queried = {
  code: '10000',
  msg: 'Success',
  trade_no: TRADE_NO,
  out_trade_no: 'T1_2024',
  trade_status: 'TRADE_SUCCESS',
  total_amount: '88.00',
  send_pay_date: '2024-05-20 13:29:35',
}
const queriedRefund = {
  code: '10000',
  msg: 'Success',
  trade_no: TRADE_NO,
  out_trade_no: 'T1_2024',
  out_request_no: 'R-1',
  refund_status: 'REFUND_SUCCESS',
  refund_reason: '不想要了',
  total_amount: '88.00',
  refund_amount: '10.00',
  gmt_refund_pay: '2024-05-21 10:00:00',
}
const billRow = {
  支付宝交易号: `${TRADE_NO}\t`,
  商户订单号: 'T1_2024\t',
  业务类型: '交易\t',
  商品名称: '会员\t',
  创建时间: '2024-05-20 13:29:22',
  完成时间: '2024-05-20 13:29:35',
  '订单金额（元）': '88.00',
  '商家实收（元）': '88.00',
  '退款批次号/请求号': '\t',
  备注: '\t',
}
const billRefund = {
  ...billRow,
  业务类型: '退款\t',
  完成时间: '2024-05-21 10:00:00',
  '订单金额（元）': '-10.00',
  '退款批次号/请求号': 'R-1\t',
}

const known = (facts: readonly Fact[] | string | object): readonly Fact[] => {
  if (Array.isArray(facts)) return facts as readonly Fact[]
  throw new Error(`no facts: ${JSON.stringify(facts)}`)
}
const ofBill = (row: Readonly<Record<string, string>>) => {
  const read = factsOfBillRow(row)
  return typeof read === 'string' ? read : read.facts
}
/** What must be equal wherever a fact is learnt from: its time, its wording are not. */
const identities = (facts: readonly Fact[] | string | object) =>
  known(facts).map((one) => [factCause(one), one.paymentRef, one.amountMinor, one.currency, one.amountKind])

describe('one fact, wherever it is learnt', () => {
  test('a payment is the same in a notice, a query and a bill', () => {
    const paid = identities(factsOf(payment))
    expect(paid).toHaveLength(1)
    expect(identities(factsOf({ ...payment, trade_status: 'TRADE_FINISHED' }))).toEqual(paid)
    for (const trade_status of ['TRADE_SUCCESS', 'TRADE_FINISHED'])
      expect(identities(factsOfPaymentQuery({ ...queried, trade_status }, NOW))).toEqual(paid)
    expect(identities(ofBill(billRow))).toEqual(paid)
    expect(identities(factsOf(partialRefund))[1]).toEqual(paid[0])
    expect(factsOfPaymentQuery(queried, NOW)).toEqual(factsOf(payment))
    expect(ofBill(billRow)).toEqual(factsOf(payment))
  })

  test('one refund is the same in a query and a bill; asked for without a number it goes by the order’s', () => {
    const one = identities(factsOfRefundQuery(queriedRefund))
    expect(one).toEqual([
      [`refund_succeeded/alipay:${TRADE_NO}/refund/R-1`, `alipay:${TRADE_NO}`, 1000, 'CNY', 'individual'],
    ])
    expect(identities(ofBill(billRefund))).toEqual(one)
    const unnumbered = identities(ofBill({ ...billRefund, '退款批次号/请求号': '\t' }))
    expect(unnumbered).toEqual(identities(factsOfRefundQuery({ ...queriedRefund, out_request_no: 'T1_2024' })))
  })

  test('a full refund is the same in a notice and a query', () => {
    const closed = { ...queried, trade_status: 'TRADE_CLOSED' }
    expect(identities(factsOfPaymentQuery(closed, NOW))).toEqual(identities(factsOf(fullRefund)))
  })

  test('a trade that was refunded in full was closed unpaid by a query that did not say when it was paid', () => {
    for (const send_pay_date of [undefined, '', null]) {
      const closed = { ...queried, trade_status: 'TRADE_CLOSED', send_pay_date }
      expect(factsOfPaymentQuery(closed, NOW)).toEqual([])
      const zero = { receipt_amount: '0.00', buyer_pay_amount: '0.00', invoice_amount: '0.00', point_amount: '0.00' }
      expect(factsOfPaymentQuery({ ...closed, ...zero }, NOW)).toEqual([])
      // It was paid, and does not say when.
      for (const figure of ['receipt_amount', 'buyer_pay_amount', 'invoice_amount', 'point_amount', 'refund_fee'])
        expect(factsOfPaymentQuery({ ...closed, ...zero, [figure]: '0.01' }, NOW)).toBe('send_pay_date')
    }
  })

  test('no two different facts share an identity', () => {
    const different = [
      ...known(factsOf(payment)),
      ...known(factsOf({ ...payment, trade_no: `${TRADE_NO}9` })),
      ...known(factsOf(unpaidClose)),
      ...known(factsOf(partialRefund)).slice(0, 1),
      ...known(factsOf({ ...partialRefund, refund_fee: '20.00', out_biz_no: 'R-2' })).slice(0, 1),
      ...known(factsOf(fullRefund)).slice(0, 1),
      ...known(factsOfRefundQuery(queriedRefund)),
      ...known(factsOfRefundQuery({ ...queriedRefund, out_request_no: 'R-2' })),
      // A number that looks like a figure.
      ...known(factsOfRefundQuery({ ...queriedRefund, out_request_no: '1000' })),
      ...known(factsOfRefundQuery({ ...queriedRefund, trade_no: `${TRADE_NO}9` })),
    ]
    expect(new Set(different.map(factCause)).size).toBe(different.length)
  })
})

describe('answers and rows', () => {
  test.for([
    ['nobody has scanned it', { code: '40004', sub_code: 'ACQ.TRADE_NOT_EXIST' }],
    ['nobody has paid', { ...queried, trade_status: 'WAIT_BUYER_PAY', send_pay_date: undefined }],
  ] as const)('a trade of which %s states nothing', ([, answer]) =>
    expect(factsOfPaymentQuery(answer, NOW)).toEqual([]),
  )

  test.for([
    ['code', { code: '20000' }],
    ['code', {}],
    ['code', { code: '40004', sub_code: 'ACQ.SYSTEM_ERROR' }],
    ['trade_status', { ...queried, trade_status: 'PAID' }],
    ['trade_status', { ...queried, trade_status: undefined }],
    ['trade_no', { ...queried, trade_no: '' }],
    ['trade_no', { ...queried, trade_no: 5 }],
    ['trade_no', { ...queried, trade_no: '4'.repeat(240) }],
    ['total_amount', { ...queried, total_amount: 88 }],
    ['total_amount', { ...queried, total_amount: '88.005' }],
    ['trans_currency', { ...queried, trans_currency: 'USD' }],
  ] as const)('a query’s %s that is not as documented is named: %o', ([field, answer]) =>
    expect(factsOfPaymentQuery(answer, NOW)).toBe(field),
  )

  test.for([
    ['there is none', { code: '10000', msg: 'Success' }],
    ['there is no trade', { code: '40004', sub_code: 'ACQ.TRADE_NOT_EXIST' }],
  ] as const)('a refund of which %s states nothing', ([, answer]) => expect(factsOfRefundQuery(answer)).toEqual([]))

  test.for([
    ['code', { code: '20000' }],
    ['refund_status', { ...queriedRefund, refund_status: 'REFUND_FAIL' }],
    ['trade_no', { ...queriedRefund, trade_no: null }],
    ['out_request_no', { ...queriedRefund, out_request_no: undefined }],
    ['out_request_no', { ...queriedRefund, out_request_no: 'x'.repeat(250) }],
    ['refund_amount', { ...queriedRefund, refund_amount: '0.00' }],
    ['refund_amount', { ...queriedRefund, refund_amount: undefined }],
    ['gmt_refund_pay', { ...queriedRefund, gmt_refund_pay: undefined }],
  ] as const)('a refund query’s %s that is not as documented is named: %o', ([field, answer]) =>
    expect(factsOfRefundQuery(answer)).toBe(field),
  )

  test('a refund’s own time counts in whole seconds, and its reason is told', () => {
    for (const gmt_refund_pay of ['2024-05-21 10:00:00', '2024-05-21 10:00:00.987'])
      expect(factsOfRefundQuery({ ...queriedRefund, gmt_refund_pay })).toMatchObject([
        { eventTimeMs: Date.parse('2024-05-21T02:00:00Z'), detail: 'out_request_no R-1; 不想要了' },
      ])
    expect(known(factsOfRefundQuery({ ...queriedRefund, refund_reason: 5 }))[0]?.detail).toBe('out_request_no R-1')
  })

  test.for([
    ['商户订单号', { ...billRow, 商户订单号: '\t' }],
    ['支付宝交易号', { ...billRow, 支付宝交易号: '' }],
    ['订单金额', { ...billRow, '订单金额（元）': '-88.00' }],
    ['订单金额', { ...billRow, '订单金额（元）': '1,088.00' }],
    ['订单金额', { ...billRefund, '订单金额（元）': '10.00' }],
    ['订单金额', { ...billRefund, '订单金额（元）': '-0.00' }],
    ['完成时间', { ...billRow, 完成时间: '' }],
    ['退款批次号/请求号', { ...billRefund, '退款批次号/请求号': 'x'.repeat(250) }],
  ] as const)('a row’s %s that is not as documented is named', ([title, row]) =>
    expect(factsOfBillRow(row)).toBe(title),
  )

  test('a row of another kind states no fact, and the unit may be written either way', () => {
    expect(factsOfBillRow({ ...billRow, 业务类型: '转账' })).toEqual({ outTradeNo: 'T1_2024', facts: [] })
    const { '订单金额（元）': amount, ...others } = billRow
    for (const title of ['订单金额', '订单金额(元)'])
      expect(ofBill({ ...others, [title]: amount })).toEqual(ofBill(billRow))
  })
})

/** Two refunds of one payment, each as a notice, a query and a bill tell it; the last of a payment of `AMOUNT`. */
const yuan = { total_amount: '100.00' }
const first = { refund_fee: '10.00', gmt_refund: '2024-05-21 10:00:00.320', out_biz_no: 'R-1' }
// Alipay takes the next refund of a trade 3 s later at the earliest.
const later = '2024-05-21 10:00:03'
/** @param lateSec how much later query and bill time a refund than its notice does */
function story(second: '30.00' | '100.00', lateSec = 0) {
  const figure = second === '100.00' ? '100.00' : '40.00'
  const at = (sec: number) => `2024-05-21 10:00:0${sec + lateSec}`
  const refundOf = (out_request_no: string, refund_amount: string, gmt_refund_pay: string) =>
    known(factsOfRefundQuery({ ...queriedRefund, ...yuan, out_request_no, refund_amount, gmt_refund_pay }))
  const rowOf = (number: string, amount: string, at: string) =>
    known(ofBill({ ...billRefund, '退款批次号/请求号': number, '订单金额（元）': `-${amount}`, 完成时间: at }))
  const rest = second === '100.00' ? '90.00' : second
  return {
    paid: known(factsOf({ ...payment, ...yuan })),
    notices: [
      known(factsOf({ ...partialRefund, ...yuan, ...first })),
      known(
        factsOf({
          ...partialRefund,
          ...yuan,
          ...(second === '100.00' ? { trade_status: 'TRADE_CLOSED' } : {}),
          refund_fee: figure,
          gmt_refund: later,
          out_biz_no: 'R-2',
        }),
      ),
    ],
    queries: [refundOf('R-1', '10.00', at(0)), refundOf('R-2', rest, `${at(3)}.005`)],
    rows: [rowOf('R-1', '10.00', at(0)), rowOf('R-2', rest, at(3))],
  }
}
const CREATE: Step = { kind: 'create', orderId: 1 }
const played = (facts: readonly Fact[]) => new Shop([1]).play([CREATE, ...facts.map((one) => fact(one))])

/** The money that the events to one topic give back. */
const toldMinor = ({ events }: Shop) =>
  events
    .filter(({ kind, topic }) => topic === SHIPMENT_TOPIC && (kind === 'refund' || kind === 'cancel'))
    .reduce((sum, { amountMinor }) => sum + (amountMinor ?? 0), 0)

describe('refunds in both measures', () => {
  test.for([
    ['in part', '30.00', 4_000, 'paid', 0],
    ['in full', '100.00', AMOUNT, 'refunded', 0],
    ['in part, which query and bill time 2 s later', '30.00', 4_000, 'paid', 2],
    ['in full, which query and bill time 2 s later', '100.00', AMOUNT, 'refunded', 2],
  ] as const)(
    'two refunds %s: one total and no anomaly, in whatever order they become known',
    ([, second, total, status, lateSec]) => {
      const { paid, notices, queries, rows } = story(second, lateSec)
      const messages = [paid, ...notices, ...queries, ...rows]
      fc.assert(
        fc.property(
          fc.shuffledSubarray(messages, { minLength: messages.length }),
          fc.array(fc.constantFrom(...messages), { maxLength: 4 }),
          (once, again) => {
            const shop = played([...once, ...again].flat())
            expect(shop.final(1)).toMatchObject({ order: { status }, anomalies: [], held: [] })
            // What a payment that nobody had heard of was refunded in full is told by no event: nothing was shipped.
            if (status === 'paid' || once[0] === paid) expect(toldMinor(shop)).toBe(total)
            else expect(toldMinor(shop)).toBeLessThanOrEqual(total)
          },
        ),
        { seed, numRuns: 300 },
      )
    },
  )

  test.for([0, 2])('each of its tellings alone gives the same total, also %d s later', (lateSec) => {
    const { paid, notices, queries, rows } = story('30.00', lateSec)
    for (const facts of [notices, queries, rows, notices.slice(1), [...notices.slice(0, 1), ...queries.slice(1)]]) {
      const shop = played([...paid, ...facts.flat()])
      expect(shop.events.filter(({ kind }) => kind === 'refund').at(-1)?.attrs).toBe('{"refundedMinor":4000}')
    }
  })
})
