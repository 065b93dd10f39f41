import { z } from 'zod'
import { dated, type ConfigFiles } from '../config-files.ts'
import { API_KEY_BYTES, apiKey, type ApiKey } from './api-key.ts'
import type { Recipient } from '../wechatpay/recipient.ts'
import { RECIPIENT_FIELDS, recipientOf } from '../wechatpay/recipient-section.ts'
import { SIGN_TYPES, type SignType } from './signature.ts'

export interface WechatpayV2Config extends Recipient {
  /** The newest first. A message does not say which one signed it: each is tried in turn. */
  readonly apiKeys: readonly ApiKey[]
  /** The algorithm is ours to say: whoever could choose would choose the weakest. */
  readonly signTypes: ReadonlySet<SignType>
}

/** The section `wechatpay-v2` of a merchant's file. */
export function wechatpayV2Config(files: ConfigFiles): z.ZodType<WechatpayV2Config> {
  const key = dated(
    files.secret.refine(
      (text) => Buffer.byteLength(text) === API_KEY_BYTES,
      `must hold exactly ${API_KEY_BYTES} bytes, the API key of v2`,
    ),
  ).transform(({ value, validToMs }) => apiKey(value, validToMs))
  return z
    .strictObject({
      ...RECIPIENT_FIELDS,
      apiKeyFiles: z.array(key).min(1).max(4),
      signTypes: z.array(z.enum(SIGN_TYPES)).min(1).max(SIGN_TYPES.length).default(['HMAC-SHA256']),
    })
    .transform((section, context) => ({
      ...recipientOf(section, context),
      apiKeys: section.apiKeyFiles,
      signTypes: new Set(section.signTypes),
    }))
}
