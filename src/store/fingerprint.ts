import { hash } from 'node:crypto'
import type { Fact } from '../orders/model.ts'

const BYTES = 8
const HEX = 2 * BYTES

/**
 * What a tombstone keeps of a fact: enough to tell a late duplicate from news, amount included. 64 bits, compared with
 * the few facts of one order only. Fixed for ever: tombstones are full of it.
 * @returns hexadecimal
 */
export const fingerprint = ({ eventType, amountKind, amountMinor, currency, providerRef }: Fact): string =>
  hash('sha256', `${eventType} ${amountKind} ${amountMinor} ${currency} ${providerRef}`, 'hex').slice(0, HEX)

/** The same in SQL, for a row of `facts`. The reference comes last, as it alone may hold a space. */
export const fingerprintSql = (facts: string) =>
  `substring(sha256(convert_to(concat_ws(' ', ${facts}.event_type, ${facts}.amount_kind, ${facts}.amount_minor,
    ${facts}.currency, ${facts}.provider_ref), 'UTF8')) for ${BYTES})`

/** @param hex fingerprints one after another */
export function fingerprintsIn(hex: string): Set<string> {
  const found = new Set<string>()
  for (let at = 0; at < hex.length; at += HEX) found.add(hex.slice(at, at + HEX))
  return found
}
