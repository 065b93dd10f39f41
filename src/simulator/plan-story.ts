import type { PlanOptions } from './plan.ts'
import { burstsOf } from './plan-bursts.ts'
import { planMoney, type Money } from './plan-money.ts'
import { planReports } from './plan-reports.ts'
import type { PlannedCallback, PlannedOrder } from './planned.ts'
import type { Random } from './random.ts'
import { drawProvider, type ProviderShares, type Story } from './stories.ts'

export interface PlanContext extends PlanOptions {
  readonly random: Random
  readonly providers: ProviderShares
}

/** A combined payment is of two orders to four. */
const COMBINED_MAX = 4

/**
 * The orders of one story: one, unless several are paid together.
 * @param room how many there may be
 */
export function planStory(drawn: Story, index: number, room: number, context: PlanContext): PlannedOrder[] {
  const { random, runId, merchants, providers } = context
  const able = drawn === 'combined' && room < 2 ? undefined : drawProvider(random, drawn, providers)
  // None of those that take part can tell it.
  const story = able === undefined ? 'paid' : drawn
  const provider = able ?? drawProvider(random, 'paid', providers)
  if (provider === undefined) throw new Error('no provider takes part: give one a share')
  const count = story === 'combined' ? 2 + random.below(Math.min(room, COMBINED_MAX) - 1) : 1
  const merchant = random.pick(merchants)
  const orders = Array.from({ length: count }, (_, n) => ({
    outTradeNo: `${runId}-${String(index + n).padStart(6, '0')}`,
    amountMinor: 2 + random.below(100_000),
  }))
  const startMs = 1 + random.below(context.spreadMs)
  const money = planMoney(story, provider, orders, { ...context, startMs })
  const [first, ...others] = orders.map((order): PlannedOrder => ({
    ...{ merchant, ...order, currency: money.currency, story },
    createAtMs: createAtMs(story, startMs, context),
    closeAtMs: money.closeAtMs,
    ...{ callbacks: [], reports: [] },
  }))
  if (first === undefined) throw new Error('a story has an order')
  const callbacks = money.callbacks.map((callback) => callbackOf(callback, story, context))
  return [{ ...first, callbacks, reports: planReports(story, context) }, ...others]
}

function callbackOf(callback: Money['callbacks'][number], story: Story, context: PlanContext): PlannedCallback {
  const { startMs, ...told } = callback
  return {
    ...told,
    messageId: `n${context.random.hex(30)}`,
    bursts: burstsOf(story, told.event === 'payment', startMs, context),
  }
}

function createAtMs(story: Story, startMs: number, { random, againMs }: PlanContext): number | null {
  if (story === 'unknown') return null
  return story === 'created_late' ? startMs + random.below(againMs) * random.below(2) : 0
}
