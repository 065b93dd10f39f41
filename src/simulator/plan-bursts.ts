import type { PlanContext } from './plan-story.ts'
import type { Burst, Defect } from './planned.ts'
import type { Story } from './stories.ts'

const DEFECT_OF: Partial<Record<Story, Defect>> = {
  forged: 'wrong_signature',
  stale: 'stale_timestamp',
  stranger: 'stranger',
  retired_key: 'retired_key',
}

/**
 * The deliveries of one callback: more than half of them at once, the rest one or two at a time, later. What is odd (a
 * probe, a sender that vanishes, a slow one) takes the place of one of them, and comes first.
 */
export function burstsOf(story: Story, isPayment: boolean, startMs: number, context: PlanContext): Burst[] {
  const { random, deliveriesPerOrder, againMs, slowShare = 0.02, cutOffShare = 0.02 } = context
  const defect = DEFECT_OF[story] ?? 'none'
  const bursts: Burst[] = []
  const odd = (what: Partial<Burst>) => bursts.push({ atMs: startMs, copies: 1, defect, isSlow: false, ...what })
  if (story === 'probed' && isPayment) odd({ defect: 'probe' })
  if (defect === 'none' && deliveriesPerOrder > 2) {
    if (random.chance(cutOffShare)) odd({ defect: 'cut_off' })
    if (random.chance(slowShare)) odd({ isSlow: true })
  }
  const total = deliveriesPerOrder - bursts.length
  let left = total
  for (let copies = Math.ceil(left * 0.6); left > 0; copies = Math.min(left, 1 + random.below(2))) {
    const atMs = left === total ? startMs : startMs + 1 + random.below(againMs)
    bursts.push({ atMs, copies, defect, isSlow: false })
    left -= copies
  }
  return bursts
}
