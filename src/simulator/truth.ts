import type { Clock } from '../runtime/clock.ts'
import { paymentRefOf } from './facts-of-callback.ts'
import type { Defect, PlannedCallback, PlannedOrder, PlannedRefund, PlannedTransaction } from './planned.ts'
import type { PaymentProvider } from './stories.ts'

/** A transaction as far as it has come by now, and whose it is. */
export interface KnownTransaction extends PlannedTransaction {
  readonly merchant: string
}
export interface KnownRefund {
  readonly transaction: KnownTransaction
  readonly refund: PlannedRefund
}

/** What the providers know, whether or not they have told it yet. */
export interface Truth {
  readonly dateOf: (atMs: number) => Date
  /** Of WeChat Pay's two protocols either knows what was paid under the other. */
  readonly find: (
    provider: PaymentProvider,
    merchant: string,
    is: (transaction: KnownTransaction) => boolean,
  ) => KnownTransaction | undefined
  /** One that is not paid yet, and will be. */
  readonly findUnpaid: Truth['find']
  /** All that is paid by now, with what went back of it. */
  readonly paid: (provider: PaymentProvider, merchant: string) => KnownTransaction[]
  readonly findRefund: (
    provider: PaymentProvider,
    merchant: string,
    is: (refund: PlannedRefund, transaction: KnownTransaction) => boolean,
  ) => KnownRefund | undefined
}

/** The truth of a plan. @param dateOf a time of the plan as a date */
export function truthOf(orders: readonly PlannedOrder[], dateOf: (atMs: number) => Date, clock: Clock): Truth {
  const all = new Map<string, Map<string, KnownTransaction>>()
  for (const { merchant, callbacks } of orders)
    for (const { transaction } of callbacks.filter(isTrue))
      for (const one of partsOf(transaction)) {
        const ref = paymentRefOf(one.provider, one.transactionId)
        const place = placeOf(one.provider, merchant)
        const known = all.get(place) ?? new Map<string, KnownTransaction>()
        all.set(place, known.set(ref, { ...one, merchant }))
      }
  const hasHappened = ({ atMs }: { readonly atMs: number }) => dateOf(atMs) <= clock.now()
  const at = (provider: PaymentProvider, merchant: string) => all.get(placeOf(provider, merchant))?.values() ?? []
  const upToNow = (one: KnownTransaction) => ({ ...one, refunds: one.refunds.filter(hasHappened) })
  return {
    dateOf,
    find: (provider, merchant, is) => {
      for (const one of at(provider, merchant)) if (is(one) && hasHappened(one)) return upToNow(one)
      return undefined
    },
    findUnpaid: (provider, merchant, is) => {
      for (const one of at(provider, merchant)) if (is(one) && !hasHappened(one)) return one
      return undefined
    },
    paid: (provider, merchant) =>
      [...at(provider, merchant)].filter((one) => one.state === 'paid' && hasHappened(one)).map(upToNow),
    findRefund: (provider, merchant, is) => {
      for (const one of at(provider, merchant)) {
        const refund = one.refunds.find((some) => is(some, one) && hasHappened(some))
        if (refund !== undefined && hasHappened(one)) return { transaction: upToNow(one), refund }
      }
      return undefined
    },
  }
}

/** What no provider signed, or not for this merchant and not now, is somebody's invention: it knows of no such payment. */
const INVENTED: readonly Defect[] = [
  ...(['wrong_signature', 'stale_timestamp', 'stranger', 'retired_key', 'hostile', 'slow_head'] as const),
]
const isTrue = ({ bursts }: PlannedCallback) =>
  bursts.length === 0 || bursts.some(({ defect }) => !INVENTED.includes(defect))

const placeOf = (provider: PaymentProvider, merchant: string) => `${paymentRefOf(provider, '')}${merchant}`

/** Each order's own transaction of a combined one. */
const partsOf = (transaction: PlannedTransaction): PlannedTransaction[] => [
  transaction,
  ...transaction.others.map((other) => ({ ...transaction, ...other, others: [], refunds: [] })),
]

/** All that went back of it by now, in minor units. */
export const refundedMinor = ({ refunds }: PlannedTransaction): number =>
  refunds.reduce((sum, { state, amountMinor }) => (state === 'succeeded' ? sum + amountMinor : sum), 0)
