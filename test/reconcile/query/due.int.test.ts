import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createFiler } from '../../../src/reconcile/file-due.ts'
import { createQueryMetrics } from '../../../src/reconcile/metrics.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createOrders } from '../../../src/store/create-orders.ts'
import { fileQueries, scanHeld, scanPending } from '../../../src/store/file-queries.ts'
import { leaseQueries } from '../../../src/store/lease-queries.ts'
import { listQueries } from '../../../src/store/list-queries.ts'
import { readBacklog } from '../../../src/store/read-backlog.ts'
import { readAsked, refreshQuery } from '../../../src/store/refresh-query.ts'
import { settleQuery } from '../../../src/store/settle-query.ts'
import { createDatabase, type TestDatabase } from '../../helpers/database.ts'

const HOUR = 3_600_000
const merchants = ['shop']
let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
  await database.pool.query(`insert into lanes (topic, lane, start_offset, applied_offset) values ('t', 0, 0, 0)`)
})
afterAll(() => database.drop())
beforeEach(() => database.pool.query('truncate timers, orders cascade'))

/** @returns their ids */
async function create(...numbers: string[]): Promise<number[]> {
  const orders = numbers.map((outTradeNo) => ({
    lane: 0,
    body: {
      ...{ merchant: 'shop', outTradeNo, amountMinor: 100, currency: 'CNY', expiresAtMs: Date.now() + 2 * HOUR },
      ...{ groupKey: null, payload: null },
    },
  }))
  await createOrders(database.pool, 'due', orders)
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from orders where out_trade_no = any($1) order by array_position($1, out_trade_no)',
    [numbers],
  )
  return rows.map(({ id }) => Number(id))
}
const scan = async () =>
  (await scanPending(database.pool, { after: 0, youngestMs: Date.now() + HOUR, merchants })).found
const lease = (rows: number, isWishesTurn: boolean) =>
  leaseQueries(database.pool, new Map([['shop', rows]]), { nowMs: Date.now(), leaseMs: 60_000, isWishesTurn })
const numbersOf = (leased: Awaited<ReturnType<typeof lease>>) => leased.map(({ order }) => order?.outTradeNo).sort()
const wish = (id: number | undefined) => refreshQuery(database.pool, id ?? 0, { nowMs: Date.now(), everyMs: 5_000 })
const sweepOf = (asked: () => readonly string[]) => {
  const schedule = {
    ...{ firstMs: 0, spreadMs: 0, lastMs: HOUR, heldTriesMax: 3, hintTriesMax: 10, lookMs: HOUR },
  }
  return createFiler({
    ...{ pool: database.pool, schedule, clock: systemClock, metrics: createQueryMetrics(), reach: () => undefined },
    ...{ merchants: asked, everyMs: 5_000, heldBeforeMs: HOUR },
  })
}

test('who wants to know at once does not wait behind a backlog of hours, nor does the backlog behind many of them', async () => {
  const ids = await create('due-1', 'due-2', 'due-3', 'wish-1', 'wish-2', 'wish-3')
  const found = await scan()
  const dueAtMs = Date.now() - 3 * HOUR
  await fileQueries(
    database.pool,
    found.flatMap((order, n) => (ids.indexOf(order.orderId) < 3 ? [{ ...order, dueAtMs: dueAtMs + n }] : [])),
  )
  for (const id of ids.slice(3)) expect(await wish(id)).toEqual({ askedAtMs: null })
  // A wish is no due time of long ago.
  const oldest = await database.pool.query<{ sec: number }>(
    `select extract(epoch from now() - min(due_at))::float8 as sec from timers where kind = 'query'`,
  )
  expect(oldest.rows[0]?.sec).toBeLessThan(4 * 3_600)
  expect((await readBacklog(database.pool, new Map())).queriesOldestSec).toBeLessThan(4 * 3_600)
  expect((await listQueries(database.pool, 10)).every((one) => one.dueAtMs >= dueAtMs)).toBe(true)
  const rounds = []
  for (let turn = 0; turn < 4; turn++) rounds.push(numbersOf(await lease(1, turn % 2 === 0)))
  expect(rounds).toEqual([['wish-1'], ['due-1'], ['wish-2'], ['due-2']])
  expect(numbersOf(await lease(8, false))).toEqual(['due-3', 'wish-3'])
})

test('a wish is due by whatever clock it was written, and one that comes before the answer is kept', async () => {
  const [id] = await create('clock-1')
  const aheadMs = Date.now() + 10 * 60_000
  expect(await refreshQuery(database.pool, id ?? 0, { nowMs: aheadMs, everyMs: 5_000 })).toEqual({ askedAtMs: null })
  const [first] = await lease(1, true)
  if (first === undefined) throw new Error('it is not due')
  expect(await lease(1, true)).toEqual([])
  // Further ahead than the lease lasts.
  await refreshQuery(database.pool, id ?? 0, { nowMs: aheadMs + 60_000, everyMs: 5_000 })
  expect(await settleQuery(database.pool, first, { kind: 'remove' })).toBe(true)
  expect(await lease(1, false)).toHaveLength(1)
})

test('an answer that was on its way when somebody wanted to know leaves the wish open', async () => {
  const [id] = await create('stale-1')
  await wish(id)
  const [first] = await lease(1, true)
  if (first === undefined || id === undefined) throw new Error('nothing was due')
  await database.pool.query(`update timers set refreshed_at = refreshed_at - interval '6 seconds'`)
  const before = await wish(id)
  const asked = { askedAtMs: Date.now(), answer: 'wechatpay: nothing' }
  await settleQuery(database.pool, first, { kind: 'again', dueAtMs: Date.now() + HOUR, ...asked })
  const isOpen = async () => (await readAsked(database.pool, [id]))[0]
  expect(await isOpen()).toMatchObject({ isWished: true, answer: 'wechatpay: nothing' })
  expect((await isOpen())?.askedAtMs).not.toBe(before?.askedAtMs)
  const [second] = await lease(1, false)
  if (second === undefined) throw new Error('the wish is lost')
  expect(await isOpen()).toMatchObject({ isWished: true })
  await settleQuery(database.pool, second, { kind: 'again', dueAtMs: Date.now() + HOUR, ...asked })
  expect(await isOpen()).toMatchObject({ isWished: false })
  expect(await lease(1, true)).toEqual([])
})

test('a question that ended while its order was only awaited begins anew when the order is created', async () => {
  const [id] = await create('awaited-1')
  const done = `update timers set done_at = $1, attempts = 3, due_at = now() + interval '1 hour' where kind = 'query'`
  await fileQueries(
    database.pool,
    (await scan()).map((order) => ({ ...order, dueAtMs: Date.now() })),
  )
  expect(await scan()).toEqual([])
  // Asked three times about a held fact, before the order had an expiry.
  await database.pool.query(done, [new Date()])
  const again = await scan()
  expect(again.map(({ orderId }) => orderId)).toEqual([id])
  expect(
    await fileQueries(
      database.pool,
      again.map((order) => ({ ...order, dueAtMs: Date.now() })),
    ),
  ).toBe(1)
  expect(await lease(1, false)).toMatchObject([{ attempts: 0, isDone: false }])
  // After its expiry it was asked about for the last time.
  await database.pool.query(`update timers set leased_until = null`)
  await database.pool.query(done, [new Date(Date.now() + 2 * HOUR + 1_000)])
  expect(await scan()).toEqual([])
})

test('a held fact whose limit is near is asked about, though another question of its order ended before', async () => {
  const [id] = await create('held-1')
  await fileQueries(
    database.pool,
    (await scan()).map((order) => ({ ...order, dueAtMs: Date.now() })),
  )
  await database.pool.query(
    `insert into timers (lane, order_id, kind, ref, due_at) values (0, $1, 'held_limit', 'f', now() + interval '30 minutes')`,
    [id],
  )
  const near = () => {
    const nowMs = Date.now()
    return scanHeld(database.pool, { nowMs, beforeMs: nowMs + HOUR, merchants })
  }
  expect(await near()).toEqual([])
  await database.pool.query(`update timers set done_at = now() - interval '10 hours' where kind = 'query'`)
  expect((await near()).map(({ orderId }) => orderId)).toEqual([id])
  await database.pool.query(`update timers set done_at = now() where kind = 'query'`)
  expect(await near()).toEqual([])
})

test('an order that holds its payment and its refund is asked about once, and what is filed behind it too', async () => {
  const [both, hinted] = await create('both-1', 'hinted-1')
  await database.pool.query(`delete from timers`) // Nobody has created them: there is no expiry.
  await database.pool.query(
    `insert into timers (lane, order_id, kind, ref, due_at) values
       (0, $1, 'held_limit', 'payment_succeeded/p', now() + interval '20 minutes'),
       (0, $1, 'held_limit', 'refund_succeeded/r', now() + interval '10 minutes'),
       (0, $2, 'query', 'refund:r', now())`,
    [both, hinted],
  )
  await sweepOf(() => merchants)()
  const { rows } = await database.pool.query(
    `select order_id::int, merchant from timers where kind = 'query' order by 1`,
  )
  expect(rows).toEqual([both, hinted].map((id) => ({ order_id: id, merchant: 'shop' })))
})

test('what is pending of a merchant that is added is filed by the next sweep', async () => {
  await create('added-1')
  const asked = ['others']
  const sweep = sweepOf(() => asked)
  const filed = async () => (await listQueries(database.pool, 10)).map(({ outTradeNo }) => outTradeNo)
  await sweep()
  expect(await filed()).toEqual([])
  asked.push('shop')
  await sweep()
  expect(await filed()).toEqual(['added-1'])
})
