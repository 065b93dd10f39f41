import { z } from 'zod'
import { ANOMALY_KINDS, RESOLUTIONS, STATUSES } from '../orders/model.ts'
import type { anomalyView } from '../store/anomaly-view.ts'
import { nextCursor, rowId, timeText } from './schema-parts.ts'

const time = timeText.nullable()
const text = z.string().nullable()

export const ANOMALY = z
  .strictObject({
    id: rowId,
    merchant: z.string(),
    out_trade_no: z.string(),
    order_status: z.enum(STATUSES),
    kind: z.enum(ANOMALY_KINDS),
    cause: z.string(),
    opened_at: time,
    owner: text,
    claimed_at: time,
    resolved_at: time,
    resolution: text,
    resolved_by: text,
    reason: text,
    allowed: z.array(z.enum(RESOLUTIONS)),
    // Both sides of the conflict, as they were when it was opened; each kind has its own.
    facts: z.looseObject({}),
  })
  .meta({ id: 'Anomaly' }) satisfies z.ZodType<ReturnType<typeof anomalyView>>

export const ANOMALIES = z.strictObject({ anomalies: z.array(ANOMALY), next: nextCursor })
