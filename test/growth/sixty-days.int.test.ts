import { expect, test } from 'vitest'
import { dayAfter } from '../../src/runtime/days.ts'
import { GROWING, readGrowth } from '../../src/store/read-growth.ts'
import { REMOVED } from '../../src/store/remove-aged.ts'
import { withDatabase } from '../helpers/database.ts'
import { simulateDay, startDays } from '../helpers/simulate-days.ts'
import { maintainAt, rowsIn } from '../helpers/maintained.ts'

/** As docs/growth.md says. */
const KEPT_FOR_EVER = ['archived_orders', 'tombstones', 'operator_actions', 'imported_events', 'api_tokens'] as const

/** Of the last 1,000 runs, whatever their age: test/store/audit-runs.int.test.ts. */
const KEPT_BY_NUMBER = ['audit_runs', 'audit_lanes', 'audit_findings'] as const

const FIRST_DAY = '2026-01-01'
const DAYS = 60
const ORDERS_PER_DAY = 40
const LIMITS = { archiveAfterDays: 20, settledDays: 25 }
/** All that comes with the traffic or by what people do, and goes with its age. */
const LEVEL = GROWING.filter((table) => !([...KEPT_FOR_EVER, ...KEPT_BY_NUMBER] as readonly string[]).includes(table))
/** At the end of a day. */
const EMPTY: readonly string[] = ['anomalies', 'timers', 'waiting_events']
/** By then everything has its full age: 35 days of events and the one that is being written. */
const LEVEL_FROM = 40

test(
  'sixty days of traffic: what is kept levels off, and nothing of deliveries or events is ever deleted row by row',
  () =>
    withDatabase(async (url, pool) => {
      const lane = await startDays(url, FIRST_DAY)
      const rowsByDay: number[] = []
      const bytesByDay: number[] = []
      const removed = { replay_runs: 0, dead_letters: 0, brakes: 0, bill_runs: 0, commands: 0 }
      let [dropped, archived, deleted] = [0, 0, 0]
      for (let day = 0; day < DAYS; day++) {
        const today = dayAfter(FIRST_DAY, day)
        const { work, archived: moved, removed: gone } = await maintainAt(pool, `${today}T00:05Z`, LIMITS)
        expect(work.filter(({ kind }) => kind.startsWith('not') || kind === 'cleared')).toEqual([])
        dropped += work.filter(({ kind }) => kind === 'dropped').length
        archived += moved.orders
        for (const kind of REMOVED) removed[kind] += gone[kind]
        await simulateDay(lane, pool, today, ORDERS_PER_DAY)
        // What autovacuum does within a real day.
        await pool.query(
          'vacuum orders, order_payloads, facts, dead_letters, replays, replay_runs, brakes, brake_lanes, groups, commands, bill_runs, bill_findings, bill_seen',
        )
        const counts = await pool.query<{ rows: number; deleted: number }>(
          `select (${LEVEL.map((table) => `(select count(*) from ${table})`).join(' + ')})::int as rows,
           (select coalesce(sum(n_tup_del), 0)::int from pg_stat_user_tables where relname ~ '^(deliveries|events)_') as deleted`,
        )
        rowsByDay.push(counts.rows[0]?.rows ?? 0)
        deleted += counts.rows[0]?.deleted ?? 0
        const { bytes } = await readGrowth(pool, Date.parse(`${today}T23:59Z`), undefined)
        bytesByDay.push(LEVEL.reduce((sum, table) => sum + (bytes.get(table) ?? 0), 0))
      }
      const level = rowsByDay.slice(LEVEL_FROM)
      expect(new Set(level).size, `rows by day: ${level.join(' ')}`).toBe(1)
      expect(rowsByDay[LEVEL_FROM - 20]).toBeLessThan(level[0] ?? 0)
      const bytes = bytesByDay.slice(LEVEL_FROM)
      expect(Math.max(...bytes) / Math.min(...bytes), `bytes by day: ${bytes.join(' ')}`).toBeLessThan(1.05)
      // Day 59 keeps 30 days of deliveries, 35 of events and 20 of orders behind it.
      expect({ dropped, deleted }).toEqual({ dropped: DAYS - 1 - 30 + (DAYS - 1 - 35), deleted: 0 })
      const orders = await pool.query<{ living: number; stones: number; archived: number }>(
        `select (select count(*) from orders)::int as living, (select count(*) from tombstones)::int as stones,
         (select count(*) from archived_orders)::int as archived`,
      )
      const gone = (DAYS - 1 - 20) * ORDERS_PER_DAY
      expect(orders.rows).toEqual([{ living: DAYS * ORDERS_PER_DAY - gone, stones: gone, archived: gone }])
      expect(archived).toBe(gone)
      expect(removed).toEqual({
        replay_runs: gone / ORDERS_PER_DAY - 5,
        dead_letters: 68,
        brakes: 34,
        bill_runs: 34,
        commands: 0,
      })
      for (const table of [...LEVEL, 'operator_actions'].filter((table) => !EMPTY.includes(table)))
        expect(await rowsIn(pool, table), table).toBeGreaterThan(0)
      await lane.session.close()
    }),
  120_000,
)
