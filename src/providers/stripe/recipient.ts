import { valueAt } from '../json-pointer.ts'
import type { Fields } from '../fields.ts'
import type { StripeConfig } from './config.ts'

/** The order's number in the first place that has one, and the name of that place. Empty is a number too, and a bad one. */
export function orderIn(
  object: Fields,
  { outTradeNo }: Pick<StripeConfig, 'outTradeNo'>,
): { number: unknown; path: string } | undefined {
  for (const place of outTradeNo) {
    const number = valueAt(object, place)
    if (number !== undefined && number !== null) return { number, path: place.tokens.join('.') }
  }
  return undefined
}

/**
 * The configured field that does not name this merchant. An object that can state no fact may lack it: of a dispute, and
 * of a refund made in the Dashboard, which have no metadata, a person hears by a dead letter.
 */
export function otherShopsField(
  object: Fields,
  { recipient }: Pick<StripeConfig, 'recipient'>,
  mayProve: boolean,
): string | undefined {
  return recipient
    .find(({ pointer, ours }) => {
      const named = valueAt(object, pointer)
      if (named === undefined || named === null) return mayProve
      return typeof named !== 'string' || !ours.has(named)
    })
    ?.pointer.tokens.join('.')
}
