import type { Fact } from '../orders/model.ts'

/** A request as it arrived. Header names are lower-case; a header sent twice is not here but in `repeatedHeaders`. */
export interface CallbackRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly repeatedHeaders: readonly string[]
  readonly rawBody: Buffer
}

/** A verified message about one order, without what the gateway knows anyway (merchant, provider, raw bytes). */
export interface VerifiedMessage {
  /** At most 64 bytes, no control characters. Null: the message names no order. */
  readonly outTradeNo: string | null
  /** For people, in the provider's words. At most 256 bytes. */
  readonly messageType: string
  /** For tracing only; empty where the provider gave none that can be stored. At most 256 bytes. */
  readonly messageId: string
  /** Empty: a kind that is not mapped; it is kept and answered with success. */
  readonly facts: readonly Fact[]
}

/** Every way to be refused. `detail` is for the log and never holds a secret or the body. */
export type Rejection =
  | { readonly kind: 'missing_header' | 'repeated_header'; readonly header: string }
  | { readonly kind: 'malformed'; readonly field: string; readonly detail?: string }
  | { readonly kind: 'stale'; readonly ageSec: number }
  | { readonly kind: 'unknown_key'; readonly keyId: string }
  | { readonly kind: 'bad_signature' | 'signature_probe' }
  | { readonly kind: 'undecryptable' }
  | { readonly kind: 'wrong_recipient'; readonly field: string }

/** What the gateway itself adds. */
export type GatewayRejection =
  | { readonly kind: 'unknown_provider' | 'unknown_merchant' }
  | { readonly kind: 'too_large' | 'incomplete_body' | 'overloaded' | 'broker_unavailable' | 'internal' }

export type Verdict =
  | { readonly kind: 'verified'; readonly messages: readonly [VerifiedMessage, ...VerifiedMessage[]] }
  | { readonly kind: 'refused'; readonly rejection: Rejection }

export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/**
 * A provider bound to one merchant's keys. `verify` never throws, and is pure but for the key objects it holds.
 * It is synchronous on purpose: verifications run back to back in one turn of the event loop cost less CPU than the
 * thread pool (64 to 72 against 84 to 126 µs a request), so whoever calls it should collect a turn's requests first.
 */
export interface Provider {
  /** Names of the headers that re-verification needs, lower-case. */
  readonly signedHeaders: readonly string[]
  readonly verify: (request: CallbackRequest, now: Date) => Verdict
}

/** How a provider is answered: exact per provider, and telling an attacker nothing. The same for every merchant. */
export interface AnswerForms {
  readonly success: Answer
  readonly refusal: (rejection: Rejection | GatewayRejection) => Answer
}
