import { createSecretKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { ConfigFiles } from '../config-files.ts'

/** A key that WeChat Pay signs with; after `validToMs` it verifies nothing any more. */
export interface PlatformKey {
  readonly key: KeyObject
  readonly validToMs: number
}

export interface WechatpayConfig {
  readonly mchid: string
  /** A merchant number serves several apps: official account, mini program, app. */
  readonly appids: ReadonlySet<string>
  /** The newest first; the older ones for what was encrypted before the change. */
  readonly apiV3Keys: readonly KeyObject[]
  /** By `Wechatpay-Serial`: hex serial of a platform certificate, or `PUB_KEY_ID_…`. */
  readonly platformKeys: ReadonlyMap<string, PlatformKey>
}

const API_V3_KEY_BYTES = 32

export function wechatpayConfig(files: ConfigFiles): z.ZodType<WechatpayConfig> {
  const apiV3Key = files.secret
    .refine((text) => Buffer.byteLength(text) === API_V3_KEY_BYTES, 'must hold exactly 32 bytes, the APIv3 key')
    .transform((text) => createSecretKey(Buffer.from(text)))
  // The serial of a certificate is read from it: written by hand it has been decimal, lower-case or the merchant's own.
  const certificate = z
    .strictObject({ certificateFile: files.certificate })
    .transform(({ certificateFile }): [string, PlatformKey] => [
      certificateFile.serialNumber,
      { key: certificateFile.publicKey, validToMs: certificateFile.validToDate.getTime() },
    ])
  const publicKey = z
    .strictObject({
      publicKeyId: z.string().regex(/^PUB_KEY_ID_\d{1,40}$/, 'must be PUB_KEY_ID_ and digits, as the console shows it'),
      publicKeyFile: files.publicKey,
    })
    .transform(({ publicKeyId, publicKeyFile }): [string, PlatformKey] => [
      publicKeyId,
      { key: publicKeyFile, validToMs: Infinity },
    ])
  return z
    .strictObject({
      mchid: z.string().regex(/^\d{8,10}$/, 'must be the merchant number, 8 to 10 digits'),
      appids: z
        .array(z.string().regex(/^wx[0-9a-z]{16}$/, 'must be wx and 16 letters or digits'))
        .min(1)
        .max(20),
      apiV3KeyFiles: z.array(apiV3Key).min(1).max(4),
      platformCertificates: z.array(certificate).max(8).default([]),
      publicKeys: z.array(publicKey).max(8).default([]),
    })
    .transform((section, context) => {
      const keys = [...section.platformCertificates, ...section.publicKeys]
      const platformKeys = new Map(keys)
      const issue = (message: string) => context.addIssue({ code: 'custom', message })
      if (keys.length === 0) issue('must name a key in platformCertificates or publicKeys: nothing could be verified')
      if (platformKeys.size < keys.length) issue('names two keys of the same serial: keep one')
      return {
        mchid: section.mchid,
        appids: new Set(section.appids),
        apiV3Keys: section.apiV3KeyFiles,
        platformKeys,
      }
    })
}
