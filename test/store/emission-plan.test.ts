import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assertDense, BrokenSequence, planEmission } from '../../src/store/emission-plan.ts'
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
/** The value is the row's number. */
const options = {
  lane: 3,
  topicPrefix: 'x.',
  source: '/paidonce/app',
  encode: (_: string, value: object) => Buffer.from(String((value as { laneSeq: number }).laneSeq)),
}

test('every row goes once, in order within its topic, to the partition of the lane', () =>
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 60 }), (topics) => {
      const rows = topics.map((topic, index) => row(index, topic))
      const plan = planEmission(rows, options)
      expect(plan.map((entry) => entry.partition)).toEqual(plan.map(() => 3))
      for (const topic of new Set(topics)) {
        const sent = plan.filter((entry) => entry.topic === `x.${topic}`).flatMap((entry) => entry.messages)
        expect(sent.map(({ value }) => Number(value.toString()))).toEqual(
          rows.filter((r) => r.topic === topic).map((r) => r.laneSeq),
        )
      }
    }),
  ))

test('headers are those of CloudEvents, in the trace that the row kept', () => {
  const [call] = planEmission([row(7)], options)
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
    ...options,
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
