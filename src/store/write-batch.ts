import type { Decision, TimerKey } from '../orders/decision.ts'
import type { StoredFact } from '../orders/model.ts'
import type { Transaction } from '../runtime/postgres.ts'
import { createBinder } from './binder.ts'
import type { Delivery } from './delivery.ts'
import { bindEvent, type UnnumberedEvent } from './event-columns.ts'
import { FLOOD_OFFSETS_MAX, FLOOD_WINDOW } from './dead-letter.ts'
import { int, rowsOf } from './statement.ts'

/** What the lane's row must still say, or nothing is written. */
export interface Guard {
  readonly topic: string
  readonly lane: number
  readonly next: number
  readonly ledger: number
  readonly brakeVersion: number
}

/**
 * A timer, unique by its first three fields. The lane takes `expiry` and `held_limit` itself; a `query` lies there for
 * whoever asks providers, its `ref` naming what to ask about: `refund:<out_refund_no>`; one that is there already becomes
 * due earlier, never later.
 */
export interface NewTimer {
  readonly orderId: number
  readonly kind: TimerKey['kind'] | 'query'
  readonly ref: string
  readonly dueAtMs: number
}

/** All that one transaction of a lane writes. */
export interface Writes extends Pick<
  Decision,
  'orders' | 'changedFacts' | 'openedAnomalies' | 'resolvedAnomalies' | 'groups' | 'doneTimers'
> {
  readonly newTimers: readonly NewTimer[]
  /** The offset after the batch; a wake's is its position. */
  readonly end: number
  /** The lane's clock; its UTC day is that of the events' partition. */
  readonly nowMs: number
  readonly events: readonly UnnumberedEvent[]
  readonly facts: readonly { readonly orderId: number; readonly fact: StoredFact; readonly offset: number }[]
  readonly deliveries: readonly Delivery[]
  /** Newly kept dead letters that count towards a flood. */
  readonly floodOffsets: readonly number[]
  /** Stubs of archived orders, inserted by this very transaction. */
  readonly archivedStubIds: readonly number[]
  readonly finishedCommands: readonly FinishedCommand[]
  readonly operatorActions: readonly OperatorAction[]
  /** Wake items: nobody asks for their result. */
  readonly spentCommandIds: readonly number[]
  readonly spentTimerIds: readonly number[]
}

export interface FinishedCommand {
  readonly id: number
  readonly status: 'done' | 'failed'
  /** JSON */
  readonly result: string
}

/** What a person did, kept for ever, in the transaction of its effect. */
export interface OperatorAction {
  readonly actor: string
  readonly action: string
  /** JSON */
  readonly target: string
  readonly reason: string
}

export const NOTHING: Omit<Writes, 'end' | 'nowMs'> = {
  orders: [],
  changedFacts: [],
  openedAnomalies: [],
  resolvedAnomalies: [],
  groups: [],
  newTimers: [],
  doneTimers: [],
  events: [],
  facts: [],
  deliveries: [],
  floodOffsets: [],
  archivedStubIds: [],
  finishedCommands: [],
  operatorActions: [],
  spentCommandIds: [],
  spentTimerIds: [],
}

const $ = createBinder<{ writes: Writes; guard: Guard }>()
const lane = $.int2(({ guard }) => guard.lane)
const eventCount = $.int8(({ writes }) => writes.events.length)
const end = $.int8(({ writes }) => writes.end)
const next = $.int8(({ guard }) => guard.next)
/** Records were applied, so none of them kills its owner. A wake's end is its position. */
const unlessProgress = (column: string, cleared: string) =>
  `${column} = case when ${end} > ${next} then ${cleared} else ${column} end`
const floods = $.int8Array(({ writes }) => writes.floodOffsets)

// The lane's row comes first and everything joins it: no row, nothing written. `previous_offset` is set to the value
// before, so that a delivery is written only by the first run of its batch and needs no unique key (-85 B of WAL).
const LANE_ROW = `
  update lanes set next_seq = next_seq + ${eventCount}, previous_offset = applied_offset,
    applied_offset = greatest(applied_offset, ${end}), settled_seq = greatest(settled_seq, ${$.int8(({ guard }) => guard.ledger)}),
    dead_letter_offsets = case when ${floods} = '{}' then dead_letter_offsets else array(
      select o from unnest(dead_letter_offsets || ${floods}) o where o >= ${end} - ${FLOOD_WINDOW}
      order by o desc limit ${FLOOD_OFFSETS_MAX}) end,
    ${unlessProgress('owner_deaths', '0')}, ${unlessProgress('suspect_deaths', '0')}, ${unlessProgress('suspect_offset', 'null')},
    updated_at = now()
  where topic = ${$.text(({ guard }) => guard.topic)} and lane = ${lane}
    and next_seq >= ${$.int8(({ guard }) => guard.ledger)} and applied_offset >= ${next}
    and brake_version = ${$.int8(({ guard }) => guard.brakeVersion)} and halted_reason is null
  returning next_seq - ${eventCount} as base_seq, previous_offset, cardinality(dead_letter_offsets) as flood`

const EVENTS = `
  insert into events (lane, lane_seq, day, topic, event_id, kind, order_id, merchant, key, sequence, cause, amount_minor,
    currency, payment_ref, occurred_at, received_at, attrs, traceparent)
  select ${lane}, l.base_seq + e.ord - 1, ${$.day(({ writes }) => writes.nowMs)}, e.topic, e.event_id, e.kind, e.order_id, e.merchant, e.key, e.sequence, e.cause,
    e.amount_minor, e.currency, e.payment_ref, e.occurred_at, e.received_at, e.attrs, e.traceparent
  from l, ${$.rows(
    'e',
    ({ writes }) => writes.events,
    (is) => bindEvent(is, (event) => event),
  )}`

const FACTS = `
  insert into facts (order_id, event_type, provider_ref, payment_ref, amount_minor, currency, amount_kind, event_time,
    outcome, detail, lane, kafka_offset)
  select f.order_id, f.event_type, f.provider_ref, f.payment_ref, f.amount_minor, f.currency, f.amount_kind, f.event_time,
    f.outcome, f.detail, ${lane}, f.kafka_offset
  from l, ${$.rows(
    'f',
    ({ writes }) => writes.facts,
    (is) => [
      is.int8('order_id', (f) => f.orderId),
      is.label('fact_kind', 'event_type', (f) => f.fact.eventType),
      is.text('provider_ref', (f) => f.fact.providerRef),
      is.text('payment_ref', (f) => f.fact.paymentRef),
      is.int8('amount_minor', (f) => f.fact.amountMinor),
      is.text('currency', (f) => f.fact.currency),
      is.label('amount_kind', 'amount_kind', (f) => f.fact.amountKind),
      is.timestamp('event_time', (f) => f.fact.eventTimeMs),
      is.label('fact_outcome', 'outcome', (f) => f.fact.outcome),
      is.text('detail', (f) => f.fact.detail),
      is.int8('kafka_offset', (f) => f.offset),
    ],
  )}
  on conflict do nothing returning 1`

// `= any` besides the join, here and below: a plan that was made while the table was empty begins with the table, and
// would walk all of it in every batch (5 ms at 19,000 facts).
const CHANGED_FACTS = `
  update facts f set outcome = c.outcome from l, ${$.rows(
    'c',
    ({ writes }) => writes.changedFacts,
    (is) => [
      is.int8('order_id', (f) => f.orderId),
      is.label('fact_kind', 'event_type', (f) => f.eventType),
      is.text('provider_ref', (f) => f.providerRef),
      is.label('fact_outcome', 'outcome', (f) => f.outcome),
    ],
  )}
  where f.order_id = any(${$.int8Array(({ writes }) => writes.changedFacts.map(({ orderId }) => orderId))})
    and f.order_id = c.order_id and f.event_type = c.event_type and f.provider_ref = c.provider_ref`

const ORDERS = `
  update orders o set status = u.status, accepted_ref = u.accepted_ref, paid_at = u.paid_at, closed_by = u.closed_by,
    closed_at = u.closed_at, version = u.version, held_count = u.held_count, sequence = u.sequence, updated_at = now()
  from l, ${$.rows(
    'u',
    ({ writes }) => writes.orders,
    (is) => [
      is.int8('id', (o) => o.id),
      is.label('order_status', 'status', (o) => o.status),
      is.text('accepted_ref', (o) => o.acceptedRef),
      is.timestamp('paid_at', (o) => o.paidAtMs),
      is.text('closed_by', (o) => o.closedBy),
      is.timestamp('closed_at', (o) => o.closedAtMs),
      is.int4('version', (o) => o.version),
      is.int4('held_count', (o) => o.heldCount),
      is.int4('sequence', (o) => o.sequence),
    ],
  )}
  where o.id = u.id returning 1`

const DELIVERIES = `
  insert into deliveries (lane, kafka_offset, day, order_id, provider, source, event_type, provider_ref, outcome, received_at,
    replay_id)
  select ${lane}, d.kafka_offset, d.day, d.order_id, d.provider, d.source, d.event_type, d.provider_ref, d.outcome, d.received_at,
    d.replay_id
  from l, ${$.rows(
    'd',
    ({ writes }) => writes.deliveries,
    (is) => [
      is.int8('kafka_offset', (d) => d.offset),
      is.day('day', (d) => d.recordTimeMs),
      is.int8('order_id', (d) => d.orderId),
      is.text('provider', (d) => d.provider),
      is.text('source', (d) => d.source),
      is.label('fact_kind', 'event_type', (d) => d.eventType),
      is.text('provider_ref', (d) => d.providerRef),
      is.label('delivery_outcome', 'outcome', (d) => d.outcome),
      is.timestamp('received_at', (d) => d.receivedAtMs),
      is.int8('replay_id', (d) => d.replayId),
    ],
  )}
  where d.kafka_offset >= l.previous_offset`

// No ON CONFLICT: the decision saw every anomaly of the order, so that a notice goes out only with a new row.
const OPENED_ANOMALIES = `
  insert into anomalies (order_id, lane, kind, cause, facts, resolved_at, resolution, reason)
  select a.order_id, ${lane}, a.kind, a.cause, a.facts::jsonb, case when a.resolution is not null then now() end,
    a.resolution, a.reason
  from l, ${$.rows(
    'a',
    ({ writes }) => writes.openedAnomalies,
    (is) => [
      is.int8('order_id', (a) => a.orderId),
      is.text('kind', (a) => a.kind),
      is.text('cause', (a) => a.cause),
      is.text('facts', (a) => a.facts),
      is.text('resolution', (a) => a.resolution),
      is.text('reason', (a) => a.reason),
    ],
  )}`

const RESOLVED_ANOMALIES = `
  update anomalies a set resolved_at = now(), resolution = r.resolution, reason = r.reason, resolved_by = r.by
  from l, ${$.rows(
    'r',
    ({ writes }) => writes.resolvedAnomalies,
    (is) => [
      is.int8('id', (a) => a.id),
      is.text('resolution', (a) => a.resolution),
      is.text('reason', (a) => a.reason),
      is.text('by', (a) => a.by),
    ],
  )}
  where a.id = any(${$.int8Array(({ writes }) => writes.resolvedAnomalies.map(({ id }) => id))}) and a.id = r.id`

const GROUPS = `
  insert into groups (merchant, group_key, order_id)
  select g.merchant, g.group_key, g.order_id from l, ${$.rows(
    'g',
    ({ writes }) => writes.groups,
    (is) => [
      is.text('merchant', (g) => g.merchant),
      is.text('group_key', (g) => g.groupKey),
      is.int8('order_id', (g) => g.orderId),
    ],
  )}
  on conflict (merchant, group_key) do update set order_id = excluded.order_id`

// Whoever asks providers puts a query off after each try. Another hint says that there is news, so it is due at once
// again; it never puts one off. Only the first of equal ones, as one statement may not touch a row twice.
const NEW_TIMERS = `
  insert into timers (lane, order_id, kind, ref, due_at)
  select distinct on (t.order_id, t.kind, t.ref) ${lane}, t.order_id, t.kind, t.ref, t.due_at from l, ${$.rows(
    't',
    ({ writes }) => writes.newTimers,
    (is) => [
      is.int8('order_id', (t) => t.orderId),
      is.text('kind', (t) => t.kind),
      is.text('ref', (t) => t.ref),
      is.timestamp('due_at', (t) => t.dueAtMs),
    ],
  )}
  order by t.order_id, t.kind, t.ref, t.due_at
  on conflict (order_id, kind, ref) do update set due_at = excluded.due_at
  where timers.due_at > excluded.due_at`

const DONE_TIMERS = `
  delete from timers t using l, ${$.rows(
    'd',
    ({ writes }) => writes.doneTimers,
    (is) => [is.int8('order_id', (t) => t.orderId), is.text('kind', (t) => t.kind), is.text('ref', (t) => t.ref)],
  )}
  where t.order_id = d.order_id and t.kind = d.kind and t.ref = d.ref`

const FINISHED_COMMANDS = `
  update commands c set status = f.status, result = f.result::jsonb, finished_at = now()
  from l, ${$.rows(
    'f',
    ({ writes }) => writes.finishedCommands,
    (is) => [is.int8('id', (c) => c.id), is.text('status', (c) => c.status), is.text('result', (c) => c.result)],
  )}
  where c.id = any(${$.int8Array(({ writes }) => writes.finishedCommands.map(({ id }) => id))}) and c.id = f.id`

const OPERATOR_ACTIONS = `
  insert into operator_actions (actor, action, target, reason)
  select a.actor, a.action, a.target::jsonb, a.reason from l, ${$.rows(
    'a',
    ({ writes }) => writes.operatorActions,
    (is) => [
      is.text('actor', (a) => a.actor),
      is.text('action', (a) => a.action),
      is.text('target', (a) => a.target),
      is.text('reason', (a) => a.reason),
    ],
  )}`

const WRITE_BATCH = {
  name: 'write-batch',
  text: `with l as (${LANE_ROW}
), event as (${EVENTS}
), fact as (${FACTS}
), changed_fact as (${CHANGED_FACTS}
), changed_order as (${ORDERS}
), delivery as (${DELIVERIES}
), opened_anomaly as (${OPENED_ANOMALIES}
), resolved_anomaly as (${RESOLVED_ANOMALIES}
), changed_group as (${GROUPS}
), new_timer as (${NEW_TIMERS}
), done_timer as (${DONE_TIMERS}
), spent_timer as (
  delete from timers t using l where t.id = any(${$.int8Array(({ writes }) => writes.spentTimerIds)})
), finished_command as (${FINISHED_COMMANDS}
), operator_action as (${OPERATOR_ACTIONS}
), spent_command as (
  delete from commands c using l where c.id = any(${$.int8Array(({ writes }) => writes.spentCommandIds)})
), archived_stub as (
  delete from orders o using l where o.id = any(${$.int8Array(({ writes }) => writes.archivedStubIds)})
)
select l.base_seq, l.flood, (select count(*) from fact), (select count(*) from changed_order) from l`,
}

export interface Written {
  /** Number of the first event. */
  readonly baseSeq: number
  /** Dead letters among the lane's last records. */
  readonly floodCount: number
  /** Fewer facts or orders than given: what was read under the lock was not the truth. Roll back. */
  readonly isWhole: boolean
}

/**
 * Statement D: one statement behind the guarded update of the lane's row.
 * @returns undefined: the guard refused and nothing was written. Roll back and fence.
 */
export async function writeBatch(tx: Transaction, guard: Guard, writes: Writes): Promise<Written | undefined> {
  type Row = [baseSeq: unknown, flood: number, facts: unknown, orders: unknown]
  const [row] = await rowsOf<Row>(tx, WRITE_BATCH, $.values({ writes, guard }))
  if (row === undefined) return undefined
  return {
    baseSeq: int(row[0]),
    floodCount: row[1],
    isWhole: int(row[2]) === writes.facts.length && int(row[3]) === writes.orders.length,
  }
}
