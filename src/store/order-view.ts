import type { Status } from '../orders/model.ts'
import type { OrderBody } from '../orders/order-body.ts'
import type { FoundOrder } from './find-order.ts'
import type { Command } from './read-commands.ts'
import type { Timeline } from './order-timeline.ts'

/** What the api and the command line show: snake_case, times in ISO 8601 UTC, amounts as integers in minor units, null for what is not known. */
export const isoOf = (timeMs: number | null) => (timeMs === null ? null : new Date(timeMs).toISOString())

/** What create answers: what was asked for, and where the order stands. The payload is the caller's own. */
export const createdView = (body: OrderBody, status: Status) => ({
  merchant: body.merchant,
  out_trade_no: body.outTradeNo,
  status,
  amount_minor: body.amountMinor,
  currency: body.currency,
  expires_at: isoOf(body.expiresAtMs),
  group: body.groupKey,
})

export const orderView = ({
  order,
  lane,
  hasPayload,
  waitingCount,
  createdAtMs,
  updatedAtMs,
  archivedAtMs,
}: FoundOrder) => ({
  merchant: order.merchant,
  out_trade_no: order.outTradeNo,
  status: order.status,
  amount_minor: order.amountMinor,
  currency: order.currency,
  expires_at: isoOf(order.expiresAtMs),
  group: order.groupKey,
  payment: order.acceptedRef,
  paid_at: isoOf(order.paidAtMs),
  closed_by: order.closedBy,
  closed_at: isoOf(order.closedAtMs),
  held_facts: order.heldCount,
  events: order.sequence,
  waiting_events: waitingCount,
  version: order.version,
  has_payload: hasPayload,
  lane,
  created_at: isoOf(createdAtMs),
  updated_at: isoOf(updatedAtMs),
  archived_at: isoOf(archivedAtMs),
})

export const timelineView = (timeline: Timeline) => ({
  deliveries: timeline.deliveries.map((delivery) => ({
    received_at: isoOf(delivery.receivedAtMs),
    outcome: delivery.outcome,
    source: delivery.source,
    provider: delivery.provider,
    event_type: delivery.eventType,
    provider_ref: delivery.providerRef,
    lane: delivery.lane,
    offset: delivery.offset,
  })),
  facts: timeline.facts.map((fact) => ({
    event_type: fact.eventType,
    provider_ref: fact.providerRef,
    payment_ref: fact.paymentRef,
    amount_minor: fact.amountMinor,
    currency: fact.currency,
    amount_kind: fact.amountKind,
    event_time: isoOf(fact.eventTimeMs),
    outcome: fact.outcome,
    detail: fact.detail,
    lane: fact.lane,
    offset: fact.offset,
    recorded_at: isoOf(fact.recordedAtMs),
  })),
  events: timeline.events.map((event) => ({
    event_id: event.eventId,
    kind: event.kind,
    topic: event.topic,
    lane: event.lane,
    lane_seq: event.laneSeq,
    sequence: event.sequence,
    cause: event.cause,
    amount_minor: event.amountMinor,
    currency: event.currency,
    payment_ref: event.paymentRef,
    occurred_at: isoOf(event.occurredAtMs),
    written_at: isoOf(event.createdAtMs),
    settled: event.isSettled,
  })),
  waiting: timeline.waiting.map((event) => ({
    event_id: event.eventId,
    kind: event.kind,
    topic: event.topic,
    lane: event.lane,
    sequence: event.sequence,
    cause: event.cause,
    amount_minor: event.amountMinor,
    currency: event.currency,
    payment_ref: event.paymentRef,
    occurred_at: isoOf(event.occurredAtMs),
    since: isoOf(event.createdAtMs),
    brake: event.brakeId,
    brake_reason: event.brakeReason,
  })),
  anomalies: timeline.anomalies.map((anomaly) => ({
    id: anomaly.id,
    kind: anomaly.kind,
    cause: anomaly.cause,
    opened_at: isoOf(anomaly.openedAtMs),
    owner: anomaly.owner,
    claimed_at: isoOf(anomaly.claimedAtMs),
    resolved_at: isoOf(anomaly.resolvedAtMs),
    resolved_by: anomaly.resolvedBy,
    resolution: anomaly.resolution,
    reason: anomaly.reason,
  })),
  truncated: timeline.truncated,
})

export const commandView = (command: Command) => ({
  id: command.id,
  kind: command.kind,
  merchant: command.merchant,
  out_trade_no: command.outTradeNo,
  status: command.status,
  result: command.result,
  created_at: isoOf(command.createdAtMs),
  finished_at: isoOf(command.finishedAtMs),
})
