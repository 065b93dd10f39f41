import type pg from 'pg'
import { partitionFor } from '../runtime/kafka/partition.ts'
import { transaction, type Transaction } from '../runtime/postgres.ts'
import { FILTER, filterValues, filterView, type DeadLetterFilter } from './dead-letter-filter.ts'
import type { DeadLetterStatus } from './dead-letter.ts'
import { noteAction } from './note-action.ts'
import { whyNotReplayed, type ReplayCandidate, type ReplayRules } from './plan-replay.ts'
import { planView, type ReplayPlan, type ReplayPlanView } from './replay-plan-view.ts'
import { int, rowsOf } from './statement.ts'

/** What one command takes at most; the rest is for the next one. */
export const REPLAY_LETTERS_MAX = 10_000
/** Runs that are not sent yet; stopped ones do not count. */
export const REPLAY_RUNS_MAX = 10

export interface ReplayRequest extends ReplayRules {
  /** Without ids: only what is open (and quarantined, if asked for). */
  readonly filter: DeadLetterFilter
  readonly actor: string
  readonly reason: string
  readonly dryRun: boolean
  /** The same key with the same body is the same run, as long as it is kept. Unique per merchant of the filter. */
  readonly key?: { readonly idempotencyKey: string; readonly bodyHash: Buffer }
}

/** `runId` undefined: a dry run, or nothing that could be sent. */
export interface Requested extends ReplayPlan {
  readonly kind: 'requested'
  readonly runId: number | undefined
}
export type ReplayAsked =
  | Requested
  /** It was asked for before, under the same key. */
  | { readonly kind: 'same'; readonly runId: number; readonly plan: ReplayPlanView }
  | { readonly kind: 'key_reused' }
  /** `REPLAY_RUNS_MAX` are not sent yet. */
  | { readonly kind: 'too_many' }

/**
 * Chooses the dead letters of a replay and writes down that they are to be sent, in one transaction with the operator's
 * action. Nothing is sent yet: `sendReplays` does that, however often it is interrupted.
 */
export const requestReplay = (pool: pg.Pool, request: ReplayRequest): Promise<ReplayAsked> =>
  transaction(pool, async (tx) => {
    if (!request.dryRun) {
      const before = await enter(tx, request)
      if (before !== undefined) return before
    }
    const plan = await planOf(tx, request)
    const nothing = request.dryRun || plan.count === 0
    return { kind: 'requested', ...plan, runId: nothing ? undefined : await write(tx, request, plan) }
  })

/** Any number will do, as long as nothing else takes it for its locks. */
const LOCK = 72_057_115

/** One request at a time: so two with one key are one, and the limit is one. */
async function enter(tx: Transaction, { filter, key }: ReplayRequest): Promise<ReplayAsked | undefined> {
  await tx.query('select pg_advisory_xact_lock($1)', [LOCK])
  if (key !== undefined) {
    const { rows } = await tx.query<{ id: string; body_hash: Buffer; plan: ReplayPlanView }>(
      `select id, body_hash, plan from replay_runs where coalesce(merchant, '') = $1 and idempotency_key = $2`,
      [filter.merchant ?? '', key.idempotencyKey],
    )
    const [run] = rows
    if (run !== undefined)
      return run.body_hash.equals(key.bodyHash)
        ? { kind: 'same', runId: int(run.id), plan: run.plan }
        : { kind: 'key_reused' }
  }
  const { rows } = await tx.query<{ n: number }>(
    `select count(*)::int as n from (select distinct run_id from replays where sent_at is null) u
     join replay_runs r on r.id = u.run_id where r.stopped_at is null`,
  )
  return (rows[0]?.n ?? 0) >= REPLAY_RUNS_MAX ? { kind: 'too_many' } : undefined
}

async function planOf(tx: Transaction, request: ReplayRequest): Promise<Plan> {
  const found = await candidates(tx, request)
  const refused: ReplayPlan['refused'][number][] = []
  const letters: ReplayCandidate[] = []
  for (const letter of found.slice(0, REPLAY_LETTERS_MAX)) {
    const why = whyNotReplayed(letter, request)
    if (why === undefined) letters.push(letter)
    else refused.push({ id: letter.id, why })
  }
  const byReason: Record<string, number> = {}
  for (const { reason } of letters) byReason[reason] = (byReason[reason] ?? 0) + 1
  const { ids } = request.filter
  const notThere = ids === undefined ? 0 : new Set(ids).size - found.length
  return { letters, byReason, count: letters.length, refused, notThere, more: found.length > REPLAY_LETTERS_MAX }
}
type Plan = ReplayPlan & { readonly letters: readonly ReplayCandidate[] }

async function candidates(tx: Transaction, { filter, quarantined }: ReplayRequest): Promise<ReplayCandidate[]> {
  const open: DeadLetterStatus[] = quarantined ? ['open', 'quarantined'] : ['open']
  const statuses = filter.statuses ?? (filter.ids === undefined ? open : undefined)
  const text = `select d.id, d.reason, d.status, d.replay_count, d.lane, d.key, octet_length(d.value),
      octet_length(d.headers::text)
    from dead_letters d where ${FILTER} order by d.id limit ${REPLAY_LETTERS_MAX + 1} for update`
  type Row = [unknown, string, DeadLetterStatus, number, number, Buffer | null, number | null, number]
  const rows = await rowsOf<Row>(tx, { name: 'replay-candidates', text }, filterValues({ ...filter, statuses }))
  return rows.map(([id, reason, status, replayCount, lane, key, valueBytes, headerBytes]) => ({
    ...{ id: int(id), reason, status, replayCount, lane, key, valueBytes, headerBytes },
  }))
}

async function write(tx: Transaction, request: ReplayRequest, plan: Plan): Promise<number> {
  const { filter, actor, reason, partitions, key } = request
  const { rows } = await tx.query<{ id: string }>(
    `insert into replay_runs (actor, reason, filter, merchant, idempotency_key, body_hash, plan)
     values ($1, $2, $3, $4, $5, $6, $7) returning id`,
    [
      ...[actor, reason, filterView(filter), filter.merchant ?? null],
      ...[key?.idempotencyKey ?? null, key?.bodyHash ?? null, JSON.stringify(planView(plan))],
    ],
  )
  const runId = int(rows[0]?.id)
  const ids = plan.letters.map(({ id }) => id)
  const lanes = plan.letters.map((letter) => partitionFor(letter.key ?? '', partitions))
  await tx.query(
    `with changed as (
       update dead_letters set status = 'replaying', replay_count = replay_count + 1, closed_at = null
       where id = any($2::int8[]) returning id, replay_count
     )
     insert into replays (run_id, dead_letter_id, count, lane)
     select $1, c.id, c.replay_count, l.lane
     from unnest($2::int8[], $3::int2[]) l (id, lane) join changed c on c.id = l.id order by c.id`,
    [runId, ids, lanes],
  )
  const target = { run: runId, filter: filterView(filter), count: ids.length, ids: ids.slice(0, 100) }
  await noteAction(tx, { actor, action: 'dead_letters_replay', target: JSON.stringify(target), reason })
  return runId
}
