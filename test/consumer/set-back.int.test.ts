import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startCarrier, type Carrier } from '../../examples/carrier/carrier.ts'
import { shipmentEffects, TABLES } from '../../examples/shipment/effects.ts'
import { createOffsetReader } from '../../src/runtime/kafka/offset-reader.ts'
import { createLog } from '../../src/runtime/log.ts'
import type { Fulfillment } from '../../src/schemas/fulfillment.ts'
import { SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { anEvent, createDownstream, type Downstream } from '../helpers/consumer.ts'
import { stackEnv } from '../helpers/stack.ts'
import { until } from '../helpers/until.ts'

let downstream: Downstream
let carrier: Carrier

beforeEach(async () => {
  downstream = await createDownstream(1)
  carrier = await startCarrier()
})
afterEach(async () => {
  await downstream.drop()
  await carrier.close()
})

const start = (
  terms: Partial<Parameters<typeof shipmentEffects>[0]> = {},
  more: Readonly<Record<string, string>> = {},
) =>
  downstream.start(
    {
      effects: shipmentEffects({ url: carrier.url, callMs: 500, lateMs: 200, ...terms }),
      prepare: (pool) => pool.query(TABLES),
    },
    more,
  )
const untilStates = (states: Readonly<Record<string, number>>) => downstream.untilStates(states, 30_000)
const shipped = () => carrier.done.map(({ eventId }) => eventId)

/** Ships some orders, and stops. */
async function ship(events: readonly Fulfillment[]) {
  for (const event of events) await downstream.emit([event])
  const one = await start()
  await untilStates({ done: events.length })
  await until('the group’s offset tells', () => groupOffset(events.length))
  await one.stop()
}
/** The warehouse's database, as it was before anything was taken in. */
const restore = () =>
  downstream.database.pool.query(
    `truncate parcels, paidonce_consumer.inbox, paidonce_consumer.reports, paidonce_consumer.positions;
     alter sequence paidonce_consumer.fence restart`,
  )
/** Ships two orders, stops, and brings the warehouse's database back to the time before. */
async function shipAndRestore() {
  const events = [anEvent('a'), anEvent('b')]
  await ship(events)
  await restore()
  return events
}
async function groupOffset(atLeast: number): Promise<boolean> {
  const log = createLog('test', 'silent')
  const reader = await createOffsetReader({ brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false }, log)
  try {
    const topic = downstream.topics.name(SHIPMENT_TOPIC)
    return ((await reader.committed(downstream.consumer, topic, 0))?.offset ?? 0) >= atLeast
  } finally {
    await reader.close()
  }
}

test('a database that is restored from a backup asks about what was shipped since, and ships nothing again', async () => {
  const events = await shipAndRestore()
  const fresh = anEvent('fresh')
  await downstream.emit([fresh])
  await start()
  await untilStates({ done: 3 })
  expect(shipped().toSorted()).toEqual([...events, fresh].map(({ eventId }) => eventId).toSorted())
  // What was noted here is noted again, with the carrier's own reference.
  const { rows } = await downstream.database.pool.query<{ tracking_no: string }>('select tracking_no from parcels')
  expect(rows.map((row) => row.tracking_no).toSorted()).toEqual(
    carrier.done.map(({ reference }) => reference).toSorted(),
  )
})

test('a carrier that takes the fence answers after a restore too: the fences do not fall back', async () => {
  carrier.behave({ fences: true })
  await downstream.emit(Array.from({ length: 5 }, (_, n) => anEvent(`before-${n}`)))
  const one = await start({ takesFence: true })
  await untilStates({ done: 5 })
  await one.stop()
  await until('the group’s offset tells', () => groupOffset(5))
  await downstream.database.pool.query(
    `truncate parcels, paidonce_consumer.inbox, paidonce_consumer.reports, paidonce_consumer.positions;
     alter sequence paidonce_consumer.fence restart`,
  )
  await start({ takesFence: true })
  await untilStates({ done: 5 })
  expect(shipped()).toHaveLength(5)
})

test('what the carrier does not know after a restore is shipped then', async () => {
  const events = await shipAndRestore()
  // It forgets one, as if the process had died between taking it in and the call.
  ;(carrier.done as unknown[]).splice(0, 1)
  await start()
  await untilStates({ done: 2 })
  expect(shipped().toSorted()).toEqual(events.map(({ eventId }) => eventId).toSorted())
})

test('one that joins while a restored lane is read again still knows how far Postgres once was', async () => {
  // More than one fetch brings.
  const payload = JSON.stringify({ items: [], note: randomBytes(28_000).toString('hex') })
  const events = Array.from({ length: 24 }, (_, n) => anEvent(`large-${n}`, { payload }))
  await ship(events)
  await restore()
  // It takes in what the first fetch brings and, as that is not settled, no more.
  carrier.behave({ blind: true })
  const before = carrier.requests()
  const one = await start({}, { OPEN_MAX: '1' })
  await until('it asks', () => carrier.requests() > before + 1, 30_000)
  const { asking = 0, ...others } = await downstream.states()
  expect(others).toEqual({})
  expect(asking).toBeLessThan(events.length)
  await one.stop()
  carrier.behave({ blind: false })
  await start()
  await untilStates({ done: events.length })
  expect(shipped().toSorted()).toEqual(events.map(({ eventId }) => eventId).toSorted())
})

test('what a standby knew of, but not that it was called for, is asked about before it is called for', async () => {
  const [a, b] = [anEvent('a'), anEvent('b')]
  await ship([a, b])
  const { pool } = downstream.database
  await restore()
  await pool.query(
    `insert into paidonce_consumer.inbox (consumer, lane, event_id, order_key, record_offset, event)
     values ($1, 0, $2, 'shop/a', 0, $3)`,
    [downstream.consumer, a.eventId, JSON.stringify(a)],
  )
  await pool.query(
    'insert into paidonce_consumer.positions (consumer, topic, lane, next_offset) values ($1, $2, 0, 1)',
    [downstream.consumer, downstream.topics.name(SHIPMENT_TOPIC)],
  )
  await start()
  await untilStates({ done: 2 })
  expect(shipped().toSorted()).toEqual([a, b].map(({ eventId }) => eventId).toSorted())
})

test('a question that a standby knew of waits as long as for a call that it does not know of', async () => {
  const a = anEvent('a')
  await ship([a, anEvent('b')])
  const { pool } = downstream.database
  await restore()
  await pool.query(
    `insert into paidonce_consumer.inbox
       (consumer, lane, event_id, order_key, record_offset, event, state, fence, called_at)
     values ($1, 0, $2, 'shop/a', 0, $3, 'asking', 1, clock_timestamp() - interval '1 hour')`,
    [downstream.consumer, a.eventId, JSON.stringify(a)],
  )
  await pool.query(
    'insert into paidonce_consumer.positions (consumer, topic, lane, next_offset) values ($1, $2, 0, 1)',
    [downstream.consumer, downstream.topics.name(SHIPMENT_TOPIC)],
  )
  carrier.behave({ blind: true })
  const before = carrier.requests()
  await start()
  await until('it asks', () => carrier.requests() > before + 1, 30_000)
  const { rows } = await pool.query<{ ms: number; fence: string; state: string }>(
    `select state, fence, extract(epoch from clock_timestamp() - called_at)::float8 * 1000 as ms
     from paidonce_consumer.inbox where event_id = $1`,
    [a.eventId],
  )
  expect(rows[0]?.state).toBe('asking')
  expect(rows[0]?.ms).toBeLessThan(60_000)
  expect(Number(rows[0]?.fence)).toBeGreaterThan(1_600_000_000_000)
})
