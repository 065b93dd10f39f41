import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { dated, type ConfigFiles } from '../config-files.ts'
import { certSnOf } from './cert-sn.ts'

export interface AlipayConfig {
  readonly appIds: ReadonlySet<string>
  readonly sellerIds: ReadonlySet<string>
  /** Beside the number, never in its place. Empty: the e-mail in a notice is not looked at. */
  readonly sellerEmails: ReadonlySet<string>
  /** Alipay's public keys. A message that names no certificate does not say which one signed it: each is tried. */
  readonly keys: readonly AlipayKey[]
}

export interface AlipayKey {
  /** The certificate's number, or the place in the merchant's file. */
  readonly id: string
  /** Null: a bare public key. */
  readonly certSn: string | null
  readonly key: KeyObject
  readonly validToMs: number
}

/** Of both kinds together: each is tried with a message that names none, and a forgery must not cost more. */
const KEYS_MAX = 4

/** The section `alipay` of a merchant's file. */
export function alipayConfig(files: ConfigFiles): z.ZodType<AlipayConfig> {
  const id = z.string().regex(/^\d{16}$/, 'must be 16 digits')
  return z
    .strictObject({
      appIds: z.array(id).min(1).max(20),
      sellerIds: z.array(id, NO_SELLER).min(1, NO_SELLER).max(20),
      sellerEmails: z.array(z.string().min(3).max(128)).max(20).default([]),
      publicKeyFiles: z.array(dated(files.publicKey)).max(KEYS_MAX).default([]),
      certificateFiles: z.array(dated(files.certificate)).max(KEYS_MAX).default([]),
      appPublicKeyFile: files.anyPublicKey.optional(),
    })
    .transform(({ publicKeyFiles, certificateFiles, appPublicKeyFile, ...ids }, context) => {
      const problem = (message: string, ...path: (string | number)[]) => {
        context.addIssue({ code: 'custom', message, path })
      }
      const publicKeys = publicKeyFiles.map(({ value, validToMs }, index): AlipayKey => {
        if (appPublicKeyFile?.equals(value)) problem(APPS_OWN, 'publicKeyFiles', index)
        return { id: `publicKeyFiles.${index}`, certSn: null, key: value, validToMs }
      })
      const certificates = certificateFiles.map(({ value, validToMs }, index): AlipayKey => {
        const { publicKey: key, validToDate } = value
        if (appPublicKeyFile?.equals(key)) problem(APPS_OWN, 'certificateFiles', index)
        const certSn = certSnOf(value)
        return { id: certSn, certSn, key, validToMs: Math.min(validToMs, validToDate.getTime()) }
      })
      const keys = [...publicKeys, ...certificates]
      if (keys.length > KEYS_MAX)
        problem(
          `names ${keys.length} keys, and each message is tried with ${KEYS_MAX} at most: remove those that have ended`,
        )
      if (keys.length === 0) problem("must name Alipay's key (not the app's own) in publicKeyFiles or certificateFiles")
      if (new Set(keys.map((key) => key.id)).size < keys.length)
        problem('names the same certificate twice', 'certificateFiles')
      return {
        appIds: new Set(ids.appIds),
        sellerIds: new Set(ids.sellerIds),
        sellerEmails: new Set(ids.sellerEmails),
        keys,
      }
    })
}

/** An e-mail alone proves no seller (check-recipient.ts). */
const NO_SELLER =
  'must name the seller by number (2088…), also beside sellerEmails: the console shows it as 商户PID, notices as seller_id'

/** The commonest mistake with Alipay's keys: no notice would ever verify. */
const APPS_OWN =
  "is the app's own public key (appPublicKeyFile): give Alipay's, which the console shows as 支付宝公钥 once the app's is uploaded"
