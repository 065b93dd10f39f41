import pg from 'pg'
import { noSteps, transaction, type OnStep, type Transaction, type TransactionStep } from '../runtime/postgres.ts'
import { int8s, uuids } from './bind.ts'
import type { LaneRow } from './lane-row.ts'
import { noteAction } from './note-action.ts'
import { int } from './statement.ts'

/** An event's place, as the output topics have it. */
export interface ImportedEvent {
  readonly eventId: string
  readonly laneSeq: number
}

export interface RebuildRequest {
  /** As it was read; nobody may have changed it since. */
  readonly row: LaneRow
  readonly ledger: number
  /** Of the output topics, at or above the row's counter and below the ledger; in any order, a page at a time. */
  readonly events: AsyncIterable<readonly ImportedEvent[]>
  /** The lane reads another log than before, from this offset on; undefined: it goes on where it stands. */
  readonly readAnewFrom: number | undefined
  /** The id of the topic that is read anew; left out: unknown. */
  readonly inputId?: string | undefined
  /** Topics that have lost what they had, and how many events of each are sent again; kept with the action. */
  readonly sentAgain?: Readonly<Record<string, number>>
  readonly actor: string
  readonly reason: string
}

export type Rebuilt =
  /** `logId` names the log that the lane reads now, if it is not the first. */
  | { readonly kind: 'rebuilt'; readonly imported: number; readonly logId: string | undefined }
  /** The lane was resumed, skipped or fenced anew meanwhile. */
  | { readonly kind: 'changed' }
  /** The topics do not have all numbers in between: what is out cannot be told. */
  | { readonly kind: 'incomplete'; readonly found: number; readonly wanted: number }
  /** Two different events claim one number: the topics had another writer. */
  | { readonly kind: 'ambiguous'; readonly detail: string }

class Incomplete extends Error {
  readonly found: number
  constructor(found: number) {
    super('incomplete')
    this.found = found
  }
}

/**
 * Brings a halted lane's row up to what Kafka has seen emitted, in one transaction: the numbers that Postgres does not
 * know are imported, all or none, and the counter is raised. The lane stays halted.
 */
export async function rebuildLane(
  pool: pg.Pool,
  request: RebuildRequest,
  onStep: OnStep<TransactionStep | 'imported'> = noSteps,
): Promise<Rebuilt> {
  const { row, ledger, events, readAnewFrom, inputId, sentAgain, actor, reason } = request
  const wanted = Math.max(0, ledger - row.nextSeq)
  try {
    return await transaction(
      pool,
      async (tx) => {
        if (!(await isUnchanged(tx, row))) return { kind: 'changed' }
        if (wanted > 0) await importAll(tx, row.lane, events)
        const found = wanted === 0 ? 0 : await countImported(tx, row, ledger)
        if (found !== wanted) throw new Incomplete(found)
        await onStep('imported')
        await tx.query(
          `update lanes set next_seq = greatest(next_seq, $3), settled_seq = greatest(settled_seq, $3), updated_at = now()
         where topic = $1 and lane = $2`,
          [row.topic, row.lane, ledger],
        )
        const logId =
          readAnewFrom === undefined ? row.logId : await readAnew(tx, row, readAnewFrom, nextLogId(row.logId, inputId))
        const haltedReason = row.halted?.reason
        const { topic, lane } = row
        const target = { topic, lane, haltedReason, ledger, imported: wanted, readAnewFrom, sentAgain }
        await noteAction(tx, { actor, action: 'lane_rebuild', target: JSON.stringify(target), reason })
        return { kind: 'rebuilt', imported: wanted, logId }
      },
      onStep,
    )
  } catch (error) {
    if (error instanceof Incomplete) return { kind: 'incomplete', found: error.found, wanted }
    if (error instanceof pg.DatabaseError && error.constraint === 'imported_events_lane')
      return { kind: 'ambiguous', detail: error.detail ?? error.message }
    throw error
  }
}

/**
 * Facts have no offset in their identity, so that a log may be read again from anywhere. Dead letters have: those of the
 * log before go below zero, so that the new one's are not taken for them; and their notices are named by the log from
 * here on, so that no id is used again.
 */
async function readAnew(tx: Transaction, { topic, lane }: LaneRow, from: number, logId: string): Promise<string> {
  await tx.query(
    `update lanes set applied_offset = $3, previous_offset = $3, skips = '{}', dead_letter_offsets = '{}',
       suspect_offset = null, suspect_deaths = 0, owner_deaths = 0, log_id = $4 where topic = $1 and lane = $2`,
    [topic, lane, from, logId],
  )
  await tx.query(
    `update dead_letters set kafka_offset = m.lowest - 1 - kafka_offset
     from (select least(0, min(kafka_offset)) as lowest from dead_letters where topic = $1 and lane = $2) m
     where topic = $1 and lane = $2 and kafka_offset >= 0`,
    [topic, lane],
  )
  return logId
}

/**
 * By the topic's id, and no chance: where Postgres is set back to before and the log is begun anew again, its notices
 * must have the ids that they had. A log that is begun a second time is another one.
 */
export function nextLogId(before: string | undefined, inputId = ''): string {
  const id = inputId === '' ? 'log' : inputId
  const [name, times = '1'] = (before ?? '').split('.')
  return name === id ? `${id}.${Number(times) + 1}` : id
}

/** The order of a record that the lane has applied, and where it stood; undefined: no delivery of it is kept. */
export async function anAppliedRecord(
  pool: pg.Pool,
  { lane, appliedOffset }: LaneRow,
  logStart: number,
): Promise<{ readonly offset: number; readonly outTradeNo: string } | undefined> {
  const { rows } = await pool.query<{ at: string; key: string }>(
    `select d.kafka_offset as at, o.out_trade_no as key from deliveries d join orders o on o.id = d.order_id
     where d.lane = $1 and d.kafka_offset >= $2 and d.kafka_offset < $3 limit 1`,
    [lane, logStart, appliedOffset],
  )
  return rows[0] && { offset: int(rows[0].at), outTradeNo: rows[0].key }
}

async function isUnchanged(tx: Transaction, row: LaneRow): Promise<boolean> {
  const { rows } = await tx.query<{ same: boolean }>(
    `select halted_reason is not distinct from $3 and next_seq = $4 and settled_seq = $5 and applied_offset = $6 as same
     from lanes where topic = $1 and lane = $2 for no key update`,
    [row.topic, row.lane, row.halted?.reason ?? null, row.nextSeq, row.settledSeq, row.appliedOffset],
  )
  return rows[0]?.same === true
}

/** What a rebuild that was not finished, or an earlier restore, has left is of the same ids and numbers. */
async function importAll(tx: Transaction, lane: number, events: RebuildRequest['events']): Promise<void> {
  for await (const page of events)
    await tx.query(
      `insert into imported_events (event_id, lane, lane_seq)
       select e.event_id, $1, e.lane_seq from unnest($2::uuid[], $3::int8[]) as e (event_id, lane_seq)
       on conflict (event_id) do nothing`,
      [lane, uuids(page.map(({ eventId }) => eventId)), int8s(page.map(({ laneSeq }) => laneSeq))],
    )
}

async function countImported(tx: Transaction, { lane, nextSeq }: LaneRow, ledger: number): Promise<number> {
  const { rows } = await tx.query<{ n: string }>(
    'select count(*) as n from imported_events where lane = $1 and lane_seq >= $2 and lane_seq < $3',
    [lane, nextSeq, ledger],
  )
  return int(rows[0]?.n)
}

/** The last number of each topic among the lane's events below one; if they are all out, the topic has held it. */
export async function lastBelow(pool: pg.Pool, lane: number, below: number): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ topic: string; last: string }>(
    'select topic, max(lane_seq) as last from events where lane = $1 and lane_seq < $2 group by topic',
    [lane, below],
  )
  return new Map(rows.map(({ topic, last }) => [topic, int(last)]))
}

/** The event with this number, and its topic; undefined: Postgres has none. */
export async function eventAt(
  pool: pg.Pool,
  lane: number,
  laneSeq: number,
): Promise<{ readonly topic: string; readonly eventId: string } | undefined> {
  const { rows } = await pool.query<{ topic: string; id: string }>(
    'select topic, event_id::text as id from events where lane = $1 and lane_seq = $2',
    [lane, laneSeq],
  )
  return rows[0] && { topic: rows[0].topic, eventId: rows[0].id }
}
