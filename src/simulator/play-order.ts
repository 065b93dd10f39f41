import type { Clock } from '../runtime/clock.ts'
import { factsOfCallback, paymentRefOf } from './facts-of-callback.ts'
import type { SenderKeys } from './keys.ts'
import type { CloseLine, LogLine, SentLine } from './log.ts'
import { playReports } from './play-reports.ts'
import type { Burst, PlannedCallback, PlannedOrder } from './planned.ts'
import type { Manner } from './post.ts'
import { RETRY_AFTER_SEC } from './retry-schedule.ts'
import type { Delivery, Sender } from './send.ts'
import { signCallback, type SignedRequest } from './sign-callback.ts'

/** What the play needs of the world around it; times are milliseconds since the run began. */
export interface Stage {
  readonly sender: Sender
  readonly record: (line: LogLine) => void
  readonly clock: Clock
  readonly timeScale: number
  /** A time of the plan as a date, in whole seconds, as providers write them. */
  readonly dateOf: (atMs: number) => Date
  readonly create: (order: PlannedOrder) => Promise<void>
  readonly close: (order: PlannedOrder) => Promise<CloseLine>
  readonly until: (atMs: number) => Promise<void>
  readonly elapsedMs: () => number
  readonly isStopped: () => boolean
}

/** Plays everybody who has to do with one order: the merchant, the providers, the worker. */
export async function playOrder(order: PlannedOrder, keys: SenderKeys, stage: Stage): Promise<void> {
  const closed = closeLater(order, stage)
  const accepted = order.callbacks.map((callback) => playCallback({ order, callback, keys, closed }, stage))
  const payment = order.callbacks.findIndex(({ event }) => event === 'payment')
  await Promise.all([
    createLater(order, stage),
    closed,
    ...accepted,
    playReports(order, { payment: order.callbacks[payment], accepted: accepted[payment] }, keys, stage),
  ])
}

async function createLater(order: PlannedOrder, stage: Stage): Promise<void> {
  if (order.createAtMs === null || order.createAtMs === 0) return
  await stage.until(order.createAtMs)
  if (!stage.isStopped()) await stage.create(order)
}

async function closeLater(order: PlannedOrder, stage: Stage): Promise<void> {
  if (order.closeAtMs === null) return
  await stage.until(order.closeAtMs)
  if (!stage.isStopped()) stage.record(await stage.close(order))
}

interface Played {
  readonly order: PlannedOrder
  readonly callback: PlannedCallback
  readonly keys: SenderKeys
  readonly closed: Promise<void>
}

/** Sends every burst at its time. @returns whether any delivery was accepted */
async function playCallback({ order, callback, keys, closed }: Played, stage: Stage): Promise<boolean> {
  const { transaction, refund, afterClose } = callback
  const { provider, currency, outTradeNo } = transaction
  const facts = factsOfCallback(callback, stage.dateOf)
  const isPayment = facts.length > 0 && facts.every(({ eventType }) => eventType === 'payment_succeeded')
  const about: Omit<SentLine, keyof Delivery | 'defect'> = {
    ...{ line: isPayment ? 'delivery' : 'notice', merchant: order.merchant, outTradeNo, currency, provider },
    amountMinor: refund?.amountMinor ?? transaction.amountMinor,
    paymentRef: paymentRefOf(provider, transaction.transactionId),
    ...{ event: callback.event, messageId: callback.messageId, facts },
  }
  const send = (defect: Burst['defect'], copies: number, isSlow = false) => {
    const sign = () => signCallback({ callback, defect, at: stage.clock.now(), dateOf: stage.dateOf }, keys)
    const manner = defect === 'cut_off' ? 'cut_off' : isSlow ? 'slow' : 'plain'
    return deliver({ ...about, defect, ...(isSlow ? { isSlow } : {}) }, { sign, copies, manner }, stage)
  }
  const play = async ({ atMs, copies, defect, isSlow }: Burst) => {
    await stage.until(atMs)
    if (afterClose) await closed
    if (defect === 'retired_key') await untilRetired(keys, stage)
    if (await send(defect, copies, isSlow)) return defect === 'none'
    // Who is gone in the middle hears nothing either, and comes again like anybody who was refused.
    const comesAgain = defect === 'none' || defect === 'cut_off'
    return comesAgain && (await again(provider, () => send('none', 1), stage))
  }
  const heard = await Promise.all(callback.bursts.map(play))
  return heard.some((accepted) => accepted)
}

/** A sender that heard no success sends again, on its schedule, until it gives up. */
export async function again(
  sender: keyof typeof RETRY_AFTER_SEC,
  send: () => Promise<boolean>,
  stage: Stage,
): Promise<boolean> {
  for (const waitSec of RETRY_AFTER_SEC[sender]) {
    if (stage.isStopped()) return false
    await stage.until(stage.elapsedMs() + waitSec * 1_000 * stage.timeScale)
    if (await send()) return true
  }
  return false
}

/** A second after the end of the old keys, whose clock is the gateway's. */
async function untilRetired({ merchant, rotation }: SenderKeys, stage: Stage): Promise<void> {
  if (rotation === null) throw new Error(`the keys of ${merchant} do not change: none of them is retired`)
  const restMs = rotation.oldEndMs + 1_000 - stage.clock.now().getTime()
  await stage.until(stage.elapsedMs() + Math.max(0, restMs))
}

export interface Sending {
  readonly sign: () => SignedRequest
  readonly copies: number
  readonly manner?: Manner
}

/** Signs at the moment of sending, posts the copies at once and records each. @returns whether one was accepted */
export async function deliver(
  about: Omit<SentLine, keyof Delivery>,
  { sign, copies, manner }: Sending,
  stage: Stage,
): Promise<boolean> {
  if (stage.isStopped()) return false
  const deliveries = await stage.sender.burst(about.provider, sign, copies, manner)
  for (const delivery of deliveries) stage.record({ ...about, ...delivery })
  return deliveries.some(({ heard }) => heard === 'success')
}
