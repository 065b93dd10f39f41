import type { FactKind } from '../../orders/model.ts'
import type { Pointer } from '../json-pointer.ts'
import { WrittenNumber } from './read-value.ts'

/** How a sender's JSON becomes the normalized callback; read from the `mappingFile` of a merchant's section. */
export interface Mapping {
  /** Where the kind of message is. */
  readonly type: Pointer
  /** Where the order's number is: the first place that has one. */
  readonly outTradeNo: readonly Pointer[]
  readonly recipient: readonly RecipientCheck[]
  /** Kinds that change nothing. */
  readonly ignore: ReadonlySet<string>
  /** By kind of message; refunds before the payment that the same message proves. */
  readonly rules: ReadonlyMap<string, readonly Rule[]>
}

export interface RecipientCheck {
  readonly pointer: Pointer
  /** As `recipientKey` writes them. */
  readonly ours: ReadonlySet<string>
}

/** A fact that a kind of message proves. */
export interface Rule {
  readonly fact: FactKind
  readonly reference: Place
  readonly paymentRef?: Place | undefined
  readonly money?: Money | undefined
  readonly amountKind?: 'individual' | 'cumulative' | undefined
  readonly eventTime: EventTime
  readonly detail?: Pointer | undefined
}

/** Where a reference is: in the body, or the message's own id, which stays the same when it is sent again. */
export type Place = Pointer | 'webhook-id'

export interface Money {
  readonly amount: Pointer
  /** 0: the amount is in minor units already. */
  readonly decimals: number
  readonly currency: Pointer | { readonly constant: string }
}

export type EventTime =
  { readonly form: 'rfc3339' | 'unixSec' | 'unixMs'; readonly pointer: Pointer } | 'webhook-timestamp'

/** What a name may be in a sender's JSON. An object is none, and may not even become a text (`{"toString":1}`). */
export const isNameable = (value: unknown): value is string | number | boolean | WrittenNumber =>
  ['string', 'number', 'boolean'].includes(typeof value) || value instanceof WrittenNumber

/** One spelling per name, so that the text "1" and the number 1 differ. */
export const recipientKey = (name: string | number | boolean | WrittenNumber): string =>
  typeof name === 'string' ? JSON.stringify(name) : name.toString()
