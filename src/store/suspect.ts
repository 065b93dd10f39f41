import type { Queryable } from '../runtime/postgres.ts'

/** So many owners must have gone without a word, with nothing applied in between, before a lane is suspect: one kill from
 * outside must not make every lane slow. */
export const OWNER_DEATHS_SUSPECT = 2
/** What was alone in flight so often when its owner went is a dead letter. */
export const ALONE_DEATHS_MAX = 3

export interface AloneRecord {
  readonly topic: string
  readonly lane: number
  /** Only the latest incarnation may blame a record. */
  readonly incarnation: number
  readonly offset: number
}

/**
 * Writes down, before it is looked at, that a record is alone in flight. Progress clears it; whoever survives without
 * progress takes it back.
 * @returns how often it was, this time included; undefined: somebody else has fenced
 */
export async function markAlone(db: Queryable, { topic, lane, incarnation, offset }: AloneRecord) {
  const { rows } = await db.query<{ deaths: number }>(
    `update lanes set suspect_deaths = case when suspect_offset = $4 then suspect_deaths else 0 end + 1, suspect_offset = $4
     where topic = $1 and lane = $2 and fences = $3 returning suspect_deaths as deaths`,
    [topic, lane, incarnation, offset],
  )
  return rows[0]?.deaths
}

export async function unmarkAlone(db: Queryable, { topic, lane, incarnation, offset }: AloneRecord): Promise<void> {
  await db.query(
    `update lanes set suspect_deaths = greatest(suspect_deaths - 1, 0)
     where topic = $1 and lane = $2 and fences = $3 and suspect_offset = $4`,
    [topic, lane, incarnation, offset],
  )
}

/** An owner that lets go in order has not died. */
export async function letGo(db: Queryable, { topic, lane, incarnation }: Omit<AloneRecord, 'offset'>): Promise<void> {
  await db.query('update lanes set is_owned = false where topic = $1 and lane = $2 and fences = $3', [
    topic,
    lane,
    incarnation,
  ])
}
