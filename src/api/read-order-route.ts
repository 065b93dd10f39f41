import type { FoundOrder } from '../store/find-order.ts'
import type { Timeline } from '../store/order-timeline.ts'
import { orderView, timelineView } from '../store/order-view.ts'
import { maySee, NOT_FOUND } from './policy.ts'
import { refuse, type ApiRequest, type Route } from './route.ts'

export interface ReadDeps {
  readonly findOrder: (merchant: string, outTradeNo: string) => Promise<FoundOrder | undefined>
  readonly readTimeline: (orderId: number) => Promise<Timeline>
}

export const readOrderRoute = ({ findOrder }: ReadDeps): Route => ({
  method: 'get',
  path: '/v1/orders/:merchant/:outTradeNo',
  action: 'read_order',
  handle: async (request) => {
    const found = await findOwn(findOrder, request)
    return found === undefined ? refuse(NOT_FOUND) : { kind: 'answer', status: 200, body: orderView(found) }
  },
})

export const readTimelineRoute = ({ findOrder, readTimeline }: ReadDeps): Route => ({
  method: 'get',
  path: '/v1/orders/:merchant/:outTradeNo/timeline',
  action: 'read_order',
  handle: async (request) => {
    const found = await findOwn(findOrder, request)
    if (found === undefined) return refuse(NOT_FOUND)
    const timeline = await readTimeline(found.order.id)
    return { kind: 'answer', status: 200, body: { order: orderView(found), ...timelineView(timeline) } }
  },
})

/** Undefined too where the order is another merchant's: then Postgres is not even asked. */
function findOwn(findOrder: ReadDeps['findOrder'], { params, principal }: ApiRequest) {
  const { merchant = '', outTradeNo = '' } = params
  if (!maySee(principal, merchant) || !isKey(merchant) || !isKey(outTradeNo)) return Promise.resolve(undefined)
  return findOrder(merchant, outTradeNo)
}

/** Wider than what create takes: an order known only from callbacks can be looked at too. */
export const isKey = (text: string) =>
  text !== '' && Buffer.byteLength(text) <= 64 && text.isWellFormed() && !text.includes('\u0000')
