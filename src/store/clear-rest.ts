import pg from 'pg'
import { withBriefLock } from './brief-lock.ts'
import { unsettledLanes } from './drop-partition.ts'
import type { PartitionedTable } from './partitions.ts'
import { int } from './statement.ts'

const ROWS_PER_STEP = 1_000
const STEPS_MAX = 20

export interface Rest {
  readonly rows: number
  /** Of days that are kept no longer. */
  readonly agedRows: number
}

/** What lies in the default partition. Reads all of it, under no lock that anybody minds. */
export async function readRest(client: pg.ClientBase, name: string, keepFrom: string): Promise<Rest> {
  const { rows } = await client.query<{ rows: string; aged: string }>(
    `select count(*) as rows, count(*) filter (where day < $1) as aged from ${pg.escapeIdentifier(name)}`,
    [keepFrom],
  )
  return { rows: int(rows[0]?.rows ?? 0), agedRows: int(rows[0]?.aged ?? 0) }
}

/**
 * Takes aged rows out of the default partition: where nothing else is in it, by one TRUNCATE; else, as it then holds
 * only strays (a clock that was wrong, a week without maintenance), by small deletes, at most 20,000 rows.
 * A row that comes between the look and the TRUNCATE is of a day that has no partition, and today and tomorrow have one
 * or lie here already: so it is aged too, and an event is looked at once more under the lock.
 * @returns how many rows went, 0: none, or its lock is busy, or events of it are not settled
 */
export async function clearRest(
  client: pg.ClientBase,
  table: PartitionedTable,
  name: string,
  keepFrom: string,
  inputTopic: string,
): Promise<number> {
  const { rows, agedRows } = await readRest(client, name, keepFrom)
  if (agedRows === 0) return 0
  const part = pg.escapeIdentifier(name)
  if (agedRows === rows) {
    const done = await withBriefLock(client, async (tx) => {
      await tx.query(`lock table ${part} in access exclusive mode`)
      if ((await unsettledLanes(tx, table, name, inputTopic)).length > 0) return 0
      await tx.query(`truncate ${part}`)
      return rows
    })
    return done ?? 0
  }
  const settled =
    table === 'events'
      ? 'and r.lane_seq < (select settled_seq from lanes l where l.topic = $2 and l.lane = r.lane)'
      : ''
  let gone = 0
  for (let step = 0; step < STEPS_MAX; step++) {
    const { rowCount } = await client.query(
      `delete from ${part} where ctid = any(array(
         select r.ctid from ${part} r where r.day < $1 ${settled} limit ${ROWS_PER_STEP}))`,
      table === 'events' ? [keepFrom, inputTopic] : [keepFrom],
    )
    gone += rowCount ?? 0
    if ((rowCount ?? 0) < ROWS_PER_STEP) break
  }
  return gone
}
