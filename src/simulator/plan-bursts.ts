import type { PlanContext } from './plan-story.ts'
import type { Burst, Defect } from './planned.ts'
import type { Story } from './stories.ts'

const DEFECT_OF: Partial<Record<Story, Defect>> = {
  forged: 'wrong_signature',
  stale: 'stale_timestamp',
  stranger: 'stranger',
  retired_key: 'retired_key',
  hostile: 'hostile',
  slow_head: 'slow_head',
}

/**
 * The deliveries of one callback: more than half of them at once, the rest one or two at a time, later. What is odd (a
 * probe, a sender that vanishes, a slow one) comes first; it takes the place of one of them, unless only duplicates are
 * counted.
 */
export function burstsOf(story: Story, isPayment: boolean, startMs: number, context: PlanContext): Burst[] {
  const { random, deliveriesPerOrder, duplicateShare, againMs, slowShare = 0.02, cutOffShare = 0.02 } = context
  const defect = DEFECT_OF[story] ?? 'none'
  const bursts: Burst[] = []
  const odd = (what: Partial<Burst>) => bursts.push({ atMs: startMs, copies: 1, defect, isSlow: false, ...what })
  if (story === 'probed' && isPayment) odd({ defect: 'probe' })
  if (defect === 'none' && (duplicateShare !== undefined || deliveriesPerOrder > 2)) {
    if (random.chance(cutOffShare)) odd({ defect: 'cut_off' })
    if (random.chance(slowShare)) odd({ isSlow: true })
  }
  const total =
    duplicateShare === undefined ? deliveriesPerOrder - bursts.length : 1 + Number(random.chance(duplicateShare))
  const atOnce = duplicateShare === undefined ? Math.ceil(total * 0.6) : 1 + random.below(total)
  let left = total
  for (let copies = atOnce; left > 0; copies = Math.min(left, 1 + random.below(2))) {
    const atMs = left === total ? startMs : startMs + 1 + random.below(againMs)
    bursts.push({ atMs, copies, defect, isSlow: false })
    left -= copies
  }
  return bursts
}
