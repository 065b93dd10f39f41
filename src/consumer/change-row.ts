import type { Queryable } from '../runtime/postgres.ts'
import type { OpenRow } from './open-row.ts'

export type DeadKind = 'refused' | 'poison' | 'gave_up' | 'no_effect_for_kind' | 'killed_process'

export interface Owner {
  readonly consumer: string
  /** With the installation's prefix. */
  readonly topic: string
}

// Each statement changes a row only as it was found: whoever lost it to another changes nothing.
const AS_FOUND = `consumer = $1 and event_id = $2 and state = $3 and fence = $4`
const found = (consumer: string, row: OpenRow) => [consumer, row.eventId, row.state, row.fence.toString()]

/** The event is done; what it said is no longer needed. */
export const settleRow = (tx: Queryable, { consumer }: Owner, row: OpenRow, reference: string | undefined) =>
  change(
    tx,
    'settle',
    `update paidonce_consumer.inbox
     set state = 'done', settled_at = clock_timestamp(), event = null, reason = null, reference = $5
     where ${AS_FOUND}`,
    [...found(consumer, row), reference ?? null],
  )

/** The call may begin: nothing may leave the process before this is committed. @returns the call's fence */
export async function writeCalling(
  tx: Queryable,
  { consumer }: Owner,
  row: OpenRow,
  lookAfterMs: number,
): Promise<bigint> {
  const { rows } = await tx.query<{ fence: string }>({
    name: 'paidonce-calling',
    text: `update paidonce_consumer.inbox
           set state = 'calling', fence = nextval('paidonce_consumer.fence'), called_at = clock_timestamp(), asks = 0,
             due_at = clock_timestamp() + $5 * interval '1 millisecond'
           where ${AS_FOUND} returning fence`,
    values: [...found(consumer, row), lookAfterMs],
  })
  if (rows[0] === undefined) throw new Error(`the row of ${row.eventId} changed under its lock`)
  return BigInt(rows[0].fence)
}

/**
 * The outcome of the last call is not known: it is asked for, under a higher fence; nobody may begin that call now.
 * @returns the fence; undefined if the row was no longer as it was found
 */
export async function writeAsking(
  tx: Queryable,
  { consumer }: Owner,
  row: OpenRow,
  { reason, afterMs, asks }: { readonly reason: string; readonly afterMs: number; readonly asks: number },
): Promise<bigint | undefined> {
  const { rows } = await tx.query<{ fence: string }>({
    name: 'paidonce-asking',
    text: `update paidonce_consumer.inbox
           set state = 'asking', fence = nextval('paidonce_consumer.fence'), reason = $5, asks = $6,
             due_at = clock_timestamp() + $7 * interval '1 millisecond'
           where ${AS_FOUND} returning fence`,
    values: [...found(consumer, row), printable(reason), asks, afterMs],
  })
  return rows[0] && BigInt(rows[0].fence)
}

/** It is tried later; until then the order's later events wait. */
export const putOff = (
  tx: Queryable,
  { consumer }: Owner,
  row: OpenRow,
  {
    reason,
    afterMs,
    attempts,
  }: { readonly reason: string | null; readonly afterMs: number; readonly attempts: number },
) =>
  change(
    tx,
    'put-off',
    `update paidonce_consumer.inbox
     set state = 'waiting', reason = $5, attempts = $6, due_at = clock_timestamp() + $7 * interval '1 millisecond'
     where ${AS_FOUND}`,
    [...found(consumer, row), reason === null ? null : printable(reason), attempts, afterMs],
  )

/** Nobody can say whether it happened: a person must. The order's later events wait for the answer. */
export const leaveUnsettled = (tx: Queryable, { consumer }: Owner, row: OpenRow, reason: string) =>
  change(
    tx,
    'unsettled',
    `update paidonce_consumer.inbox set state = 'unsettled', reason = $5, due_at = 'infinity' where ${AS_FOUND}`,
    [...found(consumer, row), printable(reason)],
  )

/** The event becomes a dead letter; the order's later events go on. */
export const bury = (tx: Queryable, { consumer, topic }: Owner, row: OpenRow, kind: DeadKind, reason: string) =>
  change(
    tx,
    'bury',
    `with buried as (
       update paidonce_consumer.inbox set state = 'dead', settled_at = clock_timestamp(), reason = $5
       where ${AS_FOUND} returning *)
     insert into paidonce_consumer.dead_letters
       (consumer, topic, lane, record_offset, event_id, order_key, kind, reason, value)
     select consumer, $6, lane, record_offset, event_id, order_key, $7, $5, convert_to(event, 'UTF8') from buried
     on conflict (consumer, topic, lane, record_offset) do update set event_id = excluded.event_id,
       order_key = excluded.order_key, kind = excluded.kind, reason = excluded.reason, value = excluded.value`,
    [...found(consumer, row), printable(reason), topic, kind],
  )

/** @returns whether the row was still as it was found */
async function change(tx: Queryable, name: string, text: string, values: unknown[]): Promise<boolean> {
  const { rowCount } = await tx.query({ name: `paidonce-${name}`, text, values })
  return rowCount === 1
}

const REASON_CHARS_MAX = 1_000

/** Anybody's words: Postgres refuses a NUL. */
const printable = (reason: string) => reason.replaceAll('\0', '').slice(0, REASON_CHARS_MAX).toWellFormed()
