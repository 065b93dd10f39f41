import type pg from 'pg'

/** Takes all partitions from `deliveries`, so that no row of it finds a place. @returns what mends it */
export async function detachDeliveries(pool: pg.Pool): Promise<() => Promise<unknown>> {
  const { rows } = await pool.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'deliveries'::regclass`,
  )
  for (const { name } of rows) await pool.query(`alter table deliveries detach partition ${name}`)
  return () => pool.query('alter table deliveries attach partition deliveries_default default')
}
