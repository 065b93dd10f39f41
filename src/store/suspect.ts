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

/** An owner that lets go in order has not died. @returns false: somebody else has fenced since, and has counted it */
export async function letGo(
  db: Queryable,
  { topic, lane, incarnation }: Omit<AloneRecord, 'offset'>,
): Promise<boolean> {
  const { rows } = await db.query(
    'update lanes set is_owned = false where topic = $1 and lane = $2 and fences = $3 returning 1',
    [topic, lane, incarnation],
  )
  return rows.length > 0
}

/**
 * Nor has one that could not let go, as its connection was lost or a successor was faster, and that lives: takes back
 * what its successor has counted, and the blame of the record that was alone with it.
 * @param last its last incarnation, for which `letGo` was in vain; the process has no newer one
 */
export async function outlive(
  db: Queryable,
  { topic, lane, incarnation, aloneOffset }: Omit<AloneRecord, 'offset'> & { readonly aloneOffset: number | null },
): Promise<void> {
  await db.query(
    `update lanes set is_owned = is_owned and fences > $3,
       owner_deaths = owner_deaths - (fences > $3 and owner_deaths > 0)::int,
       suspect_deaths = suspect_deaths - (suspect_deaths > 0 and suspect_offset is not distinct from $4)::int
     where topic = $1 and lane = $2 and fences >= $3`,
    [topic, lane, incarnation, aloneOffset],
  )
}
