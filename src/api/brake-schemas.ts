import { z } from 'zod'
import { BRAKE_EVENT_TYPES } from '../orders/brake.ts'
import type { brakeView } from '../store/list-brakes.ts'
import { laneNumber, rowId, timeText, wholeNumber } from './schema-parts.ts'

const time = timeText.nullable()
const text = z.string().nullable()
const STOPS = z.array(z.strictObject({ lane: laneNumber, lane_seq: wholeNumber }))

export const BRAKE = z
  .strictObject({
    id: rowId,
    merchant: text,
    out_trade_no: text,
    event_type: z.enum(BRAKE_EVENT_TYPES).nullable(),
    state: z.enum(['setting', 'set', 'releasing']),
    set_by: z.string(),
    reason: z.string(),
    set_at: time,
    released_by: text,
    release_reason: text,
    released_at: time,
    waiting: wholeNumber,
    oldest_seconds: z.int().nullable(),
    stops: STOPS,
  })
  .meta({ id: 'Brake' }) satisfies z.ZodType<ReturnType<typeof brakeView>>
export const BRAKES = z.strictObject({ brakes: z.array(BRAKE) })

const LANES = z.array(laneNumber)
export const BRAKE_SET = z
  .strictObject({ id: rowId, result: z.enum(['set', 'same']), stops: STOPS, untold: LANES })
  .meta({ id: 'BrakeSet' })
export const BRAKE_RELEASED = z
  .strictObject({ id: rowId, result: z.enum(['released', 'same']), waiting: wholeNumber, untold: LANES })
  .meta({ id: 'BrakeReleased' })
