import { allowedResolutions } from '../orders/resolve.ts'
import type { Anomaly } from './list-anomalies.ts'
import { isoOf } from './order-view.ts'

/** What the api and the command line show of an anomaly. `allowed`: the answers that it takes now. */
export const anomalyView = (anomaly: Anomaly) => ({
  id: anomaly.id,
  merchant: anomaly.merchant,
  out_trade_no: anomaly.outTradeNo,
  order_status: anomaly.orderStatus,
  kind: anomaly.kind,
  cause: anomaly.cause,
  opened_at: isoOf(anomaly.openedAtMs),
  owner: anomaly.owner,
  claimed_at: isoOf(anomaly.claimedAtMs),
  resolved_at: isoOf(anomaly.resolvedAtMs),
  resolution: anomaly.resolution,
  resolved_by: anomaly.resolvedBy,
  reason: anomaly.reason,
  allowed: anomaly.resolvedAtMs === null ? allowedResolutions(anomaly.orderStatus, anomaly) : [],
  facts: anomaly.facts,
})
