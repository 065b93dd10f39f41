import { z } from 'zod'
import { dayOf } from '../runtime/days.ts'
import type { ArchivedOrder } from '../store/find-archived.ts'
import type { FoundOrder } from '../store/find-order.ts'
import type { Timeline } from '../store/order-timeline.ts'
import { orderView, timelineView } from '../store/order-view.ts'
import { fieldRefusal } from './order-body.ts'
import { READ_ORDER, TIMELINE } from './order-schemas.ts'
import { maySee, NOT_FOUND } from './policy.ts'
import type { RefreshOrder } from './refresh-order.ts'
import type { Refusal } from './refusal.ts'
import { refuse, type ApiRequest, type Route } from './route.ts'

export interface ReadDeps {
  readonly findOrder: (merchant: string, outTradeNo: string) => Promise<FoundOrder | undefined>
  readonly findArchived: (merchant: string, outTradeNo: string) => Promise<ArchivedOrder | undefined>
  readonly readTimeline: (orderId: number) => Promise<Timeline>
}

const Query = z.object({
  /** Ask the order's providers at once, and wait a moment for what they say. */
  refresh: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .optional(),
})

export const readOrderRoute = (deps: ReadDeps & { readonly refreshOrder: RefreshOrder }): Route => ({
  method: 'get',
  path: '/v1/orders/:merchant/:outTradeNo',
  action: 'read_order',
  query: Query,
  doc: {
    id: 'readOrder',
    summary: 'Where an order stands; with refresh, after its providers were asked.',
    answers: { 200: READ_ORDER },
    refusals: ['not_found', 'order_gone'],
  },
  handle: async (request) => {
    const query = Query.safeParse(request.query)
    if (!query.success) return refuse(fieldRefusal(query.error, request.query))
    const found = await findOwn(deps, request)
    if ('refusal' in found) return refuse(found.refusal)
    if (query.data.refresh !== true) return { kind: 'answer', status: 200, body: orderView(found) }
    const refresh = await deps.refreshOrder(found, request.principal.tokenId)
    const { merchant, outTradeNo } = found.order
    const now = refresh === 'settled' ? found : ((await deps.findOrder(merchant, outTradeNo)) ?? found)
    return { kind: 'answer', status: 200, body: { ...orderView(now), refresh } }
  },
})

export const readTimelineRoute = (deps: ReadDeps): Route => ({
  method: 'get',
  path: '/v1/orders/:merchant/:outTradeNo/timeline',
  action: 'read_order',
  doc: {
    id: 'readTimeline',
    summary: 'All that happened to an order.',
    answers: { 200: TIMELINE },
    refusals: ['not_found', 'order_gone'],
  },
  handle: async (request) => {
    const found = await findOwn(deps, request)
    if ('refusal' in found) return refuse(found.refusal)
    const timeline = await deps.readTimeline(found.order.id)
    return { kind: 'answer', status: 200, body: { order: orderView(found), ...timelineView(timeline) } }
  },
})

/** Refused as unknown too where the order is another merchant's: then Postgres is not even asked. */
async function findOwn(
  { findOrder, findArchived }: ReadDeps,
  { params, principal }: ApiRequest,
): Promise<FoundOrder | { readonly refusal: Refusal }> {
  const { merchant = '', outTradeNo = '' } = params
  if (!maySee(principal, merchant) || !isKey(merchant) || !isKey(outTradeNo)) return { refusal: NOT_FOUND }
  const found = await findOrder(merchant, outTradeNo)
  if (found !== undefined) return found
  const archived = await findArchived(merchant, outTradeNo)
  if (archived === undefined) return { refusal: NOT_FOUND }
  return archived.found ?? { refusal: goneRefusal(archived) }
}

const goneRefusal = ({ status, archivedAtMs }: ArchivedOrder): Refusal => ({
  kind: 'order_gone',
  reason: status,
  detail: `The order was ${status} when it was archived on ${dayOf(archivedAtMs)}, and that part of the archive is not here any more.`,
})

/** Wider than what create takes: an order known only from callbacks can be looked at too. */
export const isKey = (text: string) =>
  text !== '' && Buffer.byteLength(text) <= 64 && text.isWellFormed() && !text.includes('\u0000')
