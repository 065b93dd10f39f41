import { expect, test } from 'vitest'
import type { VerifiedMessage } from '../../../src/providers/provider.ts'
import { factKeys } from '../../../src/gateway/filter/fact-keys.ts'
import type { Fact } from '../../../src/orders/model.ts'

const FACT: Fact = {
  ...{ eventType: 'refund_succeeded', providerRef: 'wechatpay:5030', paymentRef: 'wechatpay:4200' },
  ...{ amountMinor: 100, currency: 'CNY', amountKind: 'individual', eventTimeMs: 1, detail: 'a' },
}
const TARGET = { merchant: 'shop', source: 'callback' } as const
const message = (facts: readonly Fact[] = [FACT], outTradeNo: string | null = 'T1'): VerifiedMessage => ({
  ...{ outTradeNo, messageType: 'REFUND.SUCCESS', messageId: 'EV-1', facts },
})
const keysOf = (messages: readonly VerifiedMessage[], target: Parameters<typeof factKeys>[1] = TARGET, scope = 's') =>
  factKeys(scope, target, messages)

test('a repeat has the key of the first, whatever its message, time and words', () => {
  const first = keysOf([message()])
  expect(first).toEqual([expect.stringMatching(/^pay_idempotent:\{[\w-]{43}\}$/)])
  expect(keysOf([{ ...message([{ ...FACT, eventTimeMs: 2, detail: 'b' }]), messageId: 'EV-2' }])).toEqual(first)
})

test.each<[string, Partial<Fact>]>([
  ['amount', { amountMinor: 101 }],
  ['currency', { currency: 'USD' }],
  ['kind of amount', { amountKind: 'cumulative' }],
  ['event type', { eventType: 'refund_failed' }],
  ['reference', { providerRef: 'wechatpay:5031' }],
])('another %s is another key', (_what, change) => {
  expect(keysOf([message([{ ...FACT, ...change }])])).not.toEqual(keysOf([message()]))
})

test('another merchant, order or scope is another key', () => {
  const keys = [
    keysOf([message()]),
    keysOf([message()], { ...TARGET, merchant: 'shop2' }),
    keysOf([message([FACT], 'T2')]),
    keysOf([message()], TARGET, 's2'),
  ]
  expect(new Set(keys.map(String)).size).toBe(4)
})

test('a callback of several facts has the keys of all', () => {
  const other = { ...FACT, providerRef: 'wechatpay:5031' }
  expect(keysOf([message([FACT, other]), message([FACT], 'T2')])).toEqual([
    ...(keysOf([message()]) ?? []),
    ...(keysOf([message([other])]) ?? []),
    ...(keysOf([message([FACT], 'T2')]) ?? []),
  ])
})

test('what has no fact, no order, or comes from a worker has no keys: it goes through', () => {
  expect(keysOf([message([])])).toBeUndefined()
  expect(keysOf([message(), { ...message([]), instead: { kind: 'hint', ref: 'refund:R1' } }])).toBeUndefined()
  expect(keysOf([message([FACT], null)])).toBeUndefined()
  expect(keysOf([message()], { merchant: 'shop', source: 'worker' })).toBeUndefined()
})
