import { createSecretKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { dated, type ConfigFiles, type Dated } from '../config-files.ts'
import { isMerchantsOwn } from './merchants-own.ts'
import type { Recipient } from './recipient.ts'
import { RECIPIENT_FIELDS, recipientOf } from './recipient-section.ts'

/** A key that WeChat Pay signs with; after `validToMs` it verifies nothing any more. */
export interface PlatformKey {
  readonly key: KeyObject
  readonly validToMs: number
}

export interface WechatpayConfig extends Recipient {
  /** The newest first; the older ones for what was encrypted before the change. */
  readonly apiV3Keys: readonly Dated<KeyObject>[]
  /** By `Wechatpay-Serial`: hex serial of a platform certificate, or `PUB_KEY_ID_…`. */
  readonly platformKeys: ReadonlyMap<string, PlatformKey>
}

const API_V3_KEY_BYTES = 32

/** The section `wechatpay` of a merchant's file. */
export function wechatpayConfig(files: ConfigFiles): z.ZodType<WechatpayConfig> {
  const apiV3Key = files.secret
    .refine((text) => Buffer.byteLength(text) === API_V3_KEY_BYTES, 'must hold exactly 32 bytes, the APIv3 key')
    .transform((text) => createSecretKey(Buffer.from(text)))
  return z
    .strictObject({
      ...RECIPIENT_FIELDS,
      apiV3KeyFiles: z.array(dated(apiV3Key)).min(1).max(4),
      platformCertificates: z.array(certificateShape(files)).max(8).default([]),
      publicKeys: z.array(publicKeyShape(files)).max(8).default([]),
    })
    .transform((section, context) => {
      const keys = [...section.platformCertificates, ...section.publicKeys]
      const platformKeys = new Map(keys)
      const issue = (message: string) => context.addIssue({ code: 'custom', message })
      if (keys.length === 0) issue('must name a key in platformCertificates or publicKeys: nothing could be verified')
      if (platformKeys.size < keys.length) issue('names two keys of the same serial: keep one')
      return { ...recipientOf(section, context), apiV3Keys: section.apiV3KeyFiles, platformKeys }
    })
}

/** The serial of a certificate is read from it: written by hand it has been decimal, lower-case or the merchant's own. */
const certificateShape = (files: ConfigFiles) =>
  z
    .strictObject({
      certificateFile: dated(
        files.certificate.refine(
          (certificate) => !isMerchantsOwn(certificate),
          "holds a merchant's own API certificate, which signs requests and verifies nothing: give WeChat Pay's " +
            'platform certificate (GET /v3/certificates), or its public key in publicKeys',
        ),
      ),
    })
    .transform(({ certificateFile: { value, validToMs } }): [string, PlatformKey] => [
      value.serialNumber,
      { key: value.publicKey, validToMs: Math.min(validToMs, value.validToDate.getTime()) },
    ])

const publicKeyShape = (files: ConfigFiles) =>
  z
    .strictObject({
      publicKeyId: z.string().regex(/^PUB_KEY_ID_\d{1,40}$/, 'must be PUB_KEY_ID_ and digits, as the console shows it'),
      publicKeyFile: dated(files.publicKey),
    })
    .transform(({ publicKeyId, publicKeyFile: { value, validToMs } }): [string, PlatformKey] => [
      publicKeyId,
      { key: value, validToMs },
    ])
