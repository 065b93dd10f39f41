import type { RateLimit } from '../providers/rate-limit.ts'
import type { FoundOrder } from '../store/find-order.ts'
import type { AskedOrder } from '../store/refresh-query.ts'
import type { Waiter } from './await-command.ts'
import type { ApiMetrics } from './metrics.ts'

/** What became of the wish to know at once. */
export const REFRESH_RESULTS = [
  /** Its providers have been asked since: what is shown is what is known then. */
  'asked',
  /** They are to be asked, and had not answered in time. */
  'pending',
  /** They were to be asked a moment ago. */
  'recent',
  /** Nothing of the order is open. */
  'settled',
  /** This token asks too often. */
  'limited',
] as const
export type RefreshResult = (typeof REFRESH_RESULTS)[number]

export interface RefreshDeps {
  /** Undefined: it is not due. */
  readonly refreshQuery: (orderId: number) => Promise<{ readonly askedAtMs: number | null } | undefined>
  readonly notify: (orderId: number) => Promise<void>
  readonly waiter: Pick<Waiter<AskedOrder>, 'waitUntil'>
  readonly waitMs: number
  readonly createLimit: () => Pick<RateLimit, 'take'>
  readonly metrics: Pick<ApiMetrics, 'refreshes'>
}
export type RefreshOrder = (found: FoundOrder, tokenId: number) => Promise<RefreshResult>

/** Tokens are few; whoever makes more of them than this starts all of them anew. */
const TOKENS_MAX = 10_000

/**
 * Has an order's providers asked at once, by whoever asks them, and waits for what comes of it: the order changes, or
 * they say that there is nothing. The api itself asks nobody, and holds no keys.
 */
export function createRefreshOrder(deps: RefreshDeps): RefreshOrder {
  const limits = new Map<number, Pick<RateLimit, 'take'>>()
  const mayAsk = (tokenId: number) => {
    const limit = limits.get(tokenId) ?? deps.createLimit()
    if (limits.size >= TOKENS_MAX) limits.clear()
    limits.set(tokenId, limit)
    return limit.take() === 0
  }
  const refresh: RefreshOrder = async ({ order, archivedAtMs }, tokenId) => {
    const isOpen = order.status === 'awaited' || order.status === 'pending' || order.heldCount > 0
    if (!isOpen || archivedAtMs !== null) return 'settled'
    if (!mayAsk(tokenId)) return 'limited'
    const before = await deps.refreshQuery(order.id)
    if (before === undefined) return 'recent'
    await deps.notify(order.id)
    // What was learnt has yet to reach the order; only where nothing was is there nothing more to wait for. The answer to a
    // question that was on its way by now may be older than the buyer's payment: it does not count.
    const isWanted = ({ version, askedAtMs, answer, isWished }: AskedOrder) =>
      version !== order.version ||
      (askedAtMs !== null && askedAtMs !== before.askedAtMs && !isWished && answer?.includes('learnt') !== true)
    const asked = await deps.waiter.waitUntil(order.id, isWanted, deps.waitMs)
    return asked === undefined ? 'pending' : 'asked'
  }
  return async (found, tokenId) => {
    const result = await refresh(found, tokenId)
    deps.metrics.refreshes.inc({ result })
    return result
  }
}
