import type pg from 'pg'
import { maintain, type GrowthLimits, type Maintained, type MaintainOptions } from '../../src/store/maintain.ts'
import { listPartitions, type PartitionedTable } from '../../src/store/partitions.ts'
import { clockAt, TOPIC } from './lane-bench.ts'

export const LIMITS: GrowthLimits = {
  ...{ aheadDays: 7, deliveriesDays: 30, eventsDays: 35, archiveAfterDays: 400 },
  ...{ settledDays: 400, commandsDays: 800 },
}

/** One run of maintenance as of a time. */
export async function maintainAt(
  pool: pg.Pool,
  at: string,
  limits: Partial<GrowthLimits> = {},
  more: Partial<MaintainOptions> = {},
): Promise<Extract<Maintained, { kind: 'done' }>> {
  const done = await maintain(pool, {
    ...{ clock: clockAt(Date.parse(at)), inputTopic: TOPIC, limits: { ...LIMITS, ...limits } },
    ...more,
  })
  if (done.kind === 'busy') throw new Error('somebody else is at it')
  return done
}

/** The first days of a table's partitions. */
export const daysOf = async (pool: pg.Pool, table: PartitionedTable): Promise<string[]> =>
  (await listPartitions(pool, table)).ranges.map(({ from }) => from)

export const rowsIn = async (pool: pg.Pool, table: string): Promise<number> =>
  Number((await pool.query<{ n: string }>(`select count(*) as n from ${table}`)).rows[0]?.n)

/** As if the orders had last changed then. */
export const ageOrders = (pool: pg.Pool, atMs: number) =>
  pool.query('update orders set created_at = $1, updated_at = $1', [new Date(atMs)])
