import type { Queryable } from '../runtime/postgres.ts'
import { rowsOf } from './statement.ts'

/** What is recorded of an installation, once: every order's lane follows from the count, every group from the APP_ID. */
export interface Topology {
  readonly partitions: number
  /** Undefined: no processor has started since. */
  readonly appId: string | undefined
}

const READ = { name: 'read-topology', text: 'select partitions, app_id from topology where topic = $1' }
// Nothing that is recorded is changed. Of another count the APP_ID is not taken either.
const RECORD = {
  name: 'record-topology',
  text: `
with written as (
  insert into topology (topic, partitions, app_id) values ($1, $2, $3)
  on conflict (topic) do update set app_id = excluded.app_id
    where topology.app_id is null and excluded.app_id is not null and topology.partitions = excluded.partitions
  returning partitions, app_id
)
select partitions, app_id from written
union all select partitions, app_id from topology where topic = $1 and not exists (select from written)`,
}
type Row = [partitions: number, appId: string | null]

/**
 * @param inputTopic its full name, prefix included, as in `lanes`
 * @returns undefined: nothing is recorded yet.
 */
export async function findTopology(db: Queryable, inputTopic: string): Promise<Topology | undefined> {
  const [row] = await rowsOf<Row>(db, READ, [inputTopic])
  return row && topologyOf(row)
}

/** How many lanes an installation has. */
export const readTopology = async (db: Queryable, inputTopic: string): Promise<number | undefined> =>
  (await findTopology(db, inputTopic))?.partitions

/** Records what is not there yet, in one statement, and never changes what is. @returns what is recorded now */
export async function recordTopology(
  db: Queryable,
  inputTopic: string,
  partitions: number,
  appId?: string,
): Promise<Topology> {
  const [row] = await rowsOf<Row>(db, RECORD, [inputTopic, partitions, appId ?? null])
  // Somebody else's row, committed while the statement ran, is there for the next one.
  const recorded = row === undefined ? await findTopology(db, inputTopic) : topologyOf(row)
  if (recorded === undefined) throw new Error(`the topology row of ${inputTopic} vanished`)
  return recorded
}

const topologyOf = ([partitions, appId]: Row): Topology => ({ partitions, appId: appId ?? undefined })

/** Under another APP_ID there are no groups, no ledger and nobody who listens. @returns undefined: it is the same */
export const otherAppId = (inputTopic: string, appId: string, { appId: recorded }: Topology): string | undefined =>
  recorded === undefined || recorded === appId
    ? undefined
    : `APP_ID is ${appId}, and the lanes of ${inputTopic} are ${recorded}'s: set APP_ID=${recorded}`

/** An input topic that Postgres knows, by its full name, and whose its lanes are; undefined: nobody has said. */
export interface Known {
  readonly topic: string
  readonly appId: string | undefined
}
const KNOWN = {
  name: 'known-topics',
  text: `select topic, max(app_id) from (select topic, app_id from topology union all select topic, null from lanes) t
    group by topic order by topic`,
}
export const listTopologies = async (db: Queryable): Promise<Known[]> =>
  (await rowsOf<[string, string | null]>(db, KNOWN, [])).map(([topic, appId]) => ({
    topic,
    appId: appId ?? undefined,
  }))
