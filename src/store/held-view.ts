import type { HeldFact } from './list-held.ts'
import { isoOf } from './order-view.ts'

/** What the api and the command line show of a fact that waits. `limit_at`: when it becomes an anomaly. */
export const heldView = (fact: HeldFact) => ({
  merchant: fact.merchant,
  out_trade_no: fact.outTradeNo,
  lane: fact.lane,
  event_type: fact.eventType,
  provider_ref: fact.providerRef,
  payment_ref: fact.paymentRef,
  amount_minor: fact.amountMinor,
  currency: fact.currency,
  waits_for: fact.waitsFor,
  event_time: isoOf(fact.eventTimeMs),
  held_since: isoOf(fact.heldSinceMs),
  limit_at: isoOf(fact.limitAtMs),
})
