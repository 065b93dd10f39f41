import { z } from 'zod'
import { AMOUNT_KINDS, FACT_KINDS, FACT_OUTCOMES, STATUSES } from '../orders/model.ts'
import { DELIVERY_OUTCOMES } from '../store/delivery.ts'
import type { commandView, createdView, orderView, timelineView } from '../store/order-view.ts'
import { PROBLEM } from './problem-schema.ts'
import { REFRESH_RESULTS } from './refresh-order.ts'
import { laneNumber, rowId, timeText, wholeNumber } from './schema-parts.ts'

const time = timeText.nullable()
const text = z.string().nullable()
const amount = z.int().nullable()

const TERMS = {
  merchant: z.string(),
  out_trade_no: z.string(),
  status: z.enum(STATUSES),
  amount_minor: amount,
  currency: text,
  expires_at: time,
  group: text,
}
export const CREATED_ORDER = z
  .strictObject({ ...TERMS, amount_minor: z.int(), currency: z.string() })
  .meta({ id: 'CreatedOrder' }) satisfies z.ZodType<ReturnType<typeof createdView>>

export const ORDER = z
  .strictObject({
    ...TERMS,
    payment: text,
    paid_at: time,
    closed_by: z.enum(['merchant', 'expiry', 'provider']).nullable(),
    closed_at: time,
    held_facts: wholeNumber,
    events: wholeNumber,
    waiting_events: wholeNumber,
    version: wholeNumber,
    has_payload: z.boolean(),
    lane: laneNumber,
    created_at: time,
    updated_at: time,
    archived_at: time,
  })
  .meta({ id: 'Order' }) satisfies z.ZodType<ReturnType<typeof orderView>>

/** `refresh` is there where it was asked for. */
export const READ_ORDER = ORDER.extend({ refresh: z.enum(REFRESH_RESULTS).optional() }).meta({ id: 'ReadOrder' })

const DELIVERY = z.strictObject({
  received_at: time,
  outcome: z.enum(DELIVERY_OUTCOMES),
  source: text,
  provider: text,
  event_type: text,
  provider_ref: text,
  lane: laneNumber,
  offset: wholeNumber,
})
const FACT = z.strictObject({
  event_type: z.enum(FACT_KINDS),
  provider_ref: z.string(),
  payment_ref: text,
  amount_minor: z.int(),
  currency: z.string(),
  amount_kind: z.enum(AMOUNT_KINDS),
  event_time: time,
  outcome: z.enum(FACT_OUTCOMES),
  detail: text,
  lane: laneNumber,
  offset: wholeNumber,
  recorded_at: time,
})
const EVENT = z.strictObject({
  event_id: z.uuid(),
  kind: z.string(),
  topic: z.string(),
  lane: laneNumber,
  lane_seq: wholeNumber,
  sequence: z.int().nullable(),
  cause: z.string(),
  amount_minor: amount,
  currency: text,
  payment_ref: text,
  occurred_at: time,
  written_at: time,
  settled: z.boolean(),
})
const WAITING = EVENT.omit({ lane_seq: true, written_at: true, settled: true }).extend({
  since: time,
  brake: rowId,
  brake_reason: z.string(),
})
const ANOMALY = z.strictObject({
  id: rowId,
  kind: z.string(),
  cause: z.string(),
  opened_at: time,
  owner: text,
  claimed_at: time,
  resolved_by: text,
  resolved_at: time,
  resolution: text,
  reason: text,
})
const LISTS = {
  deliveries: z.array(DELIVERY),
  facts: z.array(FACT),
  events: z.array(EVENT),
  waiting: z.array(WAITING),
  anomalies: z.array(ANOMALY),
}
const LIST_NAMES = Object.keys(LISTS) as (keyof typeof LISTS)[]
export const TIMELINE = z
  .strictObject({ order: ORDER, ...LISTS, truncated: z.array(z.enum(LIST_NAMES)) })
  .meta({ id: 'Timeline' }) satisfies z.ZodType<ReturnType<typeof timelineView>>

const REFUSED = z.strictObject({
  kind: z.literal('refused'),
  status: z.enum(STATUSES).nullable(),
  // Each reason has facts of its own: who claimed it, what is allowed.
  refusal: z.looseObject({ reason: z.string() }),
})
export const COMMAND = z
  .strictObject({
    id: rowId,
    kind: z.enum(['close', 'resolve']),
    merchant: z.string(),
    out_trade_no: z.string(),
    status: z.enum(['pending', 'done', 'failed']),
    result: z.union([
      z.strictObject({ kind: z.literal('done'), status: z.enum(STATUSES) }),
      REFUSED,
      z.strictObject({ kind: z.literal('failed'), detail: z.string() }),
      z.null(),
    ]),
    created_at: time,
    finished_at: time,
  })
  .meta({ id: 'Command' }) satisfies z.ZodType<ReturnType<typeof commandView>>

export const BULK_CREATED = z
  .strictObject({
    results: z.array(
      z.union([
        z.strictObject({ status: z.union([z.literal(200), z.literal(201)]), order: CREATED_ORDER }),
        z.strictObject({ status: z.int(), problem: PROBLEM }),
      ]),
    ),
  })
  .meta({ id: 'CreatedOrders' })
