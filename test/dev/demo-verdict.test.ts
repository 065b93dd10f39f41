import { expect, test } from 'vitest'
import { problemsOf } from '../../dev/demo/problems.ts'
import { judge, type SeenEvent } from '../../dev/demo/verdict.ts'
import { INVENTORY_TOPIC, POINTS_TOPIC, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'

const order = (outTradeNo: string) => ({ merchant: 'shop', outTradeNo })
const event = (topic: string, kind: string, outTradeNo: string): SeenEvent => ({
  ...{ topic, kind, ...order(outTradeNo) },
  ...{ eventId: `${kind} ${outTradeNo}`, receivedAtMs: null },
})
const eventsOf = (outTradeNo: string) => [
  event(SHIPMENT_TOPIC, 'ship', outTradeNo),
  event(INVENTORY_TOPIC, 'deduct', outTradeNo),
  event(POINTS_TOPIC, 'grant', outTradeNo),
]
const expected = {
  ...{ paid: [order('A'), order('B')], uncertain: [order('U')], unpaid: [order('N')] },
  ...{ orders: [], wronglyAccepted: [], genuineRefused: [] },
}
const done = (orders: number) => ({
  ...{ shipments: orders, shipped: orders, stockDeducted: orders, pointsGranted: orders },
  ...{ reportsAccepted: 3 * orders, unsettled: 0 },
})
const run = (workers: ReturnType<typeof done>) => ({
  ...{ expected, workers, takeovers: 1 },
  killedLanes: [{ lane: 0, end: 9, lag: 1, nextSeq: 2, ledger: 1 }],
})
const seen = [...eventsOf('A'), ...eventsOf('B')]

test('a run in which every paid order was shipped once is without fault', () => {
  expect(problemsOf(run(done(2)), judge(expected, seen))).toEqual([])
})

test.each([1, 3])('fewer or more orders shipped than paid is a fault: %i of 2', (shipped) => {
  const workers = { ...done(2), shipments: shipped, shipped }
  expect(problemsOf(run(workers), judge(expected, seen))).toEqual([
    `the carrier has shipped ${shipped} orders, 2 are paid`,
  ])
})

test('an order that no sender heard a success for, and that was paid all the same, is one of the paid', () => {
  const verdict = judge(expected, [...seen, ...eventsOf('U')])
  expect(verdict).toMatchObject({ paid: 3, lost: [], phantom: [] })
  expect(problemsOf(run(done(3)), verdict)).toEqual([])
  expect(problemsOf(run(done(2)), verdict)).toContain('the carrier has shipped 2 orders, 3 are paid')
})

test('of an order that was perhaps paid either all events are there or none', () => {
  const verdict = judge(expected, [...seen, event(SHIPMENT_TOPIC, 'ship', 'U')])
  expect(verdict.lost).toEqual([`${INVENTORY_TOPIC} deduct shop/U`, `${POINTS_TOPIC} grant shop/U`])
})

test('a parcel too many, an event twice, an event of an order that is not paid', () => {
  expect(problemsOf(run({ ...done(2), shipments: 3 }), judge(expected, seen))).toEqual([
    'the carrier has shipped 3 parcels for 2 orders',
  ])
  const wrong = judge(expected, [...seen, event(SHIPMENT_TOPIC, 'ship', 'A'), event(SHIPMENT_TOPIC, 'ship', 'N')])
  expect(problemsOf(run(done(2)), wrong)).toEqual([
    `duplicated: ${SHIPMENT_TOPIC} ship shop/A`,
    `event of an order that was not rightly paid: ${SHIPMENT_TOPIC} ship shop/N`,
  ])
})

test('a run in which nobody was killed where it matters shows nothing', () => {
  const verdict = judge(expected, seen)
  expect(problemsOf({ ...run(done(2)), killedLanes: [], takeovers: 0 }, verdict)).toHaveLength(2)
})
