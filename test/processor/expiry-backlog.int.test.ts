import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Clock } from '../../src/runtime/clock.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { paidonceJson } from '../cli/paidonce.ts'
import { readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment, type Installation, type Sent } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

const LANES = 2
const MINUTE_MS = 60_000
/** Ten a second for five minutes: what came in while no processor ran. */
const BACKLOG = 3_000
/** Small batches, so that many wakes find the timers due while the backlog is read. */
const ENV = { EXPIRY_GRACE_SEC: '60', WAKE_INTERVAL_MS: '50', BATCH_RECORDS_MAX: '50' }

let it: Installation
let startedMs: number
let expiresAtMs: number
let processor: RunningProcessor | undefined
beforeEach(async () => {
  it = await createInstallation({ partitions: LANES })
  startedMs = Date.now()
  expiresAtMs = startedMs + MINUTE_MS
  processor = undefined
})
afterEach(async () => {
  await processor?.stop()
  await it.drop()
})

/** The processors' clock: five minutes after the orders have expired, and the grace. */
const late: Clock = { now: () => new Date(Date.now() + 7 * MINUTE_MS), elapsedMs: () => performance.now() }
const start = async () => (processor = await startTestProcessor(it, ENV, { clock: late }))

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`)
/** Happened before the expiry, one after another, within the last second of the order's life at the latest. */
const inTime = (orders: readonly string[]): Sent[] =>
  orders.map((order, i) => payment(order, { eventTimeMs: expiresAtMs - 1 - Math.floor((i * MINUTE_MS) / BACKLOG) }))
async function create(orders: readonly string[]) {
  await it.createOrders(orders, undefined, expiresAtMs)
}
async function statuses(): Promise<Record<string, number>> {
  const { rows } = await it.database.pool.query<{ of: string; n: number }>(
    `select rtrim(out_trade_no, '0123456789') || ' ' || status || coalesce(' by ' || closed_by, '') as of, count(*)::int as n
     from orders group by 1`,
  )
  return Object.fromEntries(rows.map(({ of, n }) => [of, n]))
}
const untilAre = (wanted: Record<string, number>) =>
  until(
    `orders are ${JSON.stringify(wanted)}`,
    async () => {
      const now = await statuses()
      return JSON.stringify(now, Object.keys(wanted).sort()) === JSON.stringify(wanted, Object.keys(wanted).sort())
    },
    40_000,
  )
/** Kinds of each order in the order of their sequence, counted by the order's prefix. */
async function heard(atLeast: number): Promise<Record<string, number>> {
  const byOrder = Map.groupBy(await readEvents(it.topics, { atLeast }), ({ key }) => key ?? '')
  const counts: Record<string, number> = {}
  for (const [order, events] of byOrder) {
    const kinds = events.toSorted((a, b) => a.sequence - b.sequence).map(({ kind }) => kind)
    const name = `${order.replace(/\d+$/, '')} ${kinds.join(' ')}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}
const everClosed = async (prefix: string) =>
  (await it.database.pool.query(`select from events where kind = 'unreserve' and key like $1`, [`${prefix}%`])).rowCount

test('a backlog of five minutes across expiry closes no paid order, and all unpaid ones', async () => {
  const [paid, unpaid] = [named('paid', BACKLOG), named('unpaid', 500)]
  await create([...paid, ...unpaid])
  await it.send(inTime(paid))
  await start()
  await untilAre({ 'paid paid': BACKLOG, 'unpaid closed by expiry': 500 })
  expect(await everClosed('paid')).toBe(0)
  expect(await heard(3 * BACKLOG + 500)).toEqual({ 'paid ship deduct grant': BACKLOG, 'unpaid unreserve': 500 })
})

test('whoever paid in time and is heard of after the check is paid all the same; later than that is an anomaly', async () => {
  const [paid, silent, tardy] = [named('paid', 1_000), named('silent', 200), named('tardy', 200)]
  await create([...paid, ...silent, ...tardy])
  await it.send(inTime(paid))
  await start()
  await untilAre({ 'paid paid': 1_000, 'silent closed by expiry': 200, 'tardy closed by expiry': 200 })
  await it.send([...inTime(silent), ...tardy.map((order) => payment(order, { eventTimeMs: expiresAtMs }))])
  await untilAre({ 'paid paid': 1_000, 'silent paid': 200, 'tardy closed by expiry': 200 })
  const { rows } = await until('each that paid late is an anomaly', async () => {
    const found = await it.database.pool.query<{ kind: string; n: number }>(
      'select kind, count(*)::int as n from anomalies group by 1',
    )
    return found.rows[0]?.n === 200 && found
  })
  expect(rows).toEqual([{ kind: 'paid_after_close', n: 200 }])
  expect(await heard(3 * 1_200 + 400)).toEqual({
    ...{ 'paid ship deduct grant': 1_000, 'silent unreserve ship deduct grant': 200, 'tardy unreserve': 200 },
  })
})

test('payments that come while the timers are looked at: closed or not meanwhile, each order is paid in the end', async () => {
  const [paid, racing] = [named('paid', 1_000), named('racing', 1_000)]
  await create([...paid, ...racing])
  await it.send(inTime(paid))
  await start()
  for (let from = 0; from < 500; from += 50) await it.send(inTime(racing.slice(from, from + 50)))
  await until('the first of them is closed', async () => (await everClosed('racing')) !== 0)
  for (let from = 500; from < 1_000; from += 50) await it.send(inTime(racing.slice(from, from + 50)))
  await untilAre({ 'paid paid': 1_000, 'racing paid': 1_000 })
  const closed = (await everClosed('racing')) ?? 0
  console.log(`of 1,000 that paid while the timers were looked at, ${closed} were closed before they were heard of`)
  expect(await everClosed('paid')).toBe(0)
  const counts = await heard(3 * 2_000 + closed)
  expect(counts['paid ship deduct grant']).toBe(1_000)
  expect(counts['racing unreserve ship deduct grant']).toBe(closed)
  expect(counts['racing ship deduct grant']).toBe(1_000 - closed)
})

test('a lane that is halted amid its backlog closes nothing until it has read the rest', async () => {
  const orders = named('paid', BACKLOG)
  const unpaid = named('unpaid', 200)
  await create([...orders, ...unpaid])
  const halted = orders.filter((order) => it.laneOf(order) === 0)
  const half = Math.floor(halted.length / 2)
  await it.send(inTime(orders.filter((order) => it.laneOf(order) !== 0)))
  await it.send(inTime(halted.slice(0, half)))
  for (let nth = 0; nth < 21; nth++) await it.sendRaw(0, 'poison', Buffer.from([0, nth]))
  await it.send(inTime(halted.slice(half)))
  const running = await start()
  await until('lane 0 is halted', () => running.lanes()[0]?.haltReason === 'flood', 30_000)
  const ofLane = (lane: number) => unpaid.filter((order) => it.laneOf(order) === lane).length
  const before = {
    ...{ 'paid paid': BACKLOG - halted.length + half, 'paid pending': halted.length - half },
    ...{ 'unpaid closed by expiry': ofLane(1), 'unpaid pending': ofLane(0) },
  }
  await untilAre(before)
  // Another owner finds it halted, and its timers due.
  await running.stop()
  await untilSettled([await start()], LANES)
  expect(await statuses()).toEqual(before)
  const env = it.env({ LOG_LEVEL: 'silent' }) as Record<string, string>
  const resumed = await paidonceJson(['lane', 'resume', '0', '--reason', 'a sender was mended', '--yes'], env)
  expect(resumed).toMatchObject({ code: 0, json: { halted: 'flood' } })
  await untilAre({ 'paid paid': BACKLOG, 'unpaid closed by expiry': 200 })
  expect(await everClosed('paid')).toBe(0)
  expect(await heard(3 * BACKLOG + 200)).toEqual({ 'paid ship deduct grant': BACKLOG, 'unpaid unreserve': 200 })
})
