import { planStory } from './plan-story.ts'
import { randomOf } from './random.ts'
import type { PlannedOrder } from './planned.ts'
import { PROVIDER_SHARES, STORY_SHARES, drawStory, type ProviderShares, type StoryShares } from './stories.ts'

export interface PlanOptions {
  readonly seed: number
  /** Put before every number, so that two runs share nothing. At most 12 of A-Z, a-z, 0-9. */
  readonly runId: string
  readonly merchants: readonly [string, ...string[]]
  readonly orders: number
  readonly deliveriesPerOrder: number
  /** Instead: every callback comes once, and so many of them once more, half of these at the same instant. */
  readonly duplicateShare?: number
  /** First deliveries are spread over this time. */
  readonly spreadMs: number
  /** A callback comes again up to this long after its first burst. */
  readonly againMs: number
  readonly stories?: Partial<StoryShares>
  /** What is not named takes no part. */
  readonly providers?: Partial<ProviderShares>
  /** Of the orders that are paid and stay so. */
  readonly reportShare?: number
  /** Of the reports, those of a parcel that also comes back. */
  readonly returnShare?: number
  /** Of the callbacks that have a delivery to spare for it. */
  readonly slowShare?: number
  readonly cutOffShare?: number
  /** Of the orders, those whose callbacks are all lost. */
  readonly silentShare?: number
}

/** Everything that will be sent, and when; pure, and the same for the same options. */
export function planOf(options: PlanOptions): PlannedOrder[] {
  const random = randomOf(options.seed)
  const stories = { ...STORY_SHARES, ...options.stories }
  const none = Object.fromEntries(Object.keys(PROVIDER_SHARES).map((name) => [name, 0])) as ProviderShares
  const providers = options.providers === undefined ? PROVIDER_SHARES : { ...none, ...options.providers }
  const orders: PlannedOrder[] = []
  while (orders.length < options.orders) {
    const room = options.orders - orders.length
    orders.push(...planStory(drawStory(random, stories), orders.length, room, { ...options, random, providers }))
  }
  return silenced(orders, options)
}

/** By a chance of its own, so that all else of a plan is the same with and without. */
function silenced(orders: PlannedOrder[], { seed, silentShare = 0 }: PlanOptions): PlannedOrder[] {
  if (silentShare === 0) return orders
  const random = randomOf(seed + 1)
  return orders.map((order) => (random.chance(silentShare) ? { ...order, isSilent: true } : order))
}
