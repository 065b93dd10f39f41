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
