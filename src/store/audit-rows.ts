import type { AmountKind, ClosedBy, FactKind, FactOutcome, Status } from '../orders/model.ts'
import { int, intOrNull, ms } from './statement.ts'

export const PAGE_ROWS = 1_000

/** The columns that an audit judges, of a living order or of one as the archive has it, and the rows that they make. */
export const AUDIT_ORDER = `o.id, o.lane, o.merchant, o.out_trade_no, o.status::text, o.amount_minor, o.currency, o.accepted_ref,
  o.closed_by, ${ms('o.closed_at')}, o.sequence, ${ms('o.created_at')}`
export type OrderRow = [
  ...[id: unknown, lane: number, merchant: string, outTradeNo: string, status: Status, amountMinor: unknown],
  ...[currency: string | null, acceptedRef: string | null, closedBy: ClosedBy | null, closedAtMs: unknown],
  ...[sequence: number, createdAtMs: unknown],
]
export const orderOf = (row: OrderRow) => ({
  ...{ id: int(row[0]), lane: row[1], merchant: row[2], outTradeNo: row[3], status: row[4] },
  ...{ amountMinor: intOrNull(row[5]), currency: row[6], acceptedRef: row[7], closedBy: row[8] },
  ...{ closedAtMs: intOrNull(row[9]), sequence: row[10], createdAtMs: int(row[11]) },
})

export const AUDIT_FACT = `f.order_id, f.event_type::text, f.provider_ref, f.payment_ref, f.amount_minor, f.currency,
  f.amount_kind::text, ${ms('f.event_time')}, f.outcome::text, ${ms('f.recorded_at')}`
export type FactRow = [
  ...[orderId: unknown, eventType: FactKind, providerRef: string, paymentRef: string | null, amountMinor: unknown],
  ...[currency: string, amountKind: AmountKind, eventTimeMs: unknown, outcome: FactOutcome, recordedAtMs: unknown],
]
export const factOf = (row: FactRow) => ({
  ...{ eventType: row[1], providerRef: row[2], paymentRef: row[3], amountMinor: int(row[4]), currency: row[5] },
  ...{ amountKind: row[6], eventTimeMs: int(row[7]), outcome: row[8], recordedAtMs: int(row[9]) },
})

export const AUDIT_ANOMALY = `a.order_id, a.kind, a.cause, a.resolution, ${ms('a.opened_at')}, ${ms('a.resolved_at')}`
export type AnomalyRow = [
  ...[orderId: unknown, kind: string, cause: string, resolution: string | null],
  ...[openedAtMs: unknown, resolvedAtMs: unknown],
]
export const anomalyOf = (row: AnomalyRow) => ({
  ...{ kind: row[1], cause: row[2], resolution: row[3], openedAtMs: int(row[4]), resolvedAtMs: intOrNull(row[5]) },
})

/** In the order in which all of them are judged, wherever they are. */
export const FACTS_SORTED = 'order by f.order_id, f.event_type, f.provider_ref collate "C"'
export const ANOMALIES_SORTED = 'order by a.order_id, a.kind collate "C", a.cause collate "C"'
