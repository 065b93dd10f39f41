import type { Rejection, VerifiedMessage } from './provider.ts'

/** What is asked about. */
export type QueryTarget =
  /** The payment of an order. `transactionId` is the provider's own number as it writes it (without `wechatpay:`). */
  | { readonly kind: 'payment'; readonly outTradeNo: string; readonly transactionId?: string }
  /** Refunds of an order's payment. `ref` names one as a hint does: `refund:<out_refund_no>`. */
  | { readonly kind: 'refund'; readonly outTradeNo: string; readonly ref: string }

/** What came of asking. Every failure that can be expected is one of these; none is thrown. */
export type QueryAnswer =
  /** Verified as far as the provider signs its answers, and ours. Messages without facts: not paid or refunded (yet). */
  | {
      readonly kind: 'answered'
      readonly messages: readonly VerifiedMessage[]
      /** As it arrived, with the headers that verifying it again needs. */
      readonly rawBody: Buffer
      readonly rawHeaders: Readonly<Record<string, string>>
      /** Facts are of others only: the refund that was asked about is on its way. */
      readonly isUndecided?: boolean
    }
  /** The provider does not know such an order or refund; it may yet. */
  | { readonly kind: 'not_found' }
  /** Nothing was learnt. `afterMs`: not before that, where the provider or our own limit says so. */
  | { readonly kind: 'try_later'; readonly reason: TryLaterReason; readonly afterMs?: number }
  /** A person must look: it will be the same the next time. `field` says where; neither holds a secret or the body. */
  | { readonly kind: 'refused'; readonly reason: RefusedReason; readonly field?: string }

export type TryLaterReason = 'rate_limited' | 'system_error' | 'timeout' | 'network'

/** So few that they may be a metric's label. */
export type RefusedReason =
  /** What was asked cannot be a provider's: a number that is none. */
  | 'bad_target'
  /** The provider does not take our key, or our account may not ask. `field`: its code. */
  | 'credentials'
  /** It refused the question as such. `field`: its code. */
  | 'provider_error'
  /** Well signed, and about something else than was asked. */
  | 'other_order'
  /** Nothing that is read at all. */
  | 'redirect'
  | 'too_large'
  | 'encoded'
  /** As of a callback. */
  | Exclude<Rejection['kind'], 'signature_probe'>

/** Where the bill of a day is, or why there is none to be had; never `answered`. */
export type BillPlace =
  | {
      readonly kind: 'ready'
      readonly url: URL
      /** To fetch it with. */
      readonly headers: Readonly<Record<string, string>>
      /** Of the bill as it is when it is unpacked, in hexadecimal; null: the provider says none, and its address is the proof. */
      readonly sha1: string | null
    }
  | QueryAnswer
/** @param day China's, as `2026-11-11` */
export type AskBill = (day: string, signal: AbortSignal) => Promise<BillPlace>

/** Asks one provider in one merchant's name. */
export interface QueryClient {
  /** @param signal ends it early, as `timeout`; whatever happens, no expected failure is thrown */
  readonly ask: (target: QueryTarget, signal: AbortSignal) => Promise<QueryAnswer>
  /** Left out: it has no bills, or none that we read. */
  readonly askBill?: AskBill
}

/** By merchant, then by provider. */
export type QueryClients = ReadonlyMap<string, ReadonlyMap<string, QueryClient>>
