import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { TABLES as INVENTORY } from '../../../examples/inventory/effects.ts'
import { CRASH_POINTS } from '../../../src/consumer/crash-points.ts'
import type { Fulfillment } from '../../../src/schemas/fulfillment.ts'
import { INVENTORY_TOPIC, POINTS_TOPIC } from '../../../src/schemas/topics.ts'
import { anEvent, createDownstream, type Downstream } from '../../helpers/consumer.ts'
import { withFakeGateway } from '../../helpers/fake-gateway.ts'
import { createMerchant, type TestMerchant } from '../../helpers/merchant.ts'
import { until } from '../../helpers/until.ts'
import { createWorkerKeys, createWorkers, untilRuns, type Workers } from '../../helpers/workers.ts'

const SESSION_MS = 3_000
/** All that workers with effects in their own books pass. */
const POINTS_PASSED = CRASH_POINTS.filter((point) => /^(take_in|inbox|report)_/.test(point))

let merchant: TestMerchant
let keys: ReturnType<typeof createWorkerKeys>
let downstream: Downstream
let workers: Workers

beforeAll(() => {
  merchant = createMerchant('shop')
  keys = createWorkerKeys(merchant)
})
afterAll(() => {
  merchant.remove()
  keys.remove()
})
beforeEach(async () => {
  downstream = await createDownstream(1)
  // One event after another.
  const own = { CONCURRENCY: '1', SESSION_TIMEOUT_MS: String(SESSION_MS) }
  workers = createWorkers('books-child.ts', (more) => downstream.env({ ...own, ...more }))
})
afterEach(async () => {
  await workers.killAll()
  await downstream.drop()
})

const untilDone = (count: number) => downstream.untilDone(count)
const rowsOf = async (text: string) => (await downstream.database.pool.query<Record<string, unknown>>(text)).rows

const items = (...of: readonly [string, number][]) => ({
  payload: JSON.stringify({ items: of.map(([sku, quantity]) => ({ sku, quantity })) }),
})
/** The second order wants more vases than there are, whichever order is first; the first one is refunded in full. */
const stockEvents = () => [
  anEvent('first', { kind: 'deduct', ...items(['rose', 2], ['vase', 1]) }),
  anEvent('second', { kind: 'deduct', ...items(['rose', 1], ['vase', 2]) }),
  anEvent('third', { kind: 'deduct', ...items(['rose', 3]) }),
  anEvent('first', { kind: 'restore', sequence: 2 }),
]
const pointEvents = () => [
  anEvent('first', { kind: 'grant', amountMinor: 12_345 }),
  anEvent('second', { kind: 'grant', amountMinor: 700 }),
  anEvent('first', { kind: 'revoke', sequence: 2 }),
]

/** Puts the events of stock in, twice, and prepares the tables with what is there. */
async function emitStock(): Promise<readonly Fulfillment[]> {
  await downstream.database.pool.query(INVENTORY)
  await downstream.database.pool.query(`insert into stock values ('rose', 9), ('vase', 1)`)
  const events = stockEvents()
  await downstream.emit([...events, ...events], INVENTORY_TOPIC)
  return events
}
const idOf = (event: Fulfillment | undefined) => event?.eventId ?? ''
async function stockIsRight([first, second, third, restored]: readonly Fulfillment[]): Promise<void> {
  expect(await rowsOf('select * from stock order by sku')).toEqual([
    { sku: 'rose', quantity: 6 },
    { sku: 'vase', quantity: 1 },
  ])
  const moves = await rowsOf('select event_id, sku, quantity from stock_moves')
  expect(
    new Set(moves.map(({ event_id: id, sku, quantity }) => `${String(id)} ${String(sku)} ${String(quantity)}`)),
  ).toEqual(
    new Set([
      ...[`${idOf(first)} rose -2`, `${idOf(first)} vase -1`, `${idOf(third)} rose -3`],
      ...[`${idOf(restored)} rose 2`, `${idOf(restored)} vase 1`],
    ]),
  )
  expect(moves).toHaveLength(5)
  expect(await rowsOf('select id from paidonce_consumer.reports')).toEqual([
    { id: `fulfillment_failed-${idOf(second)}` },
  ])
}
async function pointsAreRight([first, second, revoked]: readonly Fulfillment[]): Promise<void> {
  expect(await rowsOf('select event_id, points::int from points_ledger order by points desc')).toEqual([
    { event_id: first?.eventId, points: 123 },
    { event_id: second?.eventId, points: 7 },
    { event_id: revoked?.eventId, points: -123 },
  ])
}

describe('an inventory worker that is killed at', () => {
  test.each(POINTS_PASSED)('%s moves the stock once and reports once', (point) =>
    withFakeGateway(
      merchant.dir,
      () => new Date(),
      async ({ gateway, published }) => {
        const reports = { GATEWAY_URL: `http://127.0.0.1:${gateway.port}`, WORKER_KEYS_DIR: keys.dir }
        const events = await emitStock()
        await workers.startCrashing(point, 'kill', { WORKER: 'inventory', ...reports })
        workers.start({ WORKER: 'inventory', ...reports })
        await untilDone(4)
        await stockIsRight(events)
        await until('the report has arrived', () => published.length > 0, 30_000)
        const refs = published.flatMap(({ facts }) => facts.map(({ providerRef }) => providerRef))
        expect(new Set(refs)).toEqual(new Set([`worker:fulfillment_failed-${idOf(events[1])}`]))
      },
    ),
  )
})

describe('a points worker that is killed at', () => {
  test.each(POINTS_PASSED.filter((point) => !point.startsWith('report_')))(
    '%s grants and revokes once',
    async (point) => {
      const events = pointEvents()
      await downstream.emit([...events, ...events], POINTS_TOPIC)
      await workers.startCrashing(point, 'kill', { WORKER: 'points' })
      workers.start({ WORKER: 'points' })
      await untilDone(3)
      await pointsAreRight(events)
    },
  )
})

describe('a worker that is frozen past its session at', () => {
  const FROZEN = [
    'take_in_before_commit',
    'take_in_after_commit',
    'inbox_claimed',
    'inbox_handled',
    'inbox_after_commit',
  ] as const
  test.each(FROZEN.flatMap((point) => [['inventory', point] as const, ['points', point] as const]))(
    '%s, %s: another works on, and it comes back to nothing',
    async (worker, point) => {
      const isStock = worker === 'inventory'
      const events = isStock ? await emitStock() : pointEvents()
      if (!isStock) await downstream.emit([...events, ...events], POINTS_TOPIC)
      const frozen = await workers.startCrashing(point, 'stop', { WORKER: worker })
      const next = workers.start({ WORKER: worker })
      const frozenAtMs = performance.now()
      await untilRuns(next, 90_000)
      // What it holds it holds until Postgres ends its session, 30 s of silence; the rest goes on without it.
      await until('its session is over', () => performance.now() - frozenAtMs > SESSION_MS + 1_000)
      frozen.signal('SIGCONT')
      await untilDone(events.length)
      await (isStock ? stockIsRight(events) : pointsAreRight(events))
      expect(await frozen.stop()).toEqual({ code: 0, signal: null })
      await (isStock ? stockIsRight(events) : pointsAreRight(events))
    },
  )
})
