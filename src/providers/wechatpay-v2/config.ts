import { z } from 'zod'
import { dated, type ConfigFiles } from '../config-files.ts'
import { API_KEY_BYTES, apiKey, type ApiKey } from './api-key.ts'
import { SIGN_TYPES, type SignType } from './signature.ts'

export interface WechatpayV2Config {
  readonly mchid: string
  /** A merchant number serves several apps: official account, mini program, app. */
  readonly appids: ReadonlySet<string>
  /** Of a partner: the merchants whose orders these are. Empty: `mchid` is the merchant itself. */
  readonly subMchids: ReadonlySet<string>
  /** The newest first. A message does not say which one signed it: each is tried in turn. */
  readonly apiKeys: readonly ApiKey[]
  /** The algorithm is ours to say: whoever could choose would choose the weakest. */
  readonly signTypes: ReadonlySet<SignType>
}

export function wechatpayV2Config(files: ConfigFiles): z.ZodType<WechatpayV2Config> {
  const key = dated(
    files.secret.refine(
      (text) => Buffer.byteLength(text) === API_KEY_BYTES,
      `must hold exactly ${API_KEY_BYTES} bytes, the API key of v2`,
    ),
  ).transform(({ value, validToMs }) => apiKey(value, validToMs))
  const mchid = z.string().regex(/^\d{8,10}$/, 'must be the merchant number, 8 to 10 digits')
  return z
    .strictObject({
      mchid,
      appids: z
        .array(z.string().regex(/^wx[0-9a-z]{16}$/, 'must be wx and 16 letters or digits'))
        .min(1)
        .max(20),
      subMchids: z.array(mchid).max(200).default([]),
      apiKeyFiles: z.array(key).min(1).max(4),
      signTypes: z.array(z.enum(SIGN_TYPES)).min(1).max(SIGN_TYPES.length).default(['HMAC-SHA256']),
    })
    .transform(({ mchid: own, appids, subMchids, apiKeyFiles, signTypes }) => ({
      mchid: own,
      appids: new Set(appids),
      subMchids: new Set(subMchids),
      apiKeys: apiKeyFiles,
      signTypes: new Set(signTypes),
    }))
}
