import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { LOCAL_DIR } from '../../../dev/parts/state.ts'
import { TABLES as INVENTORY } from '../../../examples/inventory/effects.ts'
import { CRASH_POINTS, type CrashPoint } from '../../../src/consumer/crash-points.ts'
import type { Fulfillment } from '../../../src/schemas/fulfillment.ts'
import { INVENTORY_TOPIC, POINTS_TOPIC } from '../../../src/schemas/topics.ts'
import { startChild, type Child } from '../../helpers/child.ts'
import { anEvent, createDownstream, type Downstream } from '../../helpers/consumer.ts'
import { withFakeGateway } from '../../helpers/fake-gateway.ts'
import { createMerchant, type TestMerchant } from '../../helpers/merchant.ts'
import { until } from '../../helpers/until.ts'

const CHILD = new URL('../../helpers/books-child.ts', import.meta.url).pathname
const DIR = join(LOCAL_DIR, 'faults')
const SESSION_MS = 3_000
/** All that workers with effects in their own books pass. */
const POINTS_PASSED = CRASH_POINTS.filter((point) => /^(take_in|inbox|report)_/.test(point))

let merchant: TestMerchant
let keysDir: string
let downstream: Downstream
let children: Child[]

beforeAll(() => {
  merchant = createMerchant('shop')
  mkdirSync(DIR, { recursive: true })
  keysDir = mkdtempSync(join(DIR, 'worker-keys-'))
  cpSync(join(merchant.dir, 'worker.key'), join(keysDir, 'shop.key'))
})
afterAll(() => {
  merchant.remove()
  rmSync(keysDir, { recursive: true })
})
beforeEach(async () => {
  children = []
  downstream = await createDownstream(1)
})
afterEach(async () => {
  await Promise.all(children.map((child) => child.kill()))
  await downstream.drop()
})

const start = (worker: 'inventory' | 'points', more: Readonly<Record<string, string>> = {}) => {
  // One event after another.
  const own = { WORKER: worker, CONCURRENCY: '1', SESSION_TIMEOUT_MS: String(SESSION_MS), METRICS_PORT: '0' }
  const child = startChild(CHILD, downstream.env({ LOG_LEVEL: 'info', ...own, ...more }))
  children.push(child)
  return child
}
async function startCrashing(
  worker: 'inventory' | 'points',
  point: CrashPoint,
  action: 'kill' | 'stop',
  more: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const marker = join(DIR, randomUUID())
  const child = start(worker, { CRASH_AT: point, CRASH_ACTION: action, CRASH_MARKER: marker, ...more })
  await until(`a worker reaches ${point}`, () => existsSync(marker), 60_000)
  rmSync(marker)
  if (action === 'kill') await child.exited
  return child
}
const untilDone = (count: number) =>
  until(`${count} events are done`, async () => (await downstream.states())['done'] === count, 90_000)
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
        const reports = { GATEWAY_URL: `http://127.0.0.1:${gateway.port}`, WORKER_KEYS_DIR: keysDir }
        const events = await emitStock()
        await startCrashing('inventory', point, 'kill', reports)
        start('inventory', reports)
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
      await startCrashing('points', point, 'kill')
      start('points')
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
      const frozen = await startCrashing(worker, point, 'stop')
      const next = start(worker)
      const frozenAtMs = performance.now()
      await next.said('that it runs', (line) => line['msg'] === 'consumer runs', 90_000)
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
