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
  /** Empty: `instead` says why, or else the kind is not mapped; it is kept and answered with success. */
  readonly facts: readonly Fact[]
  readonly instead?: WithoutFacts
}

/** Why a message that we understand states no fact. */
export type WithoutFacts =
  /** It changes nothing, as Alipay's `WAIT_BUYER_PAY` does not. */
  | { readonly kind: 'no_effect' }
  /** Not proven (an unsigned refund notice): only a reason to ask the provider about `ref`, which names a refund. */
  | { readonly kind: 'hint'; readonly ref: string }

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

/** A return query's own verdict: it has no place for a fact, so that none can follow from one. */
export type ReturnVerdict =
  { readonly kind: 'verified'; readonly says: ReturnSays } | { readonly kind: 'refused'; readonly rejection: Rejection }

/** For the buyer's eyes, as the provider wrote it; empty where it wrote nothing that can be shown. */
export interface ReturnSays {
  readonly outTradeNo: string
  readonly tradeNo: string
  readonly totalAmount: string
}

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
  /** What `paidonce callback explain` looks at; never used on the way of a callback. */
  readonly inspect: Inspection
  /** Only where the provider sends the buyer's browser back with a signed query: it proves who wrote it, and no payment. */
  readonly verifyReturn?: (rawQuery: string, now: Date) => ReturnVerdict
}

/** One merchant's keys and the rule of signing, one step at a time, without time or policy. Nothing here throws. */
export interface Inspection {
  readonly keys: readonly InspectedKey[]
  /** The bytes that a signature would be over; undefined if the request lacks a part of them. */
  readonly canonical: (request: CallbackRequest) => Buffer | undefined
  /** Whether that key made the signature in the request over its canonical bytes, whatever the time and the serial. */
  readonly verifies: (request: CallbackRequest, keyId: string) => boolean
  /** The key that the request itself names; undefined where this provider's requests name none. */
  readonly namedKey: (request: CallbackRequest) => string | undefined
  /** The signed time in seconds since 1970; undefined if there is none. */
  readonly signedAtSec: (request: CallbackRequest) => number | undefined
}

export interface InspectedKey {
  /** A serial, `PUB_KEY_ID_…`, or the name of the section's field and position: never part of the key. */
  readonly id: string
  /** The first 16 hexadecimal digits of SHA-256 of a public key's DER; null for a shared secret. */
  readonly fingerprint: string | null
  readonly validToMs: number
}

/** How a provider is answered: exact per provider, and telling an attacker nothing. The same for every merchant. */
export interface AnswerForms {
  readonly success: Answer
  readonly refusal: (rejection: Rejection | GatewayRejection) => Answer
}
