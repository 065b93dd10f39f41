import type { Queryable } from '../runtime/postgres.ts'
import { int } from './statement.ts'

/** What waits in the whole installation, and what of some lanes is not emitted yet. Ages in seconds, 0: nothing. */
export interface Backlog {
  readonly heldFacts: number
  readonly heldOldestSec: number
  readonly anomaliesByKind: Readonly<Record<string, number>>
  readonly anomaliesOldestSec: number
  readonly deadLettersOpen: number
  /** Age of the oldest event at or above the ledger, by lane; lanes with none are absent. */
  readonly unemittedSecByLane: ReadonlyMap<number, number>
}

interface Row {
  held: string
  held_sec: number
  anomalies: Record<string, number> | null
  anomalies_sec: number
  dead_letters: string
  unemitted: [number, number][] | null
}

const ageSec = (instant: string) => `coalesce(extract(epoch from now() - ${instant}), 0)::float8`
const READ_BACKLOG = `
select
  (select count(*) from facts where outcome = 'held') as held,
  (select ${ageSec('min(recorded_at)')} from facts where outcome = 'held') as held_sec,
  (select json_object_agg(kind, n) from
    (select kind, count(*) as n from anomalies where resolved_at is null group by kind) k) as anomalies,
  (select ${ageSec('min(opened_at)')} from anomalies where resolved_at is null) as anomalies_sec,
  (select count(*) from dead_letters where status = 'open') as dead_letters,
  (select json_agg(json_build_array(l.lane, ${ageSec('e.created_at')}))
    from unnest($1::int2[], $2::int8[]) as l (lane, ledger) cross join lateral
      (select created_at from events where lane = l.lane and lane_seq >= l.ledger order by lane_seq limit 1) e
  ) as unemitted`

/** One query for all gauges that only Postgres knows. @param ledgers each lane's ledger as its owner has it */
export async function readBacklog(db: Queryable, ledgers: ReadonlyMap<number, number>): Promise<Backlog> {
  const { rows } = await db.query<Row>(READ_BACKLOG, [[...ledgers.keys()], [...ledgers.values()]])
  const [row] = rows
  if (row === undefined) throw new Error('a select of aggregates returned no row')
  return {
    heldFacts: int(row.held),
    heldOldestSec: row.held_sec,
    anomaliesByKind: row.anomalies ?? {},
    anomaliesOldestSec: row.anomalies_sec,
    deadLettersOpen: int(row.dead_letters),
    unemittedSecByLane: new Map(row.unemitted ?? []),
  }
}
