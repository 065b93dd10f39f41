import pg from 'pg'
import type { Queryable } from '../runtime/postgres.ts'
import { withBriefLock } from './brief-lock.ts'
import type { PartitionedTable } from './partitions.ts'

export type Dropped =
  | { readonly kind: 'dropped' | 'busy' }
  /** Events of these lanes may not be in Kafka yet. */
  | { readonly kind: 'unsettled'; readonly lanes: readonly number[] }

/**
 * Drops a partition: no row is deleted. It needs the table's own lock for a moment (a table with a default partition
 * lets none be detached concurrently), so it asks briefly, and looks once more under it.
 * @param inputTopic as in `lanes`
 */
export async function dropPartition(
  client: pg.ClientBase,
  table: PartitionedTable,
  name: string,
  inputTopic: string,
): Promise<Dropped> {
  const lanes = await unsettledLanes(client, table, name, inputTopic)
  if (lanes.length > 0) return { kind: 'unsettled', lanes }
  const dropped = await withBriefLock(client, async (tx): Promise<Dropped> => {
    await tx.query(`lock table only ${table} in access exclusive mode`) // The parent first, as everybody does.
    const lanes = await unsettledLanes(tx, table, name, inputTopic)
    if (lanes.length > 0) return { kind: 'unsettled', lanes }
    await tx.query(`drop table ${pg.escapeIdentifier(name)}`)
    return { kind: 'dropped' }
  })
  return dropped ?? { kind: 'busy' }
}

/**
 * The lanes with events in this partition that are not below `settled_seq`; also lanes without a row, of which nothing
 * is known. By the key only: two index probes per lane.
 */
export async function unsettledLanes(
  db: Queryable,
  table: PartitionedTable,
  name: string,
  inputTopic: string,
): Promise<readonly number[]> {
  if (table !== 'events') return []
  const part = pg.escapeIdentifier(name)
  const { rows } = await db.query<{ lane: number }>(
    `with recursive there as (
       (select lane from ${part} order by lane limit 1)
       union all
       select (select p.lane from ${part} p where p.lane > t.lane order by p.lane limit 1) from there t where t.lane is not null
     )
     select t.lane from there t left join lanes l on l.topic = $1 and l.lane = t.lane
     where t.lane is not null
       and (select p.lane_seq from ${part} p where p.lane = t.lane order by p.lane_seq desc limit 1) >= coalesce(l.settled_seq, 0)
     order by t.lane`,
    [inputTopic],
  )
  return rows.map(({ lane }) => lane)
}
