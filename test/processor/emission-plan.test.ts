import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assertDense, BrokenSequence, CALL_BYTES_MAX, planEmission } from '../../src/processor/emission-plan.ts'
import type { EventRow } from '../../src/store/event-row.ts'

const row = (laneSeq: number, topic = 'fulfillment.shipment.v1', over: Partial<EventRow> = {}): EventRow => ({
  laneSeq,
  topic,
  eventId: '6f1d3a52-9c0e-5b7a-8e44-2d1b7c9a0f36',
  kind: 'ship',
  orderId: 1,
  merchant: 'shop',
  key: 'T1',
  sequence: 1,
  cause: 'payment_succeeded/wechatpay:4200',
  amountMinor: 100,
  currency: 'CNY',
  paymentRef: 'wechatpay:4200',
  occurredAtMs: 1_700_000_000_000,
  receivedAtMs: null,
  attrs: null,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  payload: null,
  ...over,
})
/** The value is the row's number, padded to a size. */
const options = (size: (laneSeq: number) => number = () => 10) => ({
  lane: 3,
  topicPrefix: 'x.',
  source: '/paidonce/app',
  encode: (_: string, value: object) => {
    const { laneSeq } = value as { laneSeq: number }
    return Buffer.alloc(Math.max(size(laneSeq), 8), String(laneSeq).padEnd(8))
  },
})
const numberOf = (message: { value: Buffer }) => Number(message.value.toString('latin1', 0, 8))

test('every row goes once, in order within its topic, to the partition of the lane, in calls below the limit', () =>
  fc.assert(
    fc.property(
      fc.array(fc.record({ topic: fc.constantFrom('a', 'b', 'c'), size: fc.integer({ min: 8, max: 300_000 }) }), {
        maxLength: 60,
      }),
      (given) => {
        const rows = given.map(({ topic }, index) => row(index, topic))
        const plan = planEmission(
          rows,
          options((laneSeq) => given[laneSeq]?.size ?? 8),
        )
        for (const call of plan) {
          expect(call.partition).toBe(3)
          const bytes = call.messages.reduce((sum, message) => sum + message.value.length, 0)
          expect(bytes).toBeLessThanOrEqual(CALL_BYTES_MAX)
        }
        for (const topic of ['a', 'b', 'c']) {
          const sent = plan.filter((call) => call.topic === `x.${topic}`).flatMap((call) => call.messages.map(numberOf))
          expect(sent).toEqual(rows.filter((r) => r.topic === topic).map((r) => r.laneSeq))
        }
      },
    ),
    { numRuns: 50 },
  ))

test('1,000 rows of three topics are three calls', () => {
  const rows = Array.from({ length: 1_000 }, (_, index) => row(index, `t${index % 3}`))
  expect(planEmission(rows, options()).map((call) => call.messages.length)).toEqual([334, 333, 333])
})

test('a row that is larger than a call goes alone', () => {
  const plan = planEmission(
    [row(0), row(1), row(2)],
    options((laneSeq) => (laneSeq === 1 ? 800_000 : 8)),
  )
  expect(plan.map((call) => call.messages.map(numberOf))).toEqual([[0], [1], [2]])
})

test('headers are those of CloudEvents, in the trace that the row kept', () => {
  const [call] = planEmission([row(7)], options())
  expect(call?.messages[0]).toMatchObject({
    key: 'T1',
    headers: {
      ce_specversion: '1.0',
      ce_id: '6f1d3a52-9c0e-5b7a-8e44-2d1b7c9a0f36',
      ce_type: 'paidonce.ship',
      ce_source: '/paidonce/app',
      ce_time: '2023-11-14T22:13:20.000Z',
      ce_subject: 'T1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
  })
})

test.each([
  ['fulfillment.points.v1', ['payload', 'sequence', 'receivedAtMs']],
  ['payments.anomaly.v1', ['attrs', 'cause']],
  ['payments.callback.v1.dlq', ['attrs']],
])('the value of %s has the fields of its schema', (topic, fields) => {
  let value: object = {}
  planEmission([row(7, topic)], {
    ...options(),
    encode: (_, given) => {
      value = given
      return Buffer.alloc(8)
    },
  })
  expect(Object.keys(value)).toEqual(expect.arrayContaining(['eventId', 'lane', 'laneSeq', 'occurredAtMs', ...fields]))
})

describe('rows must be dense from the ledger on', () => {
  test.each([
    ['nothing to emit', [], 5],
    ['from the ledger', [5, 6, 7], 5],
  ])('%s', (_, numbers, ledger) =>
    expect(() =>
      assertDense(
        numbers.map((n) => row(n)),
        ledger,
      ),
    ).not.toThrow(),
  )
  test.each([
    ['a gap at the start', [6, 7], 5],
    ['a gap inside', [5, 7], 5],
    ['an emitted row again', [4, 5], 5],
    ['two of one number', [5, 5], 5],
  ])('%s', (_, numbers, ledger) =>
    expect(() =>
      assertDense(
        numbers.map((n) => row(n)),
        ledger,
      ),
    ).toThrow(BrokenSequence),
  )
})
