import { reportFact, signReport } from './sign-report.ts'
import { paymentRefOf } from './facts-of-callback.ts'
import type { SenderKeys } from './keys.ts'
import { again, deliver } from './deliver.ts'
import type { Stage } from './stage.ts'
import type { PlannedCallback, PlannedOrder, PlannedReport } from './planned.ts'

/** The order's payment, and whether its callback was accepted. */
export interface PlayedPayment {
  readonly payment: PlannedCallback | undefined
  readonly accepted: Promise<boolean> | undefined
}

/**
 * The worker reports once the payment was accepted, one report after the other: one of goods that nobody asked for is
 * another story.
 */
export async function playReports(
  order: PlannedOrder,
  { payment, accepted }: PlayedPayment,
  keys: SenderKeys,
  stage: Stage,
): Promise<void> {
  if (order.reports.length === 0 || payment === undefined || (await accepted) !== true) return
  const { provider, transactionId } = payment.transaction
  const paymentRef = paymentRefOf(provider, transactionId)
  for (const report of order.reports) {
    await stage.until(stage.elapsedMs() + report.afterMs)
    const happenedAt = stage.clock.now()
    const send = () => playReport({ order, report, paymentRef, happenedAt }, keys, stage)
    if (!(await send()) && !(await again('worker', send, stage))) return
  }
}

function playReport(
  {
    order,
    report,
    paymentRef,
    happenedAt,
  }: {
    readonly order: PlannedOrder
    readonly report: PlannedReport
    readonly paymentRef: string
    readonly happenedAt: Date
  },
  keys: SenderKeys,
  stage: Stage,
): Promise<boolean> {
  const { merchant, outTradeNo, amountMinor, currency } = order
  const reported = { type: report.type, outTradeNo, paymentRef, happenedAt }
  return deliver(
    {
      ...{ line: 'report', merchant, outTradeNo, amountMinor, currency, provider: 'worker', paymentRef },
      ...{ defect: 'none', event: report.type, facts: [reportFact(reported)] },
    },
    { sign: () => signReport(reported, keys, stage.clock.now()), copies: 1 },
    stage,
  )
}
