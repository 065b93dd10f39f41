import { again, deliver } from './deliver.ts'
import { factsOfCallback, paymentRefOf } from './facts-of-callback.ts'
import type { SenderKeys } from './keys.ts'
import type { SentLine } from './log.ts'
import type { Burst, PlannedCallback, PlannedOrder } from './planned.ts'
import type { Delivery } from './send.ts'
import { signCallback } from './sign-callback.ts'
import type { Stage } from './stage.ts'

interface Played {
  readonly order: PlannedOrder
  readonly callback: PlannedCallback
  readonly keys: SenderKeys
  readonly closed: Promise<void>
}

/** Sends every burst at its time. @returns whether any delivery was accepted */
export async function playCallback({ order, callback, keys, closed }: Played, stage: Stage): Promise<boolean> {
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
    const manner = defect === 'cut_off' || defect === 'slow_head' ? defect : isSlow ? 'slow' : 'plain'
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

/** A second after the end of the old keys, whose clock is the gateway's. */
async function untilRetired({ merchant, rotation }: SenderKeys, stage: Stage): Promise<void> {
  if (rotation === null) throw new Error(`the keys of ${merchant} do not change: none of them is retired`)
  const restMs = rotation.oldEndMs + 1_000 - stage.clock.now().getTime()
  await stage.until(stage.elapsedMs() + Math.max(0, restMs))
}
