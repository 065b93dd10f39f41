import { expect, test } from 'vitest'
import { parseOrder } from '../../src/api/order-body.ts'
import { AMOUNT_MINOR_MAX } from '../../src/orders/limits.ts'

const VALID = {
  merchant: 'acme',
  out_trade_no: '20261111-0001',
  amount_minor: 1_999,
  currency: 'CNY',
  expires_at: '2026-11-11T12:30:00+08:00',
}
const refusalOf = (value: unknown) => {
  const parsed = parseOrder(value)
  return parsed.kind === 'refused' ? `${parsed.refusal.field ?? ''} | ${parsed.refusal.detail}` : 'accepted'
}

test('a valid order, with and without what may be left out', () => {
  expect(parseOrder(VALID)).toEqual({
    kind: 'order',
    order: {
      merchant: 'acme',
      outTradeNo: '20261111-0001',
      amountMinor: 1_999,
      currency: 'CNY',
      expiresAtMs: Date.UTC(2026, 10, 11, 4, 30),
      groupKey: null,
      payload: null,
    },
  })
  expect(parseOrder({ ...VALID, group: 'cart-7', payload: { raw: '{"sku":1}' } })).toMatchObject({
    order: { groupKey: 'cart-7', payload: '{"sku":1}' },
  })
  expect(parseOrder({ ...VALID, group: null, payload: null })).toEqual(parseOrder(VALID))
})

test.each([
  [{ merchant: undefined }, 'merchant | merchant is missing.'],
  [{ merchant: '-x' }, /^merchant \| merchant must be 1 to 64 of a-z/],
  [{ merchant: 'Acme' }, /^merchant \|/],
  [{ merchant: 'a/b' }, /^merchant \|/],
  [{ out_trade_no: 12 }, 'out_trade_no | out_trade_no must be a string.'],
  [{ out_trade_no: '' }, /^out_trade_no \|/],
  [{ out_trade_no: 'x'.repeat(65) }, /^out_trade_no \|/],
  [{ out_trade_no: 'a\u0000' }, /^out_trade_no \|/],
  [{ out_trade_no: 'a\r' }, /^out_trade_no \|/],
  [{ out_trade_no: 'a b' }, /^out_trade_no \|/],
  [{ out_trade_no: '订单' }, /^out_trade_no \|/],
  [{ out_trade_no: '..' }, /^out_trade_no \|/],
  [{ amount_minor: undefined }, 'amount_minor | amount_minor is missing.'],
  [{ amount_minor: '1999' }, /^amount_minor \| amount_minor must be an integer in minor units/],
  [{ amount_minor: NaN }, /^amount_minor \| amount_minor must be an integer in minor units/],
  [{ expires_at: NaN }, /^expires_at \|/],
  [{ payload: NaN }, /^payload \|/],
  [{ group: NaN }, /^group \|/],
  [{ amount_minor: 0 }, 'amount_minor | amount_minor must be at least 1.'],
  [{ amount_minor: -1 }, /^amount_minor \|/],
  [{ amount_minor: 2 ** 53 - 1 }, 'amount_minor | amount_minor must be at most 9007199254740990.'],
  [{ amount_minor: 2 ** 53 }, /^amount_minor \|/],
  [{ currency: 'cny' }, /^currency \|/],
  [{ currency: 'RMB' }, /^currency \| .*yuan is CNY/],
  [{ expires_at: '2026-11-11T12:30:00' }, /^expires_at \| .*offset/],
  [{ expires_at: '2026-02-30T00:00:00Z' }, /^expires_at \|/],
  [{ expires_at: 1_792_000_000 }, /^expires_at \|/],
  [{ expires_at: '1970-01-21T00:00:00Z' }, /^expires_at \| .*between 2000/],
  [{ group: '' }, /^group \|/],
  [{ group: '中'.repeat(86) }, /^group \|/],
  [{ payload: 5 }, /^payload \| payload must be a string, an object or an array/],
  [{ payload: '中'.repeat(2_731) }, /^payload \| payload must be at most 8192 bytes/],
  [{ payload: 'a\u0000b' }, /^payload \|/],
  [{ payload: '\ud800' }, /^payload \|/],
  [{ status: 'paid' }, 'status | status is no field of this body.'],
])('%j is refused', (change, expected) => {
  expect(refusalOf({ ...VALID, ...change })).toMatch(expected)
})

test.each([[null], [[]], ['x'], [1], [NaN]])('%j is no order', (value) => {
  expect(refusalOf(value)).toBe(' | An object is expected.')
})

test('the limits themselves are accepted', () => {
  expect(refusalOf({ ...VALID, out_trade_no: '|*@_-!~'.padEnd(64, 'x') })).toBe('accepted')
  expect(refusalOf({ ...VALID, amount_minor: AMOUNT_MINOR_MAX })).toBe('accepted')
  expect(refusalOf({ ...VALID, payload: 'x'.repeat(8_192), group: 'g'.repeat(256) })).toBe('accepted')
})
