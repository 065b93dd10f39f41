import { malformed, refused, type Refused } from '../refuse.ts'
import type { WechatpayV2Config } from './config.ts'
import type { XmlFields } from './parse-flat-xml.ts'
import { textOf } from './read-text.ts'
import { isSignedBy, signedContent, signTypeOf } from './signature.ts'

/** Where in a value another field could begin, as the signed text escapes nothing. */
const ANOTHER_FIELD = /&[A-Za-z_][A-Za-z0-9_]*=/
/** The only one that is read and may be absent among those that could be taken into `attach`, which they follow. */
const CURRENCY = /&fee_type=/

/**
 * Checks that a message is WeChat Pay's, by one of the merchant's API keys. Nothing in it says when it was sent: retries
 * repeat it for a day.
 * @returns undefined if it is
 */
export function verifySignature(
  fields: XmlFields,
  { apiKeys, signTypes }: Pick<WechatpayV2Config, 'apiKeys' | 'signTypes'>,
  now: Date,
): Refused | undefined {
  if (textOf(fields, 'sign') === undefined)
    return malformed('sign', fields.get('return_code') === 'FAIL' ? 'missing, as return_code is FAIL' : 'missing')
  const signType = signTypeOf(fields)
  if (signType === undefined) return malformed('sign_type')
  if (!signTypes.has(signType)) return malformed('sign_type', `${signType} is not among the merchant's signTypes`)
  const swallowed = swallowsFields(fields)
  if (swallowed !== undefined) return malformed(swallowed, 'reads as another field')

  const valid = apiKeys.filter(({ validToMs }) => validToMs >= now.getTime())
  if (valid.length === 0) return refused({ kind: 'unknown_key', keyId: 'wechatpay-v2' })
  const content = signedContent(fields)
  return valid.some((key) => isSignedBy(fields, content, signType, key))
    ? undefined
    : refused({ kind: 'bad_signature' })
}

/**
 * The field that may hold others. What is signed is `k=v&k=v` without any escape, so that an `attach` of
 * `x&out_trade_no=T9&…&z=` can be cut into fields that were never sent, under the same signature; what WeChat Pay did
 * send then lies in the value of the last of them. In `attach` itself, where shops do write `a=1&b=2`, it is harmless:
 * what is cut out of it follows it in the order of the names.
 */
function swallowsFields(fields: XmlFields): string | undefined {
  for (const [name, value] of fields) if ((name === 'attach' ? CURRENCY : ANOTHER_FIELD).test(value)) return name
  return undefined
}
