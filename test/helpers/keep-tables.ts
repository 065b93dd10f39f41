import type pg from 'pg'
import { transaction } from '../../src/runtime/postgres.ts'

/**
 * Keeps all tables as they are now.
 * @returns sets them back to that, as restoring a backup does; sequences go on
 */
export async function keepTables(pool: pg.Pool): Promise<() => Promise<void>> {
  const { rows } = await pool.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  )
  const names = rows.map(({ name }) => name)
  await pool.query('create schema kept')
  for (const name of names) await pool.query(`create table kept.${name} as table public.${name}`)
  return () =>
    transaction(pool, async (tx) => {
      await tx.query('set local session_replication_role = replica')
      await tx.query(`truncate ${names.map((name) => `public.${name}`).join(', ')}`)
      for (const name of names)
        await tx.query(`insert into public.${name} overriding system value select * from kept.${name}`)
    })
}
