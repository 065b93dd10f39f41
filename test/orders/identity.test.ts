import fc from 'fast-check'
import { v5 } from 'uuid'
import { expect, test } from 'vitest'
import { eventId } from '../../src/orders/identity.ts'
import { printedRandom } from '../helpers/seed.ts'

const { seed } = printedRandom('identity')
const NAMESPACE = '6f1d3a52-9c0e-5b7a-8e44-2d1b7c9a0f36'

test('an event id never changes', () => {
  const id = eventId('shop', 'A-1', 'payment_succeeded/wechatpay:42', 'ship', 'fulfillment.shipment.v1')
  expect(id).toBe('c27dac5c-00ee-5fda-aa88-b6df40ed50db')
})

test('it is the UUIDv5 that the uuid package makes of the length-prefixed parts, whatever their length', () => {
  const part = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.string({ minLength: 3_000, maxLength: 9_000 }),
  )
  fc.assert(
    fc.property(part, part, part, part, part, (...parts) => {
      const name = parts.map((one) => `${Buffer.byteLength(one)}:${one}`).join('')
      expect(eventId(...parts)).toBe(v5(name, NAMESPACE))
    }),
    { numRuns: 300, seed },
  )
})

test('parts cannot run into one another', () => {
  expect(eventId('a', 'bc', 'd', 'e', 'f')).not.toBe(eventId('ab', 'c', 'd', 'e', 'f'))
})
