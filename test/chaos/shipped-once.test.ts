import avro from 'avsc'
import { expect, test } from 'vitest'
import { shippedOnce, type InboxRow, type Parcel } from '../../chaos/system/shipped-once.ts'

const SCHEMA = {
  ...{ type: 'record', name: 'E' },
  fields: ['eventId', 'kind', 'merchant', 'outTradeNo'].map((name) => ({ name, type: 'string' })),
} as const
const type = avro.Type.forSchema(SCHEMA as unknown as avro.Schema)
const event = (eventId: string, kind: string, outTradeNo: string, topic = 'x.fulfillment.shipment.v1') => ({
  ...{ topic, partition: 0, offset: 0, timestamp: 0, key: outTradeNo, headers: {} },
  value: Buffer.concat([
    Buffer.from([0, 0, 0, 0, 1]),
    type.toBuffer({ eventId, kind, merchant: 'm', outTradeNo }),
  ]).toString('base64'),
})
const about = { appId: 'x', topicPrefix: 'x.', partitions: 1, limits: {} as never }
const judge = (output: ReturnType<typeof event>[], done: Parcel[], inbox: InboxRow[] = []) =>
  shippedOnce({ about, schemas: { 1: SCHEMA }, output } as never, { done, inbox })
const parcel = (eventId: string, what = 'shipments', reference = `SF-${eventId}`) => ({ what, eventId, reference })
const row = (eventId: string, state: string) => ({ eventId, state, reason: null, reference: null })

const asked = [event('1', 'ship', 'A'), event('2', 'cancel', 'A'), event('3', 'return', 'A'), event('4', 'ship', 'B')]
const done = [parcel('1'), parcel('2', 'cancellations'), parcel('4')]

test('each event that asks the carrier for something has been done once: nothing to report', () => {
  expect(judge(asked, done)).toMatchObject({ examined: 6, violated: {}, excused: {} })
})

test('a parcel too many is reported, whether the same event or another of its order asked for it', () => {
  expect(judge(asked, [...done, parcel('4')]).violated).toEqual({ done_twice: 1 })
  expect(judge([...asked, event('5', 'ship', 'B')], [...done, parcel('5')]).violated).toEqual({ done_twice: 1 })
})

test('a parcel for which no visible event asks is reported', () => {
  expect(judge(asked, [...done, parcel('9')]).violated).toEqual({ done_unasked: 1 })
  expect(judge(asked, [...done, parcel('2')]).violated).toEqual({ done_unasked: 1 })
  const elsewhere = event('6', 'ship', 'C', 'x.fulfillment.points.v1')
  expect(judge([...asked, elsewhere], [...done, parcel('6')]).violated).toEqual({ done_unasked: 1 })
})

test('an event that was not done is reported, unless the worker says that a person must decide', () => {
  const rest = done.slice(0, 2)
  expect(judge(asked, rest, [row('4', 'done')]).violated).toEqual({ not_done: 1 })
  expect(judge(asked, rest).violated).toEqual({ not_done: 1 })
  expect(judge(asked, rest, [row('4', 'unsettled')])).toMatchObject({ violated: {}, excused: { left_to_a_person: 1 } })
})
