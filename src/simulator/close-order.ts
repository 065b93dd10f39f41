import type { Clock } from '../runtime/clock.ts'
import type { ApiAccess } from './create-orders.ts'
import type { CloseLine } from './log.ts'
import type { PlannedOrder } from './planned.ts'

/** The api waits three seconds for the lane before it answers 202. */
const ANSWER_MS_MAX = 10_000

/**
 * Closes an order as the merchant's order service does. What got no decision (no answer, 202, 5xx) is `unknown`: the
 * order may be closed later.
 */
export async function closeOrder(
  { merchant, outTradeNo }: PlannedOrder,
  { url, token }: ApiAccess,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<CloseLine> {
  const atMs = clock.now().getTime()
  const startedMs = clock.elapsedMs()
  const response = await fetch(new URL(`/v1/orders/${merchant}/${encodeURIComponent(outTradeNo)}/close`, url), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'idempotency-key': `close-${outTradeNo}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]),
  }).catch(() => undefined)
  await response?.text().catch(() => undefined)
  const heard = response?.status === 200 ? 'closed' : response?.status === 409 ? 'refused' : 'unknown'
  return { line: 'close', merchant, outTradeNo, atMs, latencyMs: clock.elapsedMs() - startedMs, heard }
}
