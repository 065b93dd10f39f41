import type { PlanContext } from './plan-story.ts'
import type { PlannedReport } from './planned.ts'
import type { Story } from './stories.ts'

/** Of goods that were paid and stay so; a report of what nobody asked for is another matter. */
const REPORTED: readonly Story[] = ['paid', 'probed', 'second_payment', 'refunded_partly', 'finished', 'waiting']

/** Mostly a parcel that leaves; one in ten cannot be packed, one in ten comes back. */
export function planReports(
  story: Story,
  { random, reportShare = 0, returnShare = 0.1, againMs }: PlanContext,
): PlannedReport[] {
  if (!REPORTED.includes(story) || !random.chance(reportShare)) return []
  const report = (type: PlannedReport['type']): PlannedReport => ({ type, afterMs: random.below(againMs) })
  if (random.chance(0.1)) return [report('fulfillment_failed')]
  return random.chance(returnShare)
    ? [report('shipment_completed'), report('goods_returned')]
    : [report('shipment_completed')]
}
