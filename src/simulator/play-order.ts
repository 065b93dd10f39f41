import type { Clock } from '../runtime/clock.ts'
import { CURRENCY } from './create-orders.ts'
import type { SenderKeys } from './keys.ts'
import type { DeliveryLine, LogLine } from './log.ts'
import type { Burst, Defect, PlannedCallback, PlannedOrder } from './plan.ts'
import { RETRY_AFTER_SEC } from './retry-schedule.ts'
import type { Delivery, Sender } from './send.ts'
import { signPayment, type SignedRequest } from './sign-payment.ts'
import { signShipmentReport } from './sign-report.ts'

/** What the play needs of the world around it; times are milliseconds since the run began. */
export interface Stage {
  readonly sender: Sender
  readonly record: (line: LogLine) => void
  readonly clock: Clock
  readonly retryScale: number
  readonly create: (order: PlannedOrder) => Promise<void>
  readonly until: (atMs: number) => Promise<void>
  readonly elapsedMs: () => number
  readonly isStopped: () => boolean
}

/** Plays everybody who has to do with one order: the merchant, the providers, the worker. */
export async function playOrder(order: PlannedOrder, keys: SenderKeys, stage: Stage): Promise<void> {
  const accepted = order.callbacks.map((callback) => playCallback(order, callback, keys, stage))
  await Promise.all([createLater(order, stage), report(order, accepted, keys, stage), ...accepted])
}

async function createLater(order: PlannedOrder, stage: Stage): Promise<void> {
  if (order.createAtMs === null || order.createAtMs === 0) return
  await stage.until(order.createAtMs)
  if (!stage.isStopped()) await stage.create(order)
}

/** Sends every burst at its time. @returns whether any delivery was accepted */
async function playCallback(order: PlannedOrder, callback: PlannedCallback, keys: SenderKeys, stage: Stage) {
  const paidAt = stage.clock.now()
  const payment = { ...callback, outTradeNo: order.outTradeNo, paidAt }
  const send = (defect: Defect, copies: number) => {
    const about = { ...callback, paymentRef: `${callback.provider}:${callback.transactionId}`, defect }
    const sign = () => signPayment(payment, keys, defect, stage.clock.now())
    return deliver({ line: 'delivery', ...linePart(order, about) }, sign, copies, stage)
  }
  const play = async ({ atMs, copies, defect }: Burst) => {
    await stage.until(atMs)
    if (await send(defect, copies)) return defect === 'none'
    return defect === 'none' && (await again(callback, () => send('none', 1), stage))
  }
  const heard = await Promise.all(callback.bursts.map(play))
  return heard.some((accepted) => accepted)
}

/** A provider that heard no success sends again, on its schedule, until it gives up. */
async function again({ provider }: PlannedCallback, send: () => Promise<boolean>, stage: Stage): Promise<boolean> {
  for (const waitSec of RETRY_AFTER_SEC[provider]) {
    if (stage.isStopped()) return false
    await stage.until(stage.elapsedMs() + waitSec * 1_000 * stage.retryScale)
    if (await send()) return true
  }
  return false
}

/** The worker reports once the payment was accepted: a report of goods that nobody asked for is another story. */
async function report(order: PlannedOrder, accepted: readonly Promise<boolean>[], keys: SenderKeys, stage: Stage) {
  const [payment] = order.callbacks
  if (order.reportAfterMs === null || payment === undefined || !(await accepted[0])) return
  await stage.until(stage.elapsedMs() + order.reportAfterMs)
  const paymentRef = `${payment.provider}:${payment.transactionId}`
  const about = { ...payment, provider: 'worker', paymentRef, defect: 'none' as const }
  const sign = () => signShipmentReport(order.outTradeNo, paymentRef, keys, stage.clock.now())
  await deliver({ line: 'report', ...linePart(order, about) }, sign, 1, stage)
}

type Line = Extract<LogLine, { gateway: string }>

/** Signs at the moment of sending, posts the copies at once and records each. @returns whether one was accepted */
async function deliver(about: Omit<Line, keyof Delivery>, sign: () => SignedRequest, copies: number, stage: Stage) {
  if (stage.isStopped()) return false
  const deliveries = await stage.sender.burst(about.provider, sign(), copies)
  for (const delivery of deliveries) stage.record({ ...about, ...delivery })
  return deliveries.some(({ heard }) => heard === 'success')
}

const linePart = (
  { merchant, outTradeNo }: PlannedOrder,
  about: Pick<DeliveryLine, 'provider' | 'paymentRef' | 'amountMinor' | 'defect'>,
) => ({
  ...{ merchant, outTradeNo, currency: CURRENCY },
  ...{ provider: about.provider, paymentRef: about.paymentRef, amountMinor: about.amountMinor, defect: about.defect },
})
