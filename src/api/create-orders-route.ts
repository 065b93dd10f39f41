import { z } from 'zod'
import { describeError, type Log } from '../runtime/log.ts'
import type { CreateResult } from '../store/create-orders.ts'
import type { NewOrder } from '../store/insert-orders.ts'
import { LANES_UNKNOWN } from './lanes.ts'
import type { ApiMetrics } from './metrics.ts'
import { NEW_ORDERS, ORDERS_PER_REQUEST_MAX, parseOrder } from './order-body.ts'
import { createdView } from '../store/order-view.ts'
import { foreignMerchant, maySee, type Principal } from './policy.ts'
import { ORDER_BUSY, problemOf, REFUSALS, type Refusal } from './refusal.ts'
import { BULK_CREATED, CREATED_ORDER } from './order-schemas.ts'
import { refuse, type ApiRequest, type Route } from './route.ts'
import type { Json } from './strict-json.ts'

export interface CreateDeps {
  /** One result per order, at the same index. */
  readonly createOrders: (orders: readonly NewOrder[]) => Promise<CreateResult[]>
  readonly laneOf: (outTradeNo: string) => number | undefined
  readonly metrics: ApiMetrics
  readonly log: Log
}
type Created = { readonly kind: 'created' | 'same'; readonly order: ReturnType<typeof createdView> }
type ItemResult = Created | { readonly kind: 'refused'; readonly refusal: Refusal }

/** One order as the body itself, or up to 500 as `{"orders": […]}`, each with a result of its own. */
export const createOrdersRoute = (deps: CreateDeps): Route => ({
  method: 'post',
  path: '/v1/orders',
  action: 'create_order',
  doc: {
    id: 'createOrders',
    summary: 'Creates an order, or up to 500. 200: it was there already, with the same content; or a list was sent.',
    body: NEW_ORDERS,
    answers: { 200: z.union([CREATED_ORDER, BULK_CREATED]), 201: CREATED_ORDER },
    refusals: ['forbidden', 'order_differs', 'order_archived', 'order_busy', 'not_ready'],
  },
  handle: async ({ body, principal }: ApiRequest) => {
    const asked = ordersIn(body.value)
    if (asked.kind === 'refused') return refuse(asked.refusal)
    const results = await createAll(deps, principal, asked.values)
    if (results === undefined) return refuse(LANES_UNKNOWN)
    for (const { kind } of results) deps.metrics.orders.inc({ result: kind })
    const [only] = results
    if (asked.isBulk || only === undefined)
      return { kind: 'answer', status: 200, body: { results: results.map((result) => bulkResult(result, deps)) } }
    if (only.kind === 'refused') return refuse(only.refusal)
    return { kind: 'answer', status: only.kind === 'created' ? 201 : 200, body: only.order }
  },
})

function ordersIn(body: Json) {
  const isBulk = typeof body === 'object' && body !== null && 'orders' in body
  if (!isBulk) return { kind: 'orders', isBulk, values: [body] } as const
  const { orders, ...rest } = body
  const [unknown] = Object.keys(rest)
  const refused = (field: string, detail: string) =>
    ({ kind: 'refused', refusal: { kind: 'invalid_field', field, detail: `${field} ${detail}` } }) as const
  if (unknown !== undefined) return refused(unknown.slice(0, 100), 'is no field beside orders.')
  if (!Array.isArray(orders) || orders.length === 0 || orders.length > ORDERS_PER_REQUEST_MAX)
    return refused('orders', `must be a list of 1 to ${ORDERS_PER_REQUEST_MAX} orders.`)
  return { kind: 'orders', isBulk, values: orders as readonly Json[] } as const
}

/** Undefined: lanes are not known. What is invalid or foreign is refused here; the rest goes to Postgres together. */
async function createAll(deps: CreateDeps, principal: Principal, values: readonly Json[]) {
  const results: (ItemResult | undefined)[] = []
  const toCreate: NewOrder[] = []
  for (const value of values) {
    const parsed = parseOrder(value)
    const foreign = parsed.kind === 'order' && !maySee(principal, parsed.order.merchant)
    if (parsed.kind === 'refused') results.push(parsed)
    else if (foreign) results.push({ kind: 'refused', refusal: foreignMerchant })
    else {
      const lane = deps.laneOf(parsed.order.outTradeNo)
      if (lane === undefined) return undefined
      results.push(undefined)
      toCreate.push({ body: parsed.order, lane })
    }
  }
  const made = toCreate.length === 0 ? [] : await deps.createOrders(toCreate)
  const answers = toCreate.map((order, index) => itemResult(order, made[index])).values()
  return results.map((result): ItemResult => result ?? answers.next().value ?? MISSING)
}

const MISSING: ItemResult = { kind: 'refused', refusal: { kind: 'internal', detail: 'The order got no result.' } }

function itemResult({ body }: NewOrder, result: CreateResult | undefined): ItemResult {
  const refused = (refusal: Refusal): ItemResult => ({ kind: 'refused', refusal })
  if (result === undefined) return MISSING
  switch (result.kind) {
    case 'created':
    case 'same':
      return { kind: result.kind, order: createdView(body, result.status) }
    case 'differs':
      return refused({
        kind: 'order_differs',
        field: result.field,
        detail: `${result.field} differs from that of the order that exists.`,
        remedy: 'An order is never changed: close it and create another one with its own out_trade_no.',
      })
    case 'archived':
      return refused({
        kind: 'order_archived',
        field: 'out_trade_no',
        detail: 'out_trade_no was used by an order that is finished and archived.',
        remedy: 'Create the order with a number that was never used.',
      })
    case 'busy':
      return refused(ORDER_BUSY)
    case 'failed':
      return refused({ kind: 'internal', detail: 'The order could not be stored.', cause: result.error })
  }
}

function bulkResult(result: ItemResult, { metrics, log }: CreateDeps) {
  if (result.kind !== 'refused') return { status: result.kind === 'created' ? 201 : 200, order: result.order }
  const { refusal } = result
  metrics.refusals.inc({ kind: refusal.kind })
  if (refusal.kind === 'internal') log.error({ error: describeError(refusal.cause) }, 'an order of a list failed')
  return { status: REFUSALS[refusal.kind].status, problem: problemOf(refusal) }
}
