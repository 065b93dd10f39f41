import type { NewEvent } from './decision.ts'
import { eventId } from './identity.ts'
import type { EventKind, NoticeKind } from './model.ts'
import { NOTICE_TOPIC } from './routes.ts'
import type { OrderWork, Trigger } from './work.ts'

interface Money {
  readonly amountMinor: number
  readonly currency: string
  readonly paymentRef: string
}

/** Appends an event, once per topic of its kind; each message takes the order's next sequence number. */
export function emit(
  work: OrderWork,
  kind: EventKind,
  trigger: Trigger,
  money: Money | null = null,
  attrs: string | null = null,
) {
  for (const topic of work.batch.options.routes[kind]) {
    work.order.sequence += 1
    append(work, kind, topic, trigger, work.order.sequence, money, attrs)
  }
}

/** Appends a notice. Its cause is the anomaly's identity, as one fact can be the cause of two anomalies. */
export function notice(work: OrderWork, kind: NoticeKind, anomaly: string, trigger: Trigger, attrs: object) {
  append(work, kind, NOTICE_TOPIC, { ...trigger, cause: anomaly }, null, null, JSON.stringify(attrs))
}

function append(
  { batch, order }: OrderWork,
  kind: EventKind | NoticeKind,
  topic: string,
  { cause, occurredAtMs, receivedAtMs }: Trigger,
  sequence: number | null,
  money: Money | null,
  attrs: string | null,
) {
  const event: NewEvent = {
    orderId: order.id,
    merchant: order.merchant,
    outTradeNo: order.outTradeNo,
    kind,
    topic,
    eventId: eventId(order.merchant, order.outTradeNo, cause, kind, topic),
    sequence,
    cause,
    amountMinor: money?.amountMinor ?? null,
    currency: money?.currency ?? null,
    paymentRef: money?.paymentRef ?? null,
    occurredAtMs,
    receivedAtMs,
    attrs,
  }
  batch.events.push(event)
}
