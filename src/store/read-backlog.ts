import type { Queryable } from '../runtime/postgres.ts'
import { int } from './statement.ts'
import { OWNER_DEATHS_SUSPECT } from './suspect.ts'

/** What waits in the whole installation, and what of some lanes is not emitted yet. Ages in seconds, 0: nothing. */
export interface Backlog {
  readonly heldFacts: number
  /** Of those whose limit has not come: then an anomaly tells of it, and ages until a person has answered. */
  readonly heldOldestSec: number
  /** Open ones; kinds with none are absent. */
  readonly anomalies: readonly OpenAnomalies[]
  readonly deadLettersByReason: Readonly<Record<string, number>>
  readonly deadLettersOldestSec: number
  /** Records of replays that their lanes have not met yet. */
  readonly replaysOpen: number
  readonly replaysOldestSec: number
  /** Lanes whose owners died, which therefore take one record at a time. */
  readonly lanesSuspect: number
  /** What providers are to be asked about; at most 10,000 of a lane are counted. */
  readonly queriesFiled: number
  /** How long ago the first of them was due. */
  readonly queriesOldestSec: number
  readonly brakes: { readonly set: number; readonly releasing: number }
  /** Counted up to 100,000. */
  readonly waitingEvents: number
  readonly waitingOldestSec: number
  /** Age of the oldest event at or above the ledger, by lane; lanes with none are absent. */
  readonly unemittedSecByLane: ReadonlyMap<number, number>
}

export interface OpenAnomalies {
  readonly kind: string
  readonly open: number
  /** Of those. */
  readonly claimed: number
  readonly oldestSec: number
}

interface Row {
  held: string
  held_sec: number
  anomalies: OpenAnomalies[] | null
  dead_letters: Record<string, number> | null
  dead_letters_sec: number
  replays: string
  replays_sec: number
  lanes_suspect: number
  queries: string
  queries_sec: number
  brakes_set: number
  brakes_releasing: number
  waiting: number
  waiting_sec: number
  unemitted: [number, number][] | null
}

const ageSec = (instant: string) => `coalesce(extract(epoch from now() - ${instant}), 0)::float8`
/** A long brake on a large merchant: asked every few seconds, more need not be counted. */
const WAITING_MAX = 100_000
/** Of a lane: whoever files more of them is told by the number as well. */
const QUERIES_COUNTED_MAX = 10_000
// Lane by lane, as the index begins with the lane: every pending order has a timer, and nobody may walk them all.
const READ_BACKLOG = `
with queries as materialized (
  select coalesce(sum(q.n), 0) as n, greatest(${ageSec('min(q.due_at)')}, 0) as sec
  from (select distinct lane from lanes) l cross join lateral (select count(*) as n, min(due_at) as due_at from
    (select t.due_at from timers t where t.lane = l.lane and t.kind = 'query'
      order by t.due_at limit ${QUERIES_COUNTED_MAX}) t) q)
select
  (select n from queries) as queries,
  (select sec from queries) as queries_sec,
  (select count(*) from facts where outcome = 'held') as held,
  (select ${ageSec('min(f.recorded_at)')} from facts f where f.outcome = 'held' and exists (select from timers t
    where t.order_id = f.order_id and t.kind = 'held_limit'
      and t.ref = f.event_type::text || '/' || f.provider_ref)) as held_sec,
  (select json_agg(k) from (select kind, count(*) as open, count(owner) as claimed,
      ${ageSec('min(opened_at)')} as "oldestSec"
    from anomalies where resolved_at is null group by kind) k) as anomalies,
  (select json_object_agg(reason, n) from
    (select reason, count(*) as n from dead_letters where status = 'open' group by reason) r) as dead_letters,
  (select ${ageSec('min(created_at)')} from dead_letters where status = 'open') as dead_letters_sec,
  (select count(*) from replays where result is null) as replays,
  (select ${ageSec('min(r.created_at)')} from replay_runs r
    where r.id in (select run_id from replays where result is null)) as replays_sec,
  (select count(*) from lanes where owner_deaths >= ${OWNER_DEATHS_SUSPECT})::int as lanes_suspect,
  (select count(*) from brakes where done_at is null and released_at is null)::int as brakes_set,
  (select count(*) from brakes where done_at is null and released_at is not null)::int as brakes_releasing,
  (select count(*) from (select from waiting_events limit ${WAITING_MAX}) w)::int as waiting,
  ${ageSec('(select created_at from waiting_events order by id limit 1)')} as waiting_sec,
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
    anomalies: row.anomalies ?? [],
    deadLettersByReason: row.dead_letters ?? {},
    deadLettersOldestSec: row.dead_letters_sec,
    replaysOpen: int(row.replays),
    replaysOldestSec: row.replays_sec,
    lanesSuspect: row.lanes_suspect,
    queriesFiled: int(row.queries),
    queriesOldestSec: row.queries_sec,
    brakes: { set: row.brakes_set, releasing: row.brakes_releasing },
    waitingEvents: row.waiting,
    waitingOldestSec: row.waiting_sec,
    unemittedSecByLane: new Map(row.unemitted ?? []),
  }
}
