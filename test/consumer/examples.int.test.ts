import { afterEach, beforeEach, expect, test } from 'vitest'
import { inventoryEffects, TABLES as INVENTORY_TABLES } from '../../examples/inventory/effects.ts'
import { pointsEffects, TABLES as POINTS_TABLES } from '../../examples/points/effects.ts'
import { INVENTORY_TOPIC, POINTS_TOPIC } from '../../src/schemas/topics.ts'
import { anEvent, createDownstream, type Downstream } from '../helpers/consumer.ts'

let downstream: Downstream

beforeEach(async () => {
  downstream = await createDownstream(1)
})
afterEach(() => downstream.drop())
const untilStates = (states: Readonly<Record<string, number>>) => downstream.untilStates(states)
const rowsOf = async (text: string) => (await downstream.database.pool.query<Record<string, unknown>>(text)).rows

test('stock is deducted once and restored once; what is not there is reported, and nothing of its order is deducted', async () => {
  const items = (...of: [string, number][]) => ({
    payload: JSON.stringify({ items: of.map(([sku, quantity]) => ({ sku, quantity })) }),
  })
  await downstream.start(
    {
      topic: INVENTORY_TOPIC,
      effects: inventoryEffects,
      prepare: async (pool) => {
        await pool.query(INVENTORY_TABLES)
        await pool.query(`insert into stock values ('rose', 5), ('vase', 1)`)
      },
    },
    // Different orders have no order among them, and the last vase is whose who comes first.
    { CONCURRENCY: '1' },
  )
  const [first, second, third] = [
    anEvent('first', { kind: 'deduct', ...items(['rose', 2], ['vase', 1]) }),
    anEvent('second', { kind: 'deduct', ...items(['rose', 1], ['vase', 1]) }),
    anEvent('third', { kind: 'deduct', ...items(['rose', 3]) }),
  ]
  await downstream.emit([first, second, third, first, third], INVENTORY_TOPIC)
  await untilStates({ done: 3 })
  expect(await rowsOf('select * from stock order by sku')).toEqual([
    { sku: 'rose', quantity: 0 },
    { sku: 'vase', quantity: 0 },
  ])
  const [report, ...more] = await rowsOf('select id, merchant, body from paidonce_consumer.reports')
  expect(more).toEqual([])
  expect(report).toMatchObject({ id: `fulfillment_failed-${second.eventId}`, merchant: 'shop' })
  expect(JSON.parse(String(report?.['body']))).toMatchObject({
    type: 'fulfillment_failed',
    data: { out_trade_no: 'second', event_id: second.eventId, reason: 'out of stock: vase' },
  })
  const back = anEvent('first', { kind: 'restore', sequence: 2 })
  await downstream.emit([back, back, anEvent('second', { kind: 'restore', sequence: 2 })], INVENTORY_TOPIC)
  await untilStates({ done: 5 })
  expect(await rowsOf('select * from stock order by sku')).toEqual([
    { sku: 'rose', quantity: 2 },
    { sku: 'vase', quantity: 1 },
  ])
})

test('points are granted once and revoked once; an event without an amount is refused', async () => {
  await downstream.start({
    topic: POINTS_TOPIC,
    effects: pointsEffects,
    prepare: (pool) => pool.query(POINTS_TABLES),
  })
  const grant = anEvent('order', { kind: 'grant', amountMinor: 12_345 })
  const revoke = anEvent('order', { kind: 'revoke', sequence: 2 })
  const refund = anEvent('order', { kind: 'refund', sequence: 3 })
  const empty = anEvent('empty', { kind: 'grant', amountMinor: null })
  await downstream.emit([grant, grant, revoke, refund, empty, revoke], POINTS_TOPIC)
  await untilStates({ dead: 1, done: 3 })
  expect(await rowsOf('select event_id, points::int from points_ledger order by points desc')).toEqual([
    { event_id: grant.eventId, points: 123 },
    { event_id: revoke.eventId, points: -123 },
  ])
})
