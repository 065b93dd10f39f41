import type pg from 'pg'
import { partitionFor } from '../runtime/kafka/partition.ts'
import { transaction, type Transaction } from '../runtime/postgres.ts'
import { FILTER, filterValues, filterView, type DeadLetterFilter } from './dead-letter-filter.ts'
import type { DeadLetterStatus } from './dead-letter.ts'
import { whyNotReplayed, type ReplayCandidate, type ReplayRefusal, type ReplayRules } from './plan-replay.ts'
import { int, rowsOf } from './statement.ts'

/** What one command takes at most; the rest is for the next one. */
export const REPLAY_LETTERS_MAX = 10_000

export interface ReplayRequest extends ReplayRules {
  /** Without ids: only what is open (and quarantined, if asked for). */
  readonly filter: DeadLetterFilter
  readonly actor: string
  readonly reason: string
  readonly dryRun: boolean
}

export interface Requested {
  /** Undefined: a dry run, or nothing that could be sent. */
  readonly runId: number | undefined
  /** Letters that will be (or would be) sent, by the reason for which they are dead letters. */
  readonly byReason: Readonly<Record<string, number>>
  readonly count: number
  readonly refused: readonly { readonly id: number; readonly why: ReplayRefusal }[]
  /** More are there than one command takes. */
  readonly more: boolean
}

/**
 * Chooses the dead letters of a replay and writes down that they are to be sent, in one transaction with the operator's
 * action. Nothing is sent yet: `sendReplays` does that, however often it is interrupted.
 */
export const requestReplay = (pool: pg.Pool, request: ReplayRequest): Promise<Requested> =>
  transaction(pool, async (tx) => {
    const found = await candidates(tx, request)
    const refused: Requested['refused'][number][] = []
    const accepted: ReplayCandidate[] = []
    for (const letter of found.slice(0, REPLAY_LETTERS_MAX)) {
      const why = whyNotReplayed(letter, request)
      if (why === undefined) accepted.push(letter)
      else refused.push({ id: letter.id, why })
    }
    const byReason: Record<string, number> = {}
    for (const { reason } of accepted) byReason[reason] = (byReason[reason] ?? 0) + 1
    const runId = request.dryRun || accepted.length === 0 ? undefined : await write(tx, request, accepted)
    return { runId, byReason, count: accepted.length, refused, more: found.length > REPLAY_LETTERS_MAX }
  })

async function candidates(tx: Transaction, { filter, quarantined }: ReplayRequest): Promise<ReplayCandidate[]> {
  const open: DeadLetterStatus[] = quarantined ? ['open', 'quarantined'] : ['open']
  const statuses = filter.statuses ?? (filter.ids === undefined ? open : undefined)
  const text = `select d.id, d.reason, d.status, d.replay_count, d.lane, d.key, octet_length(d.value)
    from dead_letters d where ${FILTER} order by d.id limit ${REPLAY_LETTERS_MAX + 1} for update`
  type Row = [unknown, string, DeadLetterStatus, number, number, Buffer | null, number | null]
  const rows = await rowsOf<Row>(tx, { name: 'replay-candidates', text }, filterValues({ ...filter, statuses }))
  return rows.map(([id, reason, status, replayCount, lane, key, valueBytes]) => ({
    ...{ id: int(id), reason, status, replayCount, lane, key, valueBytes },
  }))
}

async function write(
  tx: Transaction,
  { filter, actor, reason, partitions }: ReplayRequest,
  letters: readonly ReplayCandidate[],
): Promise<number> {
  const { rows } = await tx.query<{ id: string }>(
    'insert into replay_runs (actor, reason, filter) values ($1, $2, $3) returning id',
    [actor, reason, filterView(filter)],
  )
  const runId = int(rows[0]?.id)
  const ids = letters.map(({ id }) => id)
  const lanes = letters.map(({ key }) => partitionFor(key ?? '', partitions))
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
  await tx.query(
    `insert into operator_actions (actor, action, target, reason) values ($1, 'dead_letters_replay', $2, $3)`,
    [actor, { run: runId, filter: filterView(filter), count: ids.length, ids: ids.slice(0, 100) }, reason],
  )
  return runId
}
