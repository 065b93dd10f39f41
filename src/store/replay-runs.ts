import type pg from 'pg'
import { transaction, type Queryable } from '../runtime/postgres.ts'
import { noteAction } from './note-action.ts'
import type { ReplayPlanView } from './replay-plan-view.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** What a record of a run has come to: `not_sent` yet, sent and `not_met` by its lane yet, or its result. */
export const REPLAY_WORDS = [
  ...(['not_sent', 'not_met', 'applied', 'held', 'anomaly', 'duplicate'] as const),
  ...(['refused', 'failed_again', 'quarantined'] as const),
] as const
export type ReplayWord = (typeof REPLAY_WORDS)[number]

export interface ReplayRun {
  readonly id: number
  readonly createdAtMs: number
  readonly actor: string
  readonly reason: string
  readonly filter: unknown
  readonly merchant: string | null
  /** Null: it is older than plans are. */
  readonly plan: ReplayPlanView | null
  readonly trouble: string | null
  readonly stoppedAtMs: number | null
  readonly counts: Readonly<Record<ReplayWord, number>>
}
export interface ReplayRecord {
  readonly id: number
  readonly letterId: number
  readonly lane: number
  readonly offset: number | null
  readonly word: ReplayWord
  readonly detail: string | null
}

const WORD = `coalesce(p.result, case when p.sent_at is null then 'not_sent' else 'not_met' end)`
const RUNS = {
  name: 'replay-runs',
  text: `select r.id, ${ms('r.created_at')}, r.actor, r.reason, r.filter, r.merchant, r.plan, r.trouble, ${ms('r.stopped_at')},
      (select json_object_agg(c.word, c.n) from
        (select ${WORD} as word, count(*) as n from replays p where p.run_id = r.id group by 1) c)
    from replay_runs r where r.filter->>'topic' = $1 and ($2::text is null or r.merchant = $2)
      and ($3::int8 is null or r.id = $3) and ($4::int8 is null or r.id < $4) order by r.id desc limit $5`,
}

/** Whose runs are meant; `merchant` null: everybody's. */
export interface RunsOf {
  readonly topic: string
  readonly merchant: string | null
}

/** The newest first. @param before the last id of the page before */
export async function listReplayRuns(
  db: Queryable,
  { topic, merchant, id = null }: RunsOf & { readonly id?: number | null },
  { before, limit }: { readonly before?: number | undefined; readonly limit: number },
): Promise<ReplayRun[]> {
  type Row = [
    ...[id: unknown, createdAtMs: unknown, actor: string, reason: string, filter: unknown, merchant: string | null],
    ...[
      plan: ReplayPlanView | null,
      trouble: string | null,
      stoppedAtMs: unknown,
      counts: Record<string, number> | null,
    ],
  ]
  const none = Object.fromEntries(REPLAY_WORDS.map((word) => [word, 0])) as Record<ReplayWord, number>
  const rows = await rowsOf<Row>(db, RUNS, [topic, merchant, id, before ?? null, limit])
  return rows.map((row) => ({
    ...{ id: int(row[0]), createdAtMs: int(row[1]), actor: row[2], reason: row[3], filter: row[4], merchant: row[5] },
    ...{ plan: row[6], trouble: row[7], stoppedAtMs: intOrNull(row[8]), counts: { ...none, ...row[9] } },
  }))
}

/** @returns undefined: there is none, or it is another's. */
export const findReplayRun = async (db: Queryable, of: RunsOf, id: number): Promise<ReplayRun | undefined> =>
  (await listReplayRuns(db, { ...of, id }, { limit: 1 }))[0]

const RECORDS = {
  name: 'replay-records',
  text: `select p.id, p.dead_letter_id, p.lane, ${WORD}, p.detail,
      (select min(v.kafka_offset) from deliveries v where v.replay_id = p.id)
    from replays p where p.run_id = $1 and p.id > $2 and ($3::text is null or ${WORD} = $3) order by p.id limit $4`,
}

/** A page of a run's records, in the order in which they are sent. @param after the last id of the page before */
export async function listReplayRecords(
  db: Queryable,
  runId: number,
  page: { readonly word?: ReplayWord | undefined; readonly after?: number | undefined; readonly limit: number },
): Promise<ReplayRecord[]> {
  type Row = [unknown, unknown, number, ReplayWord, string | null, unknown]
  const rows = await rowsOf<Row>(db, RECORDS, [runId, page.after ?? 0, page.word ?? null, page.limit])
  return rows.map(([id, letterId, lane, word, detail, offset]) => ({
    ...{ id: int(id), letterId: int(letterId), lane, word, detail, offset: intOrNull(offset) },
  }))
}

/** Runs that somebody is to send, the oldest first. */
export async function findUnsentRuns(db: Queryable, topic: string): Promise<number[]> {
  const text = `select r.id from (select distinct run_id from replays where sent_at is null) u
    join replay_runs r on r.id = u.run_id where r.stopped_at is null and r.filter->>'topic' = $1 order by r.id`
  return (await rowsOf<[unknown]>(db, { name: 'unsent-runs', text }, [topic])).map(([id]) => int(id))
}

/** Notes why a run does not get on. @param isStopped trying again is of no use: a person resumes it */
export async function noteTrouble(db: Queryable, id: number, trouble: string | null, isStopped = false): Promise<void> {
  await db.query(
    `update replay_runs set trouble = $2, stopped_at = case when $3 then now() end
     where id = $1 and (trouble is distinct from $2 or $3)`,
    [id, trouble, isStopped],
  )
}

/** Lets a stopped run go on, with the operator's action; one that is not stopped stays as it is. Safe to call again. */
export const resumeReplay = (
  pool: pg.Pool,
  { id, actor, reason }: { readonly id: number; readonly actor: string; readonly reason: string },
): Promise<void> =>
  transaction(pool, async (tx) => {
    const { rowCount } = await tx.query(
      'update replay_runs set stopped_at = null, trouble = null where id = $1 and stopped_at is not null',
      [id],
    )
    if (rowCount === 1)
      await noteAction(tx, { actor, action: 'dead_letters_replay_resume', target: JSON.stringify({ run: id }), reason })
  })
