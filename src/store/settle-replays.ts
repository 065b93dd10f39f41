import type pg from 'pg'
import { transaction } from '../runtime/postgres.ts'
import { REPLAYS_MAX, type DeadLetterReason } from './dead-letter.ts'
import type { DeliveryOutcome } from './delivery.ts'
import { int, rowsOf } from './statement.ts'

/**
 * What became of a replayed record. `applied`: it changed something or was noted. `held`, `anomaly`: it was taken, and
 * waits. `duplicate`: all that it says was known, nothing was done. `refused`: its order is archived or says otherwise, or
 * its place was skipped. `failed_again`: it is a dead letter again, a new one; `quarantined`: that one is not replayed
 * again unless asked for by name.
 */
export type ReplayResult = 'applied' | 'held' | 'anomaly' | 'duplicate' | 'refused' | 'failed_again' | 'quarantined'

const RESULT: Record<DeliveryOutcome, ReplayResult> = {
  applied: 'applied',
  noted: 'applied',
  held: 'held',
  anomaly: 'anomaly',
  duplicate: 'duplicate',
  conflict: 'refused',
  archived: 'refused',
  skipped: 'refused',
  dead_letter: 'failed_again',
}
const MOST_TELLING: readonly ReplayResult[] = ['failed_again', 'applied', 'anomaly', 'held', 'refused', 'duplicate']

/**
 * @param outcomes of the record's facts, as its lane wrote them down
 * @param again why it is a dead letter again: that an order is archived is no failure, and no replay mends it
 * @returns undefined: the lane has not met it yet
 */
export function resultOf(outcomes: readonly DeliveryOutcome[], again: string | null = null): ReplayResult | undefined {
  const isArchived = again === ('archived_order' satisfies DeadLetterReason)
  const results = new Set(outcomes.map((o) => (o === 'dead_letter' && isArchived ? 'refused' : RESULT[o])))
  return MOST_TELLING.find((result) => results.has(result))
}

export interface ReplayReport {
  readonly id: number
  readonly letterId: number
  readonly lane: number
  /** Where the lane met it; null: not yet, or longer ago than deliveries are kept. */
  readonly offset: number | null
  readonly isSent: boolean
  /** null: the lane has not met it yet. */
  readonly result: ReplayResult | null
  readonly detail: string | null
}

// A record that was sent twice is answered by its first copy: the dedupe took the second one.
const PENDING = {
  name: 'pending-replays',
  text: `select r.id, v.outcomes, v.kafka_offset, n.id, n.reason, n.detail, r.count from replays r
    cross join lateral (
      select kafka_offset, array_agg(outcome::text) as outcomes from deliveries v where v.replay_id = r.id
      group by kafka_offset order by kafka_offset limit 1
    ) v
    left join dead_letters n on n.replay_id = r.id
    where r.run_id = $1 and r.result is null order by r.id`,
}

/** Looks what the lanes have done with a run's records, and keeps it. @returns how many are still not met */
export const settleReplays = (pool: pg.Pool, runId: number): Promise<number> =>
  transaction(pool, async (tx) => {
    type Row = [unknown, DeliveryOutcome[], unknown, unknown, string | null, string | null, number]
    const rows = await rowsOf<Row>(tx, PENDING, [runId])
    const settled = rows.flatMap(([id, outcomes, offset, againId, reason, why, count]) => {
      const first = resultOf(outcomes, reason)
      const result = first === 'failed_again' && count >= REPLAYS_MAX ? 'quarantined' : first
      const detail =
        againId === null
          ? `${[...new Set(outcomes)].sort().join(', ')} at offset ${int(offset)}`
          : `dead letter ${int(againId)}: ${reason ?? ''}: ${why ?? ''}`.slice(0, 1_000)
      return result === undefined ? [] : [{ id: int(id), result, detail }]
    })
    if (settled.length > 0)
      await tx.query(
        `update replays r set result = s.result, detail = s.detail, finished_at = now()
         from unnest($1::int8[], $2::text[], $3::text[]) s (id, result, detail) where r.id = s.id`,
        [settled.map(({ id }) => id), settled.map(({ result }) => result), settled.map(({ detail }) => detail)],
      )
    const { rows: left } = await tx.query<{ n: number }>(
      'select count(*)::int as n from replays where run_id = $1 and result is null',
      [runId],
    )
    return left[0]?.n ?? 0
  })

/** Every run that is not answered yet: before deliveries, from which the answers are read, are dropped. */
export async function settleAllReplays(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ id: string }>('select distinct run_id as id from replays where result is null')
  for (const { id } of rows) await settleReplays(pool, int(id))
}

/** @returns undefined: there is no such run */
export async function readReplayRun(
  db: Pick<pg.ClientBase, 'query'>,
  runId: number,
): Promise<{ actor: string; reason: string; filter: unknown; replays: ReplayReport[] } | undefined> {
  const { rows: runs } = await db.query<{ actor: string; reason: string; filter: unknown }>(
    'select actor, reason, filter from replay_runs where id = $1',
    [runId],
  )
  if (runs[0] === undefined) return undefined
  const text = `select r.id, r.dead_letter_id, r.lane, r.sent_at is not null, r.result, r.detail,
      (select min(v.kafka_offset) from deliveries v where v.replay_id = r.id)
    from replays r where r.run_id = $1 order by r.id`
  type Row = [unknown, unknown, number, boolean, ReplayResult | null, string | null, unknown]
  const rows = await rowsOf<Row>(db, { name: 'read-replay-run', text }, [runId])
  return {
    ...runs[0],
    replays: rows.map(([id, letterId, lane, isSent, result, detail, offset]) => ({
      ...{ id: int(id), letterId: int(letterId), lane, isSent, result, detail },
      offset: offset === null ? null : int(offset),
    })),
  }
}
