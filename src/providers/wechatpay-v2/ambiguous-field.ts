import type { XmlFields } from './parse-flat-xml.ts'

/** Where in a value another field could begin, as the signed text escapes nothing. */
const ANOTHER_FIELD = /&[A-Za-z_][A-Za-z0-9_]*=/
/** The only one that is read and may be absent among those that could be taken into `attach`, which they follow. */
const CURRENCY = /&fee_type=/

/**
 * The field that may hold others. What is signed is `k=v&k=v` without any escape, so that an `attach` of
 * `x&out_trade_no=T9&…&z=` can be cut into fields that were never sent, under the same signature; what WeChat Pay did
 * send then lies in the value of the last of them. In `attach` itself, where shops do write `a=1&b=2`, it is harmless:
 * what is cut out of it follows it in the order of the names.
 * A matter of what anybody could post: nobody else cuts the answer of a query.
 */
export function ambiguousField(fields: XmlFields): string | undefined {
  for (const [name, value] of fields) if ((name === 'attach' ? CURRENCY : ANOTHER_FIELD).test(value)) return name
  return undefined
}
