import { malformed, refused, type Refused } from '../refuse.ts'
import type { WechatpayV2Config } from './config.ts'
import type { XmlFields } from './parse-flat-xml.ts'
import { textOf } from './read-text.ts'
import { isSignedBy, signedContent, signTypeOf } from './signature.ts'

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

  const valid = apiKeys.filter(({ validToMs }) => validToMs >= now.getTime())
  if (valid.length === 0) return refused({ kind: 'unknown_key', keyId: 'wechatpay-v2' })
  const content = signedContent(fields)
  return valid.some((key) => isSignedBy(fields, content, signType, key))
    ? undefined
    : refused({ kind: 'bad_signature' })
}
