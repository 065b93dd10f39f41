import { afterEach, beforeEach, expect, test } from 'vitest'
import { startCarrier, type Carrier } from '../../examples/carrier/carrier.ts'
import { shipmentEffects, TABLES } from '../../examples/shipment/effects.ts'
import type { RunningConsumer } from '../../src/consumer/start.ts'
import { createOffsetReader } from '../../src/runtime/kafka/offset-reader.ts'
import { createLog } from '../../src/runtime/log.ts'
import { SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { anEvent, createDownstream, type Downstream } from '../helpers/consumer.ts'
import { stackEnv } from '../helpers/stack.ts'
import { until } from '../helpers/until.ts'

let downstream: Downstream
let carrier: Carrier
let running: RunningConsumer[]

beforeEach(async () => {
  running = []
  downstream = await createDownstream(1)
  carrier = await startCarrier()
})
afterEach(async () => {
  await Promise.all(running.map((one) => one.stop()))
  await carrier.close()
  await downstream.drop()
})

const start = async (terms: Partial<Parameters<typeof shipmentEffects>[0]> = {}) => {
  const one = await downstream.start({
    effects: shipmentEffects({ url: carrier.url, callMs: 500, lateMs: 200, ...terms }),
    prepare: (pool) => pool.query(TABLES),
  })
  running.push(one)
  return one
}
const untilStates = (states: Record<string, number>) =>
  until(
    `the inbox has ${JSON.stringify(states)}`,
    async () => {
      expect(await downstream.states()).toEqual(states)
      return true
    },
    30_000,
  )
const shipped = () => carrier.done.map(({ eventId }) => eventId)

/** Ships two orders, stops, and brings the warehouse's database back to the time before. */
async function shipAndRestore(terms: Parameters<typeof start>[0] = {}) {
  const events = [anEvent('a'), anEvent('b')]
  await downstream.emit(events)
  const one = await start(terms)
  await untilStates({ done: 2 })
  await until('the group’s offset tells', () => groupOffset(2))
  await one.stop()
  await downstream.database.pool.query(
    `truncate parcels, paidonce_consumer.inbox, paidonce_consumer.reports, paidonce_consumer.positions;
     alter sequence paidonce_consumer.fence restart`,
  )
  return events
}
async function groupOffset(atLeast: number): Promise<boolean> {
  const log = createLog('test', 'silent')
  const reader = await createOffsetReader({ brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false }, log)
  try {
    const topic = downstream.topics.name(SHIPMENT_TOPIC)
    return ((await reader.committed(`${downstream.topics.appId}-c`, topic, 0))?.offset ?? 0) >= atLeast
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
  running = []
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
