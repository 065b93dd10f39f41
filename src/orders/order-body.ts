import { createHash } from 'node:crypto'

/** What a merchant says when it creates an order; valid already. */
export interface OrderBody {
  readonly merchant: string
  readonly outTradeNo: string
  /** Integer in minor units. */
  readonly amountMinor: number
  readonly currency: string
  readonly expiresAtMs: number
  readonly groupKey: string | null
  /** Opaque; copied into the order's events. */
  readonly payload: string | null
}

/** The fields that a body may differ in, by the names that merchants know, in the order in which they are compared. */
const FIELDS = {
  amount_minor: ({ amountMinor }) => amountMinor,
  currency: ({ currency }) => currency,
  expires_at: ({ expiresAtMs }) => expiresAtMs,
  group: ({ groupKey }) => groupKey,
  payload: ({ payload }) => payload,
} satisfies Record<string, (body: OrderTerms) => unknown>
export type BodyField = keyof typeof FIELDS
export type OrderTerms = Omit<OrderBody, 'merchant' | 'outTradeNo'>

/** The body as JSON with its keys always in this order and its times in milliseconds: the same body, the same text. */
export const canonicalBody = (body: OrderBody): string =>
  JSON.stringify([
    ['merchant', body.merchant],
    ['out_trade_no', body.outTradeNo],
    ...Object.entries(FIELDS).map(([field, of]) => [field, of(body)]),
  ])

/** SHA-256 of the canonical body, 32 bytes: the same hash gets the same answer. */
export const bodyHash = (body: OrderBody): Buffer => createHash('sha256').update(canonicalBody(body)).digest()

/** Undefined: they say the same. */
export function firstDifference(a: OrderTerms, b: OrderTerms): BodyField | undefined {
  return (Object.keys(FIELDS) as BodyField[]).find((field) => FIELDS[field](a) !== FIELDS[field](b))
}
