import type pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

/**
 * kafkajs fetches from a broker again when all batches of the last fetch are done, so a lane that waits inside its call
 * makes every lane wait.
 */
let installation: Installation
let processor: RunningProcessor
let foreign: pg.PoolClient

beforeEach(async () => {
  installation = await createInstallation({ partitions: 2 })
  foreign = await installation.database.pool.connect()
  processor = await startTestProcessor(installation)
  await untilSettled([processor], 2)
})
afterEach(async () => {
  await processor.stop()
  foreign.release()
  await installation.drop()
})

const ofLane = (lane: number, name: string, count: number) =>
  Array.from({ length: 100 }, (_, index) => `${name}${index}`)
    .filter((order) => installation.laneOf(order) === lane)
    .slice(0, count)
const ledgerOf = (lane: number) => processor.lanes().find((view) => view.lane === lane)?.ledger

const untilLaneWaitsForLock = (lane: number) =>
  until('the lane waits for the foreign lock', async () => {
    const { rows } = await installation.database.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
         and starts_with(application_name, $1)`,
      [`${installation.topics.appId}-lane-${lane}-`],
    )
    return rows.length > 0
  })

/** One callback after the other, each emitted before the next is sent. @returns the longest time, in milliseconds */
async function slowestOf(orders: readonly string[]): Promise<number> {
  let slowestMs = 0
  for (const [index, order] of orders.entries()) {
    const startedMs = performance.now()
    await installation.send([payment(order)])
    await until('its events are emitted', () => ledgerOf(1) === 3 * (index + 1))
    slowestMs = Math.max(slowestMs, performance.now() - startedMs)
  }
  return slowestMs
}

/** While lane 0 waits for what the foreign transaction holds, lane 1's events become visible; then lane 0 catches up. */
async function expectOnlyLane0Waits(waiting: readonly string[], orders: readonly string[]) {
  expect(await slowestOf(orders)).toBeLessThan(2_000)
  const events = await readEvents(installation.topics, { atLeast: 3 * orders.length })
  expect(checkExactlyOnce(orders, events)).toEqual(nothingWrong(orders))
  expect(ledgerOf(0) ?? 0).toBe(0)
  await foreign.query('rollback')
  await until('the lane that waited has caught up', () => ledgerOf(0) === 3 * waiting.length, 30_000)
  const all = [...waiting, ...orders]
  expect(checkExactlyOnce(all, await readEvents(installation.topics, { atLeast: 3 * all.length }))).toEqual(
    nothingWrong(all),
  )
}

test('a lane whose order is locked by somebody else does not hold up another lane', async () => {
  const [waiting, orders] = [ofLane(0, 'W', 2), ofLane(1, 'F', 5)]
  await installation.createOrders([...waiting, ...orders])
  await foreign.query('begin')
  await foreign.query('select from orders where out_trade_no = $1 for update', [waiting[0]])
  await installation.send(waiting.map((order) => payment(order)))
  await untilLaneWaitsForLock(0)
  await expectOnlyLane0Waits(waiting, orders)
})

test('nor does a lane whose fence waits', async () => {
  const [waiting, orders] = [ofLane(0, 'W', 2), ofLane(1, 'F', 5)]
  await installation.createOrders([...waiting, ...orders])
  await foreign.query('begin')
  await foreign.query('select from lanes where lane = 0 for update')
  await installation.database.pool.query(
    'select pg_terminate_backend(pid, 5000) from pg_stat_activity where starts_with(application_name, $1)',
    [`${installation.topics.appId}-lane-0-`],
  )
  await untilLaneWaitsForLock(0)
  await installation.send(waiting.map((order) => payment(order)))
  await expectOnlyLane0Waits(waiting, orders)
})
