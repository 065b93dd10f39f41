import { afterEach, beforeEach, expect, test } from 'vitest'
import { shipmentEffects, TABLES } from '../../examples/shipment/effects.ts'
import { startCarrier, type Carrier } from '../../examples/carrier/carrier.ts'
import { once } from '../../src/consumer/effect.ts'
import { listUnsettled, sayDidNotHappen, sayHappened } from '../../src/consumer/operate.ts'
import type { Unsettled } from '../../src/consumer/parts.ts'
import { anEvent, createDownstream, type Downstream } from '../helpers/consumer.ts'
import { printedRandom } from '../helpers/seed.ts'
import { until } from '../helpers/until.ts'

let downstream: Downstream
let carrier: Carrier

beforeEach(async () => {
  downstream = await createDownstream()
  carrier = await startCarrier(0, printedRandom('carrier').next)
})
afterEach(async () => {
  await downstream.drop()
  await carrier.close()
})

const TERMS = { callMs: 300, lateMs: 400 }
const start = (terms: Partial<Parameters<typeof shipmentEffects>[0]> = {}, told: Unsettled[] = []) =>
  downstream.start({
    effects: shipmentEffects({ url: carrier.url, ...TERMS, ...terms }),
    prepare: (pool) => pool.query(TABLES),
    onUnsettled: (unsettled) => told.push(unsettled),
  })
const untilStates = (states: Readonly<Record<string, number>>) => downstream.untilStates(states, 30_000)
/** How often the carrier shipped each event. */
const timesShipped = () =>
  [
    ...Map.groupBy(
      carrier.done.filter(({ what }) => what === 'shipments'),
      ({ eventId }) => eventId,
    ).values(),
  ].map((some) => some.length)

test('a carrier that is slow, loses answers, fails after it has shipped and refuses before ships each order once', async () => {
  carrier.behave({ loseAnswers: 0.3, failAfter: 0.2, refuseBefore: 0.2 })
  const events = Array.from({ length: 60 }, (_, n) => anEvent(`order-${n}`))
  await downstream.emit([...events, ...events])
  await start()
  await untilStates({ done: 60 })
  expect(carrier.done).toHaveLength(60)
  expect(timesShipped()).toEqual(Array(60).fill(1))
  const { rows } = await downstream.database.pool.query<{ parcels: string; reports: string }>(
    `select (select count(distinct tracking_no) from parcels) as parcels,
       (select count(*) from paidonce_consumer.reports where id like 'shipment_completed-%') as reports`,
  )
  expect(rows).toEqual([{ parcels: '60', reports: '60' }])
})

test('a carrier that ships long after the call has ended ships once: its "no" is not believed before', async () => {
  carrier.behave({ slowMs: 1_000 })
  await downstream.emit([anEvent('slow')])
  await start({ lateMs: 1_500 })
  await untilStates({ done: 1 })
  await until('nothing is under way at the carrier', () => carrier.inProgress() === 0)
  expect(timesShipped()).toEqual([1])
})

test('the same with a limit that is too short ships twice: the limit is what it rests on', async () => {
  carrier.behave({ slowMs: 3_500 })
  await downstream.emit([anEvent('slow')])
  await start({ lateMs: 0 })
  await until('it was shipped twice', () => carrier.done.length >= 2, 30_000)
})

test('a carrier that takes the fence is believed at once, and its late shipment is refused by itself', async () => {
  carrier.behave({ slowMs: 1_500, fences: true })
  await downstream.emit([anEvent('fenced')])
  await start({ lateMs: 0, takesFence: true })
  await until('the second call is under way', () => carrier.requests() >= 3)
  carrier.behave({ slowMs: 0 })
  await untilStates({ done: 1 })
  await until('nothing is under way at the carrier', () => carrier.inProgress() === 0)
  expect(timesShipped()).toEqual([1])
})

test('a carrier that cannot say leaves the event to a person, who is told; the order waits for the answer', async () => {
  carrier.behave({ loseAnswers: 1, blind: true })
  const [ship, cancel] = [anEvent('blind'), anEvent('blind', { kind: 'cancel', sequence: 2 })]
  await downstream.emit([ship, cancel])
  const told: Unsettled[] = []
  await start({ callMs: 2_000, settleMsMax: 3_000 }, told)
  await untilStates({ unsettled: 1, waiting: 1 })
  await until('somebody is told', () => told.length === 1)
  const consumer = downstream.consumer
  const { pool } = downstream.database
  expect(await listUnsettled(pool, consumer)).toEqual([
    expect.objectContaining({ eventId: ship.eventId, event: ship, reason: expect.stringContaining('503') as string }),
  ])
  const { rows } = await pool.query<{ id: string }>('select id from paidonce_consumer.reports')
  expect(rows).toEqual([{ id: `fulfillment_failed-${ship.eventId}` }])
  expect(await sayDidNotHappen(pool, consumer, 'another')).toBe(false)
  carrier.behave({ loseAnswers: 0, blind: false })
  expect(await sayHappened(pool, consumer, ship.eventId, 'SF1')).toBe(true)
  await untilStates({ done: 2 })
  expect(carrier.done.map(({ what }) => what)).toEqual(['shipments', 'cancellations'])
})

test('a carrier without any limit is never believed when it says no', async () => {
  let calls = 0
  const options = {
    call: () => {
      calls += 1
      return Promise.reject(new Error('hung up'))
    },
    ask: () => Promise.resolve({ kind: 'did_not_happen' } as const),
    ...({ callMs: 50, lateMs: 'never', settleMsMax: 700 } as const),
  }
  await downstream.emit([anEvent('never')])
  await downstream.start({ effects: { ship: once(options) } })
  await untilStates({ unsettled: 1 })
  expect(calls).toBe(1)
})

test('what throws where the outcome is noted is undone and comes to a person, and nothing is called again', async () => {
  let calls = 0
  const told: Unsettled[] = []
  const ship = once({
    call: () => Promise.resolve({ kind: 'happened', reference: String(++calls) }),
    ask: () => Promise.resolve({ kind: 'happened', reference: 'asked' }),
    settled: async (tx, { eventId, outTradeNo }) => {
      await tx.query('insert into parcels values ($1, $2, $2)', [eventId, outTradeNo])
      throw new Error('a bug')
    },
    ...{ callMs: 50, lateMs: 0, settleMsMax: 1_500 },
  })
  await downstream.emit([anEvent('buggy')])
  await downstream.start({
    effects: { ship },
    prepare: (pool) => pool.query(TABLES),
    onUnsettled: (unsettled) => told.push(unsettled),
  })
  await until('somebody is told', () => told.length === 1, 30_000)
  expect(await downstream.states()).toEqual({ unsettled: 1 })
  expect(told[0]?.reason).toBe('a bug')
  expect(calls).toBe(1)
  expect((await downstream.database.pool.query('select from parcels')).rowCount).toBe(0)
})
