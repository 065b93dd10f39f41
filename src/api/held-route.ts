import { z } from 'zod'
import { FACT_KINDS } from '../orders/model.ts'
import { heldView } from '../store/held-view.ts'
import type { HeldFact, HeldFilter, HeldPlace } from '../store/list-held.ts'
import { fieldRefusal, merchant, storable } from './order-body.ts'
import { maySee } from './policy.ts'
import { refuse, type Route } from './route.ts'
import { laneNumber, nextCursor, timeText, wholeNumber } from './schema-parts.ts'
import { time, whole } from './shared-fields.ts'

export interface HeldDeps {
  readonly listHeld: (filter: HeldFilter, rowsMax: number) => Promise<HeldFact[]>
}

const Place = z.tuple([wholeNumber, wholeNumber, z.enum(FACT_KINDS), z.string().min(1).max(256)])

/** Several facts are held in one instant, so that an id alone says no place: all of it is in the cursor. */
const cursor = z
  .base64url('must be the next of an earlier answer')
  .max(2_000, 'must be the next of an earlier answer')
  .transform((text, context): HeldPlace => {
    const place = Place.safeParse(jsonOf(Buffer.from(text, 'base64url').toString('utf8')))
    if (place.success && storable(place.data[3])) return place.data
    context.addIssue({ code: 'custom', message: 'must be the next of an earlier answer' })
    return z.NEVER
  })

const cursorOf = (place: HeldPlace) => Buffer.from(JSON.stringify(place), 'utf8').toString('base64url')

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const Query = z.object({
  merchant: merchant.optional(),
  since: time.optional(),
  until: time.optional(),
  limit: whole(1, 500).default(100),
  cursor: cursor.optional(),
})

const HELD_FACT = z
  .strictObject({
    merchant: z.string(),
    out_trade_no: z.string(),
    lane: laneNumber,
    event_type: z.enum(FACT_KINDS),
    provider_ref: z.string(),
    payment_ref: z.string().nullable(),
    amount_minor: wholeNumber,
    currency: z.string(),
    waits_for: z.enum(['order', 'payment']),
    event_time: timeText.nullable(),
    held_since: timeText.nullable(),
    limit_at: timeText.nullable(),
  })
  .meta({ id: 'HeldFact' }) satisfies z.ZodType<ReturnType<typeof heldView>>

/** Facts whose order or payment is not known yet, in the order in which they began to wait. */
export const listHeldRoute = ({ listHeld }: HeldDeps): Route => ({
  method: 'get',
  path: '/v1/held',
  action: 'read_order',
  query: Query,
  doc: {
    id: 'listHeld',
    summary: 'Facts that wait for their order, or for the payment that they act on, the longest first.',
    answers: { 200: z.strictObject({ held: z.array(HELD_FACT), next: nextCursor }) },
  },
  handle: async ({ query, principal }) => {
    const parsed = Query.safeParse(query)
    if (!parsed.success) return refuse(fieldRefusal(parsed.error, query))
    const { limit, cursor: after, since, until } = parsed.data
    const whose = parsed.data.merchant ?? principal.merchant
    // Of another merchant there is nothing to see, as with an order.
    const found = maySee(principal, whose)
      ? await listHeld({ merchant: whose ?? undefined, sinceMs: since, untilMs: until, after }, limit + 1)
      : []
    const page = found.slice(0, limit)
    const last = page.at(-1)
    const next = found.length > limit && last !== undefined ? cursorOf(last.place) : null
    return { kind: 'answer', status: 200, body: { held: page.map(heldView), next } }
  },
})
