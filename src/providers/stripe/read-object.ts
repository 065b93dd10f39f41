import { isFields, type Fields } from '../fields.ts'
import { isIdentity, isMinorAmount, isTimeMs } from '../limits.ts'

/** A reference of the money system Stripe, or undefined if it could not be stored. */
export function stripeRef(id: unknown, suffix = ''): string | undefined {
  const ref = isIdentity(id) ? `stripe:${id}${suffix}` : undefined
  return isIdentity(ref) ? ref : undefined
}

/** The id of a related object: a text, or the object itself where it was asked for. */
export const idOf = (related: unknown): unknown => (isFields(related) ? related['id'] : related)

/** An amount in Stripe's minor units and its currency, which Stripe writes in lower case; or the name of a bad field. */
export function moneyOf(object: Fields, field: string): { amountMinor: number; currency: string } | string {
  const { [field]: amountMinor, currency } = object
  if (!isMinorAmount(amountMinor)) return field
  if (typeof currency !== 'string' || !/^[a-z]{3}$/.test(currency)) return 'currency'
  return { amountMinor, currency: currency.toUpperCase() }
}

/** Milliseconds of a time in whole seconds since 1970; undefined if it is none that can be kept. */
export const unixMs = (seconds: unknown): number | undefined =>
  typeof seconds === 'number' && Number.isInteger(seconds) && isTimeMs(seconds * 1_000) ? seconds * 1_000 : undefined

/** A text for people, if it is one. */
export const words = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
