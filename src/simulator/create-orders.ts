import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../runtime/clock.ts'
import type { OrderLine } from './log.ts'
import type { PlannedOrder } from './planned.ts'

export interface ApiAccess {
  readonly url: string
  /** A bearer token that may create orders of the merchants in the plan. Never logged. */
  readonly token: string
}

const ORDERS_PER_REQUEST_MAX = 500
const TRIES_MAX = 10
const PAUSE_MS_MAX = 5_000
const ANSWER_MS_MAX = 10_000
/** Long after any run. */
const EXPIRES_AFTER_MS = 7 * 86_400_000

/**
 * Creates orders as the merchant's order service does, up to 500 in a request. What got no answer, or 5xx, is asked for
 * again: creating is idempotent.
 * @param signal aborted, it asks no more; what was asked and not heard is `unknown`
 * @returns what was heard of each that was asked for; throws if the api refuses the whole request, as nothing can go on then
 */
export async function createOrders(
  orders: readonly PlannedOrder[],
  api: ApiAccess,
  clock: Clock,
  signal: AbortSignal,
): Promise<OrderLine[]> {
  const lines: OrderLine[] = []
  for (let from = 0; from < orders.length && !signal.aborted; from += ORDERS_PER_REQUEST_MAX)
    lines.push(...(await createSome(orders.slice(from, from + ORDERS_PER_REQUEST_MAX), api, { clock, signal })))
  return lines
}

async function createSome(
  orders: readonly PlannedOrder[],
  api: ApiAccess,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<OrderLine[]> {
  const atMs = clock.now().getTime()
  const startedMs = clock.elapsedMs()
  const bodies = new Map(orders.map((order) => [order.outTradeNo, orderBody(order, clock.now())]))
  const heard = new Map<string, OrderLine['heard']>()
  let pending = orders
  for (let tries = 1; pending.length > 0 && tries <= TRIES_MAX && !signal.aborted; tries++) {
    const body = JSON.stringify({ orders: pending.map((order) => bodies.get(order.outTradeNo)) })
    const answers = await ask(body, api, signal)
    for (const [index, { outTradeNo }] of pending.entries()) heard.set(outTradeNo, heardFrom(answers[index]?.status))
    pending = pending.filter(({ outTradeNo }) => heard.get(outTradeNo) === 'unknown')
    // An abort cuts the waiting short.
    if (pending.length > 0 && tries < TRIES_MAX)
      await sleep(Math.min(PAUSE_MS_MAX, 200 * 2 ** tries), undefined, { signal }).catch(() => 0)
  }
  const latencyMs = clock.elapsedMs() - startedMs
  return orders.map(({ merchant, outTradeNo, amountMinor, currency }) => ({
    ...{ line: 'order', merchant, outTradeNo, amountMinor, currency, atMs, latencyMs },
    heard: heard.get(outTradeNo) ?? 'unknown',
  }))
}

/** One result per order; none if there was no answer, or 5xx. */
async function ask(body: string, { url, token }: ApiAccess, signal: AbortSignal): Promise<{ status?: number }[]> {
  const response = await fetch(new URL('/v1/orders', url), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]),
  }).catch(() => undefined)
  const text = await response?.text().catch(() => undefined)
  if (response === undefined || text === undefined || response.status >= 500) return []
  if (!response.ok) throw new Error(`the api refuses to create orders (${response.status}): ${text.slice(0, 500)}`)
  return (JSON.parse(text) as { results?: { status?: number }[] }).results ?? []
}

const heardFrom = (status = 500) => (status < 300 ? 'created' : status < 500 ? 'refused' : 'unknown')

const orderBody = ({ merchant, outTradeNo, amountMinor, currency }: PlannedOrder, now: Date) => ({
  merchant,
  out_trade_no: outTradeNo,
  amount_minor: amountMinor,
  currency,
  expires_at: new Date(now.getTime() + EXPIRES_AFTER_MS).toISOString(),
  payload: JSON.stringify({ items: [{ sku: 'SKU-1', quantity: 1 }], address_ref: `addr-${outTradeNo}` }),
})
