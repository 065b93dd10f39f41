import { systemClock } from '../../src/runtime/clock.ts'
import { paymentRefOf } from '../../src/simulator/facts-of-callback.ts'
import type { SenderKeys } from '../../src/simulator/keys.ts'
import { transactionIdOf } from '../../src/simulator/plan-money.ts'
import { refundIdsOf } from '../../src/simulator/plan-refunds.ts'
import type { CallbackEvent, PlannedCallback, PlannedReport } from '../../src/simulator/planned.ts'
import type { SignedRequest } from '../../src/simulator/delivered.ts'
import { signCallback } from '../../src/simulator/sign-callback.ts'
import { signReport } from '../../src/simulator/sign-report.ts'
import type { Options } from './options.ts'

const EVENTS: Readonly<Record<string, CallbackEvent>> = {
  ...{ pay: 'payment', fail: 'payment_failed', wait: 'waiting', finish: 'finished', close: 'closed' },
  ...{ refund: 'refund', 'refund-fail': 'refund_abnormal', dispute: 'dispute' },
}
const REPORTS: Readonly<Record<string, PlannedReport['type']>> = {
  ...{ ship: 'shipment_completed', return: 'goods_returned', short: 'fulfillment_failed' },
}

/** What one verb sends, as the provider or the worker signs it; undefined: no such verb. */
export function signerByHand(
  options: Options,
  keys: SenderKeys,
): { readonly sender: string; readonly sign: () => SignedRequest } | undefined {
  const { verb, outTradeNo, provider, forge } = options
  const [event, type] = [EVENTS[verb], REPORTS[verb]]
  const now = systemClock.now()
  if (type !== undefined) {
    const paymentRef = paymentRefOf(provider, transactionIdOf(provider, outTradeNo, 1))
    return { sender: 'worker', sign: () => signReport({ type, outTradeNo, paymentRef, happenedAt: now }, keys, now) }
  }
  if (event === undefined) return undefined
  const callback = callbackOf(event, options, now)
  const defect = forge ? 'wrong_signature' : 'none'
  // The plan's times are counted from now.
  const dateOf = (atMs: number) => new Date(now.getTime() + atMs)
  return { sender: provider, sign: () => signCallback({ callback, defect, at: systemClock.now(), dateOf }, keys) }
}

function callbackOf(event: CallbackEvent, options: Options, now: Date): PlannedCallback {
  const { provider, outTradeNo, amountMinor, currency, refundMinor, refundedMinor } = options
  const isRefund = event === 'refund' || event === 'refund_abnormal'
  const refund = isRefund
    ? {
        ...refundIdsOf(provider, outTradeNo, refundedMinor),
        ...{ amountMinor: refundMinor, totalMinor: refundedMinor, atMs: 0 },
        state: event === 'refund' ? ('succeeded' as const) : ('abnormal' as const),
      }
    : null
  return {
    ...{ event, refund, messageId: `n${now.getTime()}`, afterClose: false, bursts: [] },
    transaction: {
      ...{ provider, form: 'plain', transactionId: transactionIdOf(provider, outTradeNo, 1), outTradeNo },
      ...{ amountMinor, currency, atMs: 0, state: event === 'closed' ? 'closed' : 'paid', others: [] },
      ...{ refunds: refund === null ? [] : [refund], disputeId: `dp_${outTradeNo}` },
    },
  }
}
