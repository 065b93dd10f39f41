import { expect, test } from 'vitest'
import { cloudEventHeaders, continueTrace, parseTraceparent } from '../../src/schemas/headers.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const VALID = `00-${TRACE}-00f067aa0ba902b7-01`

test('CloudEvents headers', () => {
  expect(
    cloudEventHeaders({
      ...{ id: 'e-1', type: 'paidonce.ship', source: '/paidonce/lane/3', subject: '订单1' },
      ...{ timeMs: Date.parse('2026-01-02T03:04:05.678Z'), traceparent: VALID },
    }),
  ).toEqual({
    ...{ ce_specversion: '1.0', ce_id: 'e-1', ce_type: 'paidonce.ship', ce_source: '/paidonce/lane/3' },
    ...{ ce_time: '2026-01-02T03:04:05.678Z', ce_subject: '订单1', traceparent: VALID },
  })
})

test('a valid traceparent is continued with a span of our own', () => {
  expect(continueTrace(VALID)).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`))
  expect(continueTrace(VALID)).not.toBe(continueTrace(VALID))
  expect(continueTrace(`cc-${TRACE}-00f067aa0ba902b7-03-what-the-future-will-be`)).toMatch(
    new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`),
  )
})

test.each([
  undefined,
  '',
  'x',
  VALID.toUpperCase(),
  `ff-${TRACE}-00f067aa0ba902b7-01`,
  `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `${VALID}-more`,
  `${VALID} `,
  ` ${VALID}`,
  `${VALID},${VALID}`,
  `01-${TRACE}-00f067aa0ba902b7-01-${'x'.repeat(300)}`,
  `00-${TRACE}-00f067aa0ba902b7-0`,
])('%j is no traceparent: a new trace begins, unsampled', (text) => {
  expect(parseTraceparent(text)).toBeUndefined()
  expect(continueTrace(text)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
})

test('new ids do not repeat', () => {
  const ids = Array.from({ length: 10_000 }, () => continueTrace(undefined))
  expect(new Set(ids).size).toBe(ids.length)
})
