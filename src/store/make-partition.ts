import pg from 'pg'
import { dayAfter } from '../runtime/days.ts'
import { withBriefLock } from './brief-lock.ts'
import { partitionName, type PartitionedTable, type Partitions } from './partitions.ts'

/** Postgres reads the default partition under its lock when another one is attached: 30 ms at most for this much. */
const SMALL_BYTES = 33_554_432
const CHECK_VIOLATION = '23514'

/** `taken`: the default partition holds rows of that day. `rest_large`: it is too large to look under a lock. */
export type Made = 'made' | 'taken' | 'rest_large' | 'busy'

/**
 * Makes the partition of a day (or month) without holding up anybody: attaching takes no lock that a lane needs, but for
 * a moment that of the default partition.
 * @param range the first day and the first one after it
 */
export async function makePartition(
  client: pg.ClientBase,
  table: PartitionedTable,
  range: { readonly from: string; readonly to: string },
  { rest, today }: { readonly rest: Partitions['rest']; readonly today: string },
): Promise<Made> {
  const { from, to } = range
  const attach = [
    `create table ${partitionName(table, from)} (like ${table} including all)`,
    `alter table ${table} attach partition ${partitionName(table, from)} for values from ('${from}') to ('${to}')`,
  ]
  try {
    if (rest === undefined || !(await holdsRows(client, rest.name))) return await run(client, attach)
    const place = pg.escapeIdentifier(rest.name)
    if (from >= dayAfter(today, 2)) {
      // Lanes write no day beyond tomorrow (deliveries.ts), so that this can refuse none of their rows. It is proven
      // while they go on writing, and then spares the look under the lock.
      const name = `${LOOKED_AT}${from.replaceAll('-', '')}`
      const proof = `alter table ${place} add constraint ${name} check (day < '${from}' or day >= '${to}') not valid`
      if ((await run(client, [proof])) === 'busy') return 'busy'
      try {
        await client.query(`alter table ${place} validate constraint ${name}`)
        return await run(client, attach)
      } finally {
        await run(client, [`alter table ${place} drop constraint if exists ${name}`])
      }
    }
    if (rest.bytes > SMALL_BYTES) return 'rest_large'
    if (await holdsRows(client, rest.name, range)) return 'taken'
    return await run(client, attach)
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === CHECK_VIOLATION) return 'taken'
    throw error
  }
}

const LOOKED_AT = 'looked_at_'

/** Takes away what a process left that died between two steps of the above. */
export async function removeLeftovers(client: pg.ClientBase, rest: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select conname as name from pg_constraint where conrelid = $1::regclass and starts_with(conname, $2)`,
    [rest, LOOKED_AT],
  )
  for (const { name } of rows)
    await run(client, [`alter table ${pg.escapeIdentifier(rest)} drop constraint ${pg.escapeIdentifier(name)}`])
}

async function run(client: pg.ClientBase, statements: readonly string[]): Promise<'made' | 'busy'> {
  const done = await withBriefLock(client, async (tx) => {
    for (const statement of statements) await tx.query(statement)
    return 'made' as const
  })
  return done ?? 'busy'
}

async function holdsRows(
  client: pg.ClientBase,
  name: string,
  { from, to }: { readonly from: string; readonly to: string } = { from: '-infinity', to: 'infinity' },
): Promise<boolean> {
  const { rows } = await client.query<{ any: boolean }>(
    `select exists (select from ${pg.escapeIdentifier(name)} where day >= $1 and day < $2) as any`,
    [from, to],
  )
  return rows[0]?.any === true
}
