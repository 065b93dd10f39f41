import type { VerifiedMessage } from './provider.ts'

/** What is asked about. */
export type QueryTarget =
  /** The payment of an order. `transactionId` is the provider's own number, where it is known: it is found faster. */
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
    }
  /** The provider does not know such an order or refund; it may yet. */
  | { readonly kind: 'not_found' }
  /** Nothing was learnt. `afterMs`: not before that, where the provider or our own limit says so. */
  | { readonly kind: 'try_later'; readonly reason: TryLaterReason; readonly afterMs?: number }
  /** A person must look: it will be the same the next time. `reason` never holds a secret or the answer's body. */
  | { readonly kind: 'refused'; readonly reason: string; readonly field?: string }

export type TryLaterReason = 'rate_limited' | 'system_error' | 'timeout' | 'network'

/** Asks one provider in one merchant's name. */
export interface QueryClient {
  /** @param signal ends it early, as `timeout`; whatever happens, no expected failure is thrown */
  readonly ask: (target: QueryTarget, signal: AbortSignal) => Promise<QueryAnswer>
}

/** By merchant, then by provider. */
export type QueryClients = ReadonlyMap<string, ReadonlyMap<string, QueryClient>>
