import type pg from 'pg'
import { expect, test } from 'vitest'
import { ARCHIVE_POINTS, ORDERS_PER_STEP } from '../../src/store/archive-orders.ts'
import { startChild } from '../helpers/child.ts'
import { withDatabase } from '../helpers/database.ts'
import { maintainAt, rowsIn } from '../helpers/maintained.ts'
import { simulateDay, startDays } from '../helpers/simulate-days.ts'
import { until } from '../helpers/until.ts'

const DAY = '2026-01-01'
const LATER = '2028-01-01T00:00:00Z'
const ORDERS = 1_000
const CHILD = new URL('../helpers/maintenance-child.ts', import.meta.url).pathname

const start = (url: string, crashAt: string, passage: number, action: 'kill' | 'stop' = 'kill') =>
  startChild(CHILD, {
    ...process.env,
    ...{ DATABASE_URL: url, CRASH_AT: crashAt, CRASH_PASSAGE: String(passage), MAINTAIN_AT: LATER },
    CRASH_ACTION: action,
  })

/** Every order with both of its facts and its payload is in one place, and has a tombstone only where it is archived. */
async function nothingLostOrDoubled(pool: pg.Pool): Promise<{ living: number; archived: number }> {
  const { rows } = await pool.query<{ where: string; orders: number; whole: number }>(`
    with living as (
      select o.out_trade_no as no, (select count(*) from facts f where f.order_id = o.id) as facts,
        (select count(*) from order_payloads p where p.order_id = o.id) as payloads,
        (select count(*) from tombstones t where t.merchant = o.merchant and t.out_trade_no = o.out_trade_no) as stones
      from orders o
    ), archived as (
      select document -> 'order' ->> 'out_trade_no' as no, jsonb_array_length(document -> 'facts') as facts,
        (document ->> 'payload' is not null)::int as payloads,
        (select count(*) from tombstones t where t.order_id = a.order_id and length(t.facts) = 16) as stones
      from archived_orders a
    )
    select 'living' as where, count(*)::int as orders, count(*) filter (where facts = 2 and payloads = 1 and stones = 0)::int as whole from living
    union all
    select 'archived', count(*)::int, count(*) filter (where facts = 2 and payloads = 1 and stones = 1)::int from archived
    union all
    select 'either', count(distinct no)::int, count(*)::int from (select no from living union all select no from archived) e`)
  for (const { where, orders, whole } of rows) expect(whole, where).toBe(orders)
  const of = (where: string) => rows.find((row) => row.where === where)?.orders ?? 0
  expect(of('either')).toBe(ORDERS)
  // No row is left of an order that went, and none stands twice.
  expect([await rowsIn(pool, 'facts'), await rowsIn(pool, 'order_payloads')]).toEqual([2 * of('living'), of('living')])
  expect(await rowsIn(pool, 'tombstones')).toBe(of('archived'))
  return { living: of('living'), archived: of('archived') }
}

async function withOldOrders(work: (url: string, pool: pg.Pool) => Promise<void>) {
  await withDatabase(async (url, pool) => {
    const lane = await startDays(url, DAY)
    await simulateDay(lane, pool, DAY, ORDERS)
    await lane.session.close()
    await work(url, pool)
  })
}

const free = (pool: pg.Pool) =>
  until('Postgres has noticed the death', async () => {
    const { rowCount } = await pool.query(`select from pg_locks where locktype = 'advisory' and database =
      (select oid from pg_database where datname = current_database())`)
    return rowCount === 0
  })

test.each(ARCHIVE_POINTS)('kill -9 at %s, in each step: nothing lost, nothing doubled', async (point) => {
  await withOldOrders(async (url, pool) => {
    let archived = 0
    for (let passage = 1; passage <= 2; passage++) {
      const child = start(url, point, passage)
      expect(await child.exited).toMatchObject({ signal: 'SIGKILL' })
      await free(pool)
      const before = archived
      archived = (await nothingLostOrDoubled(pool)).archived
      // What was committed before the kill stays, what was not is as it was.
      expect(archived - before).toBe(ORDERS_PER_STEP * (passage - (point === 'archive_after_commit' ? 0 : 1)))
    }
    await maintainAt(pool, LATER)
    expect(await nothingLostOrDoubled(pool)).toEqual({ living: 0, archived: ORDERS })
  })
})

test('frozen with orders locked: they are free again within seconds, and another one goes on', async () => {
  await withOldOrders(async (url, pool) => {
    const child = start(url, 'archive_before_commit', 1, 'stop')
    const isLocked = async () =>
      (await pool.query('select from orders where id = (select min(id) from orders) for update skip locked'))
        .rowCount === 0
    await until('its orders are locked', isLocked)
    const frozenMs = performance.now()
    await until('they are free', async () => !(await isLocked()), 20_000)
    expect(performance.now() - frozenMs).toBeLessThan(10_000)
    await free(pool)
    await maintainAt(pool, LATER)
    expect(await nothingLostOrDoubled(pool)).toEqual({ living: 0, archived: ORDERS })
    child.signal('SIGCONT')
    expect(await child.exited).not.toMatchObject({ code: 0 })
  })
})

test('kill -9 at any moment, again and again', async () => {
  const seed = Date.now() % 100_000
  console.log(`seed ${seed}`)
  await withOldOrders(async (url, pool) => {
    let kills = 0
    for (let n = 0; n < 12; n++) {
      const child = start(url, '', 0)
      await child.said('it starts', (line) => line['starts'] !== undefined)
      const killAtMs = performance.now() + ((seed * (n + 7)) % 97) * 2
      await until('a moment', () => performance.now() >= killAtMs || child.exit() !== undefined, 10_000)
      if ((await child.kill()).signal === 'SIGKILL') kills++
      await free(pool)
      await nothingLostOrDoubled(pool)
    }
    expect(kills).toBeGreaterThan(0)
    await maintainAt(pool, LATER)
    expect(await nothingLostOrDoubled(pool)).toEqual({ living: 0, archived: ORDERS })
  })
})
