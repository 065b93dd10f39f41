import type { FactOutcome, StoredFact } from '../orders/model.ts'
import type { Queryable } from '../runtime/postgres.ts'
import type { DeliveryOutcome } from './delivery.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** What arrived: every delivery of every callback about the order, duplicates included. */
export interface TimelineDelivery {
  readonly lane: number
  readonly offset: number
  readonly provider: string | null
  readonly source: string | null
  readonly eventType: string | null
  readonly providerRef: string | null
  readonly outcome: DeliveryOutcome
  readonly receivedAtMs: number
}
/** What it proved, once each. */
export interface TimelineFact extends StoredFact {
  readonly lane: number
  readonly offset: number
  readonly recordedAtMs: number
}
/** What followed: one message in one topic each. */
export interface TimelineEvent {
  readonly lane: number
  readonly laneSeq: number
  /** Without the installation's prefix. */
  readonly topic: string
  readonly eventId: string
  readonly kind: string
  readonly sequence: number | null
  readonly cause: string
  readonly amountMinor: number | null
  readonly currency: string | null
  readonly paymentRef: string | null
  readonly occurredAtMs: number
  readonly createdAtMs: number
  /** True: surely in Kafka. False: emitted within moments, unless its lane is halted or without owner. */
  readonly isSettled: boolean
}
/** What follows when its brake is released: it has no number yet, and is nowhere in Kafka. */
export interface TimelineWaiting extends Omit<TimelineEvent, 'laneSeq' | 'isSettled'> {
  /** The brake that it matches, or that the order's event before it waits for. */
  readonly brakeId: number
  readonly brakeReason: string
}
export interface TimelineAnomaly {
  readonly id: number
  readonly kind: string
  readonly cause: string
  readonly openedAtMs: number
  /** Who works on it, or did. */
  readonly owner: string | null
  readonly claimedAtMs: number | null
  readonly resolvedAtMs: number | null
  /** Null with a resolution: it was settled by itself. */
  readonly resolvedBy: string | null
  readonly resolution: string | null
  readonly reason: string | null
}
export interface Timeline {
  readonly deliveries: readonly TimelineDelivery[]
  readonly facts: readonly TimelineFact[]
  readonly events: readonly TimelineEvent[]
  readonly waiting: readonly TimelineWaiting[]
  readonly anomalies: readonly TimelineAnomaly[]
  /** Which lists hold only their latest entries. */
  readonly truncated: readonly ('deliveries' | 'facts' | 'events' | 'waiting' | 'anomalies')[]
}

/** Far more than an order lives through; a replay of a year's topic could still exceed it. */
export const TIMELINE_ENTRIES_MAX = 1_000
const LIMIT = TIMELINE_ENTRIES_MAX + 1

// Each the latest first, so that a limit keeps the news; turned round again when read.
const DELIVERIES = {
  name: 'order-deliveries',
  text: `select lane, kafka_offset, provider, source, event_type::text, provider_ref, outcome::text, ${ms('received_at')}
    from deliveries where order_id = $1 order by received_at desc, kafka_offset desc limit ${LIMIT}`,
}
const factsFrom = (name: string, source: string) => ({
  name,
  text: `select event_type::text, provider_ref, payment_ref, amount_minor, currency, amount_kind::text, ${ms('event_time')},
      detail, outcome::text, lane, kafka_offset, ${ms('recorded_at')}
    from ${source} order by recorded_at desc, kafka_offset desc limit ${LIMIT}`,
})
const FACTS = factsFrom('order-facts', 'facts where order_id = $1')
const EVENTS = {
  name: 'order-events',
  text: `select e.lane, e.lane_seq, e.topic, e.event_id, e.kind, e.sequence, e.cause, e.amount_minor, e.currency, e.payment_ref,
      ${ms('e.occurred_at')}, ${ms('e.created_at')}, coalesce(e.lane_seq < l.settled_seq, false)
    from events e left join lanes l on l.topic = $2 and l.lane = e.lane
    where e.order_id = $1 order by e.lane_seq desc limit ${LIMIT}`,
}
const WAITING = {
  name: 'order-waiting',
  text: `select w.lane, w.topic, w.event_id, w.kind, w.sequence, w.cause, w.amount_minor, w.currency, w.payment_ref,
      ${ms('w.occurred_at')}, ${ms('w.created_at')}, w.brake_id, b.reason
    from waiting_events w join brakes b on b.id = w.brake_id where w.order_id = $1 order by w.id desc limit ${LIMIT}`,
}
const anomaliesFrom = (name: string, source: string) => ({
  name,
  text: `select id, kind, cause, ${ms('opened_at')}, ${ms('resolved_at')}, resolution, reason, owner,
      ${ms('claimed_at')}, resolved_by
    from ${source} order by id desc limit ${LIMIT}`,
})
const ANOMALIES = anomaliesFrom('order-anomalies', 'anomalies where order_id = $1')
// What the archive has of an order, as the rows that it was.
const archived = (table: string) =>
  `archived_orders a, jsonb_populate_recordset(null::${table}, a.document -> '${table}') r where a.order_id = $1`
const ARCHIVED_FACTS = factsFrom('archived-facts', archived('facts'))
const ARCHIVED_ANOMALIES = anomaliesFrom('archived-anomalies', archived('anomalies'))

/**
 * An order's life, each list oldest first, also of one that is archived. The lists are read one after another: they may be a moment apart.
 * @param inputTopic its full name, prefix included, as in `lanes`
 */
export async function readTimeline(db: Queryable, orderId: number, inputTopic: string): Promise<Timeline> {
  const [facts, anomalies] = [await rowsOf(db, FACTS, [orderId]), await rowsOf(db, ANOMALIES, [orderId])]
  const isElsewhere = facts.length === 0 && anomalies.length === 0
  const lists = {
    deliveries: (await rowsOf<unknown[]>(db, DELIVERIES, [orderId])).map(deliveryOf),
    facts: (isElsewhere ? await rowsOf(db, ARCHIVED_FACTS, [orderId]) : facts).map(factOf),
    events: (await rowsOf<unknown[]>(db, EVENTS, [orderId, inputTopic])).map(eventOf),
    waiting: (await rowsOf<unknown[]>(db, WAITING, [orderId])).map(waitingOf),
    anomalies: (isElsewhere ? await rowsOf(db, ARCHIVED_ANOMALIES, [orderId]) : anomalies).map(anomalyOf),
  }
  const latest = <T>(list: readonly T[]) => list.slice(0, TIMELINE_ENTRIES_MAX).reverse()
  const names = ['deliveries', 'facts', 'events', 'waiting', 'anomalies'] as const
  return {
    deliveries: latest(lists.deliveries),
    facts: latest(lists.facts),
    events: latest(lists.events),
    waiting: latest(lists.waiting),
    anomalies: latest(lists.anomalies),
    truncated: names.filter((name) => lists[name].length > TIMELINE_ENTRIES_MAX),
  }
}

const deliveryOf = (row: unknown[]): TimelineDelivery => ({
  lane: int(row[0]),
  offset: int(row[1]),
  provider: row[2] as string | null,
  source: row[3] as string | null,
  eventType: row[4] as string | null,
  providerRef: row[5] as string | null,
  outcome: row[6] as DeliveryOutcome,
  receivedAtMs: int(row[7]),
})
const factOf = (row: unknown[]): TimelineFact => ({
  eventType: row[0] as TimelineFact['eventType'],
  providerRef: row[1] as string,
  paymentRef: row[2] as string | null,
  amountMinor: int(row[3]),
  currency: row[4] as string,
  amountKind: row[5] as TimelineFact['amountKind'],
  eventTimeMs: int(row[6]),
  detail: row[7] as string | null,
  outcome: row[8] as FactOutcome,
  lane: int(row[9]),
  offset: int(row[10]),
  recordedAtMs: int(row[11]),
})
const eventOf = (row: unknown[]): TimelineEvent => ({
  lane: int(row[0]),
  laneSeq: int(row[1]),
  topic: row[2] as string,
  eventId: row[3] as string,
  kind: row[4] as string,
  sequence: intOrNull(row[5]),
  cause: row[6] as string,
  amountMinor: intOrNull(row[7]),
  currency: row[8] as string | null,
  paymentRef: row[9] as string | null,
  occurredAtMs: int(row[10]),
  createdAtMs: int(row[11]),
  isSettled: row[12] as boolean,
})
const waitingOf = (row: unknown[]): TimelineWaiting => ({
  lane: int(row[0]),
  topic: row[1] as string,
  eventId: row[2] as string,
  kind: row[3] as string,
  sequence: intOrNull(row[4]),
  cause: row[5] as string,
  amountMinor: intOrNull(row[6]),
  currency: row[7] as string | null,
  paymentRef: row[8] as string | null,
  occurredAtMs: int(row[9]),
  createdAtMs: int(row[10]),
  brakeId: int(row[11]),
  brakeReason: row[12] as string,
})
const anomalyOf = (row: unknown[]): TimelineAnomaly => ({
  id: int(row[0]),
  kind: row[1] as string,
  cause: row[2] as string,
  openedAtMs: int(row[3]),
  resolvedAtMs: intOrNull(row[4]),
  resolution: row[5] as string | null,
  reason: row[6] as string | null,
  owner: row[7] as string | null,
  claimedAtMs: intOrNull(row[8]),
  resolvedBy: row[9] as string | null,
})
