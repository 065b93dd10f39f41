import { z } from 'zod'
import { BRAKE_EVENT_TYPES, matchesNothing } from '../orders/brake.ts'
import { brakeView, type BrakeStatus } from '../store/list-brakes.ts'
import type { Released } from '../store/release-brake.ts'
import { BRAKES_MAX, type SetBrake, type SetRequest } from '../store/set-brake.ts'
import { BRAKE_RELEASED, BRAKE_SET, BRAKES } from './brake-schemas.ts'
import { fieldRefusal, merchant, outTradeNo } from './order-body.ts'
import { foreignMerchant, maySee, NOT_FOUND } from './policy.ts'
import { refuse, type Route } from './route.ts'
import { ID, reason } from './shared-fields.ts'

export interface BrakeDeps {
  readonly listBrakes: (merchant: string | null) => Promise<BrakeStatus[]>
  readonly setBrake: (request: SetRequest) => Promise<SetBrake | { readonly kind: 'too_many' }>
  readonly releaseBrake: (request: {
    readonly id: number
    readonly merchant: string | null
    readonly actor: string
    readonly reason: string
  }) => Promise<Released>
}

const SetBody = z
  .strictObject({
    merchant: merchant.nullish(),
    out_trade_no: outTradeNo.nullish(),
    event_type: z.enum(BRAKE_EVENT_TYPES, `must be one of ${BRAKE_EVENT_TYPES.join(', ')}`).nullish(),
    reason,
  })
  .refine((body) => (body.out_trade_no ?? null) === null || (body.merchant ?? null) !== null, {
    path: ['merchant'],
    error: 'must be given with out_trade_no',
  })
  .refine((body) => (body.merchant ?? null) !== null || (body.event_type ?? null) !== null, {
    path: ['merchant'],
    error: 'must be given where event_type is not',
  })
  .refine(
    (body) =>
      !matchesNothing({ merchant: body.merchant ?? null, outTradeNo: null, eventType: body.event_type ?? null }),
    {
      path: ['merchant'],
      error: 'must be left out with dead_letter, whose notice names none',
    },
  )
const ReleaseBody = z.strictObject({ reason })

/** Every brake that is set or still releases; at most 1,000 are set, so there are no pages. */
export const listBrakesRoute = ({ listBrakes }: BrakeDeps): Route => ({
  method: 'get',
  path: '/v1/brakes',
  action: 'read_brake',
  doc: { id: 'listBrakes', summary: 'Brakes that are set or still release.', answers: { 200: BRAKES } },
  handle: async ({ principal }) => {
    const brakes = await listBrakes(principal.merchant)
    return { kind: 'answer', status: 200, body: { brakes: brakes.map(brakeView) } }
  },
})

/** 202: a lane was busy, and a processor tells it. */
export const setBrakeRoute = ({ setBrake }: BrakeDeps): Route => ({
  method: 'post',
  path: '/v1/brakes',
  action: 'set_brake',
  doc: {
    id: 'setBrake',
    summary: 'Keeps events back before they are numbered. 200: it was set already; 202: lanes are still to be told.',
    body: SetBody,
    answers: { 200: BRAKE_SET, 201: BRAKE_SET, 202: BRAKE_SET },
    refusals: ['forbidden', 'too_many_brakes'],
  },
  handle: async ({ principal, body }) => {
    const parsed = SetBody.safeParse(body.value)
    if (!parsed.success) return refuse(fieldRefusal(parsed.error, body.value))
    const { merchant: of = null, out_trade_no: order = null, event_type: eventType = null, reason: why } = parsed.data
    // Every merchant's events are nobody's alone.
    if (of === null ? principal.merchant !== null : !maySee(principal, of)) return refuse(foreignMerchant)
    const request = { merchant: of, outTradeNo: order, eventType, actor: principal.name, reason: why }
    const brake = await setBrake(request)
    if (brake.kind === 'too_many')
      return refuse({
        ...{ kind: 'too_many_brakes', detail: `${BRAKES_MAX} brakes are set already.` },
        remedy: 'Release some of them.',
      })
    const { id, kind, stops, untold } = brake
    return {
      kind: 'answer',
      status: untold.length > 0 ? 202 : kind === 'set' ? 201 : 200,
      body: { id, result: kind, stops: stops.map(({ lane, stopSeq }) => ({ lane, lane_seq: stopSeq })), untold },
    }
  },
})

export const releaseBrakeRoute = ({ releaseBrake }: BrakeDeps): Route => ({
  method: 'post',
  path: '/v1/brakes/:id/release',
  action: 'release_brake',
  doc: {
    id: 'releaseBrake',
    summary: 'Lets go what a brake keeps back. 202: lanes are still to be told.',
    body: ReleaseBody,
    answers: { 200: BRAKE_RELEASED, 202: BRAKE_RELEASED },
    refusals: ['not_found'],
  },
  handle: async ({ params, principal, body }) => {
    const id = ID.test(params['id'] ?? '') ? Number(params['id']) : undefined
    if (id === undefined) return refuse(NOT_FOUND)
    const parsed = ReleaseBody.safeParse(body.value)
    if (!parsed.success) return refuse(fieldRefusal(parsed.error, body.value))
    const request = { id, merchant: principal.merchant, actor: principal.name, reason: parsed.data.reason }
    const released = await releaseBrake(request)
    if (released.kind === 'unknown_brake') return refuse(NOT_FOUND)
    const { kind, waiting, untold } = released
    return { kind: 'answer', status: untold.length > 0 ? 202 : 200, body: { id, result: kind, waiting, untold } }
  },
})
