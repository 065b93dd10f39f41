import { expect, test } from 'vitest'
import { daysOfFact, chinaDayOf, chinaDayStart } from '../../../src/reconcile/bill/china-day.ts'
import { judgeOrder } from '../../../src/reconcile/bill/judge-order.ts'
import type { KnownFact, KnownOrder } from '../../../src/store/bill-known.ts'
import type { BilledRow } from '../../../src/store/bill-rows.ts'

const T0 = chinaDayStart('2026-11-11')
const order = (...facts: readonly KnownFact[]): KnownOrder => ({
  ...{ status: 'paid', place: 'orders', facts, fingerprints: new Set() },
})
const fact = (over: Partial<KnownFact>): KnownFact => ({
  ...{ eventType: 'refund_succeeded', providerRef: 'alipay:T/refund/R1', paymentRef: 'alipay:T', amountMinor: 10 },
  ...{ currency: 'CNY', amountKind: 'individual', eventTimeMs: T0, outcome: 'applied' },
  ...over,
})
/** What was refunded so far, as Alipay's notices say it. */
const soFar = (amountMinor: number, afterSec: number) =>
  fact({
    ...{ providerRef: `alipay:T/refunded/${amountMinor}`, amountKind: 'cumulative', amountMinor },
    eventTimeMs: T0 + afterSec * 1_000,
  })
const row = (request: string, amountMinor: number, afterSec: number): BilledRow => ({
  ...{
    file: 0,
    line: afterSec,
    what: 'refund',
    outTradeNo: 'A',
    ref: `alipay:T/refund/${request}`,
    paymentRef: 'alipay:T',
  },
  ...{ amountMinor, currency: 'CNY', atMs: T0 + afterSec * 1_000, status: '退款', askRef: `refund:${request}` },
})
const judged = (rows: readonly BilledRow[], known: KnownOrder | undefined) =>
  judgeOrder(rows, known).map(({ finding, ref, detail }) => [finding, ref?.split('/')[2], detail])

test('a refund of Alipay is known by its number, or if what was refunded so far has it', () => {
  expect(judged([row('R1', 10, 5)], order(fact({})))).toEqual([])
  expect(judged([row('R1', 10, 5)], order(soFar(10, 6)))).toEqual([])
  expect(judged([row('R1', 10, 5), row('R2', 20, 60)], order(soFar(10, 6), soFar(30, 61)))).toEqual([])
  expect(judged([row('R1', 10, 5), row('R2', 20, 60)], order(soFar(30, 61)))).toEqual([])
  // The second notice was lost; the figure of the first is in the books.
  expect(judged([row('R1', 10, 5), row('R2', 20, 60)], order(soFar(10, 6)))).toEqual([
    ['missing_here', 'R2', 'its order is paid'],
  ])
  expect(judged([row('R1', 10, 5)], order())).toEqual([['missing_here', 'R1', 'its order is paid']])
  expect(judged([row('R1', 10, 5)], undefined)).toEqual([['missing_here', 'R1', 'no such order is known here']])
})

test('of a figure that has a part of it, what is lacking is named', () => {
  expect(judged([row('R1', 20, 5), row('R2', 20, 60)], order(soFar(30, 61)))).toEqual([
    ['missing_here', 'R2', 'its order is paid; 10 of it are not in what was refunded here'],
  ])
})

test('the same refund with another amount, twice, and another refund of another payment', () => {
  const kinds = (rows: readonly BilledRow[], known: KnownOrder) => judged(rows, known).map(([kind]) => kind)
  expect(kinds([row('R1', 11, 5)], order(fact({})))).toEqual(['amount_differs'])
  expect(kinds([row('R1', 10, 5), row('R1', 10, 5)], order(fact({})))).toEqual(['twice_there'])
  const ofAnother = fact({ paymentRef: 'alipay:U', providerRef: 'alipay:U/refund/R1' })
  expect(kinds([row('R1', 10, 5)], order(ofAnother))).toEqual(['missing_here'])
})

test('the days in whose bills a fact may stand', () => {
  const days = (time: string, back = 0) => daysOfFact(Date.parse(`2026-11-11T${time}+08:00`), back)
  expect(days('12:00:00')).toEqual(['2026-11-11'])
  expect(days('23:50:00')).toEqual(['2026-11-11', '2026-11-12'])
  expect(days('23:49:59')).toEqual(['2026-11-11'])
  expect(days('00:09:59')).toEqual(['2026-11-10', '2026-11-11'])
  expect(days('00:10:00')).toEqual(['2026-11-11'])
  expect(days('12:00:00', 2)).toEqual(['2026-11-09', '2026-11-10', '2026-11-11'])
  expect(chinaDayOf(T0 - 1)).toBe('2026-11-10')
  expect(() => chinaDayStart('2026-02-30')).toThrow(RangeError)
})
