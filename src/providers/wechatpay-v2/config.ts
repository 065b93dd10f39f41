import { z } from 'zod'
import { dated, type ConfigFiles } from '../config-files.ts'
import { API_KEY_BYTES, apiKey, type ApiKey } from './api-key.ts'
import type { Recipient } from '../wechatpay/recipient.ts'
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
  const mchid = z.string().regex(/^\d{8,10}$/, 'must be the merchant number, 8 to 10 digits')
  const appid = z.string().regex(/^wx[0-9a-z]{16}$/, 'must be wx and 16 letters or digits')
  return z
    .strictObject({
      mchid,
      appids: z.array(appid).min(1).max(20),
      subMchids: z.array(mchid).max(200).default([]),
      subAppids: z.array(appid).max(200).default([]),
      apiKeyFiles: z.array(key).min(1).max(4),
      signTypes: z.array(z.enum(SIGN_TYPES)).min(1).max(SIGN_TYPES.length).default(['HMAC-SHA256']),
    })
    .transform((section, context) => {
      if (section.subAppids.length > 0 && section.subMchids.length === 0)
        context.addIssue({
          code: 'custom',
          message: 'names subAppids, which are those of subMchids, but no subMchids',
        })
      return {
        mchid: section.mchid,
        appids: new Set(section.appids),
        subMchids: new Set(section.subMchids),
        subAppids: new Set(section.subAppids),
        apiKeys: section.apiKeyFiles,
        signTypes: new Set(section.signTypes),
      }
    })
}
