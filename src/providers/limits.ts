import { AMOUNT_MINOR_MAX, ORDER_FIELD_BYTES_MAX, TIME_MS_MAX } from '../orders/limits.ts'

/** An identity (a provider's reference, a kind of message) is stored, indexed and hashed: 256 bytes bound all three. */
export const IDENTITY_BYTES_MAX = 256
/** A fact's `detail` is for people to read. */
export const DETAIL_CHARS_MAX = 1_024

/** Postgres text takes no NUL, and the others only serve to confuse whoever reads a log. */
const CONTROL = /\p{Cc}/u

/**
 * Whether a value may be an identity: a string of 1 to 256 bytes without control characters. A lone surrogate is
 * refused too: UTF-8 has no form for it, so two different numbers would become one.
 */
export const isIdentity = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= IDENTITY_BYTES_MAX &&
  !CONTROL.test(value) &&
  value.isWellFormed() &&
  Buffer.byteLength(value) <= IDENTITY_BYTES_MAX

/** Whether a value may be an order's number: an identity that `orders` has room for. */
export const isOrderNumber = (value: unknown): value is string =>
  isIdentity(value) && Buffer.byteLength(value) <= ORDER_FIELD_BYTES_MAX

/** Whether a number of milliseconds since 1970 is a time that can be kept. */
export const isTimeMs = (ms: number): boolean => ms >= 0 && ms <= TIME_MS_MAX

/** The value if it may be stored as an identity, else an empty string: for what serves tracing only. */
export const traceable = (value: unknown): string => (isIdentity(value) ? value : '')

/** An amount in minor units: a non-negative integer that Kafka can carry. */
export const isMinorAmount = (value: unknown): value is number =>
  typeof value === 'number' &&
  Number.isInteger(value) &&
  value >= 0 &&
  value <= AMOUNT_MINOR_MAX &&
  !Object.is(value, -0)

/** ISO 4217. */
export const isCurrency = (value: unknown): value is string => typeof value === 'string' && /^[A-Z]{3}$/.test(value)
