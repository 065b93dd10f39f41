import type { Queryable } from '../runtime/postgres.ts'
import { rowsOf } from './statement.ts'

const READ_TOPOLOGY = { name: 'read-topology', text: 'select partitions from topology where topic = $1' }
const RECORD_TOPOLOGY = {
  name: 'record-topology',
  text: 'insert into topology (topic, partitions) values ($1, $2) on conflict do nothing',
}

/**
 * How many lanes an installation has: recorded once, as every order's lane follows from it.
 * @param inputTopic its full name, prefix included, as in `lanes`
 * @returns undefined: nothing is recorded yet.
 */
export async function readTopology(db: Queryable, inputTopic: string): Promise<number | undefined> {
  const [row] = await rowsOf<[number]>(db, READ_TOPOLOGY, [inputTopic])
  return row?.[0]
}

/** Records the count if none is there, and never changes one. @returns the count that is recorded now */
export async function recordTopology(db: Queryable, inputTopic: string, partitions: number): Promise<number> {
  await db.query({ ...RECORD_TOPOLOGY, values: [inputTopic, partitions] })
  const recorded = await readTopology(db, inputTopic)
  if (recorded === undefined) throw new Error(`the topology row of ${inputTopic} vanished`)
  return recorded
}

const KEEP_APP_ID = {
  name: 'keep-app-id',
  text: 'update topology set app_id = $2 where topic = $1 and app_id is null',
}
const READ_APP_ID = { name: 'read-app-id', text: 'select app_id from topology where topic = $1' }

/**
 * Records whose lanes these are, once, as groups, ledgers and transactional ids follow from it; never changes it.
 * @returns the APP_ID that is recorded now; undefined: the topic's row is not there
 */
export async function recordAppId(db: Queryable, inputTopic: string, appId: string): Promise<string | undefined> {
  const read = async () => (await rowsOf<[string | null]>(db, READ_APP_ID, [inputTopic]))[0]?.[0] ?? undefined
  const recorded = await read()
  if (recorded !== undefined) return recorded
  await db.query({ ...KEEP_APP_ID, values: [inputTopic, appId] })
  return read()
}

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
