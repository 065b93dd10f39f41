import { expect, test } from 'vitest'
import { badField } from '../../../src/schemas/check-callback.ts'
import { toCallback } from '../../../src/providers/to-callback.ts'
import type { BillFinding } from '../../../src/reconcile/bill/finding.ts'
import { forAPerson } from '../../../src/reconcile/bill/settle/for-a-person.ts'

const OF = { provider: 'wechatpay', day: '2026-11-11' }
const AT_MS = Date.parse('2026-11-11T12:00:00+08:00')
const THERE = { amountMinor: 100, currency: 'CNY', status: 'SUCCESS', atMs: AT_MS }
const FINDING: BillFinding = {
  ...{ finding: 'amount_differs', state: 'denied', what: 'payment', outTradeNo: 'A1', ref: 'wechatpay:4200' },
  ...{ paymentRef: null, askRef: null, file: 0, line: 12, detail: 'the same number, another amount' },
  there: THERE,
  here: { amountMinor: 90, currency: 'CNY', status: 'payment_succeeded', atMs: AT_MS + 1 },
}

test('what a person must look at is a fact of its order, without money', () => {
  expect(forAPerson(FINDING, OF)).toEqual({
    ...{ outTradeNo: 'A1', messageType: 'bill amount_differs', messageId: '' },
    facts: [
      {
        ...{ eventType: 'bill_differs', providerRef: 'wechatpay:4200/bill/amount_differs', paymentRef: null },
        ...{ amountMinor: 0, currency: '', amountKind: 'none', eventTimeMs: AT_MS },
        detail:
          "wechatpay's bill of 2026-11-11, line 12: payment amount_differs; there 100 CNY SUCCESS; " +
          'here 90 CNY payment_succeeded; the same number, another amount',
      },
    ],
  })
})

test('the next import has the same fact, whatever the bill and the books say by then', () => {
  const fact = (finding: BillFinding, day = OF.day) => {
    const facts = forAPerson(finding, { ...OF, day })?.facts ?? []
    return facts.map(({ eventType, providerRef, amountMinor, currency, amountKind }) => ({
      ...{ eventType, providerRef, amountMinor, currency, amountKind },
    }))
  }
  const later = { ...FINDING, line: 13, here: null, there: null, detail: 'otherwise' }
  expect(fact(later, '2026-11-12')).toEqual(fact(FINDING))
  expect(fact({ ...FINDING, finding: 'not_there' })).not.toEqual(fact(FINDING))
})

test('whatever a bill has, a lane can keep it, or nothing is said', () => {
  const long = 'x'.repeat(300)
  for (const more of [{ outTradeNo: null }, { ref: null }, { outTradeNo: long }, { ref: long }, { outTradeNo: 'a\0' }])
    expect(forAPerson({ ...FINDING, ...more }, OF)).toBeUndefined()
  for (const detail of ['\0', '\ud800', '😀'.repeat(1_000), `x${'😀'.repeat(1_000)}`])
    for (const atMs of [null, -1, 9e15]) {
      const message = forAPerson({ ...FINDING, detail, there: { ...THERE, atMs }, here: null }, OF)
      if (message === undefined) throw new Error(`nothing is said with ${detail}`)
      const origin = { merchant: 'shop', provider: 'wechatpay', source: 'bill', receivedAtMs: 0 } as const
      const bytes = { rawBody: Buffer.from(''), rawHeaders: {} }
      expect(badField(toCallback(message, { ...origin, ...bytes }))).toBeUndefined()
      expect(message.facts[0].detail.isWellFormed()).toBe(true)
    }
})
