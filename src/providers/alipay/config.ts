import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { ConfigFiles } from '../config-files.ts'

export interface AlipayConfig {
  readonly appIds: ReadonlySet<string>
  readonly sellerIds: ReadonlySet<string>
  /** Alipay's public keys, the newest first. A notice does not say which one signed it: each is tried in turn. */
  readonly keys: readonly AlipayKey[]
}

export interface AlipayKey {
  readonly key: KeyObject
  readonly validToMs: number
}

export function alipayConfig(files: ConfigFiles): z.ZodType<AlipayConfig> {
  const id = z.string().regex(/^\d{16}$/, 'must be 16 digits')
  return z
    .strictObject({
      appIds: z.array(id).min(1).max(20),
      sellerIds: z.array(id).min(1).max(20),
      publicKeyFiles: z.array(files.publicKey).max(4).default([]),
      certificateFiles: z.array(files.certificate).max(4).default([]),
    })
    .transform(({ appIds, sellerIds, publicKeyFiles, certificateFiles }, context) => {
      const keys = [
        ...publicKeyFiles.map((key) => ({ key, validToMs: Infinity })),
        ...certificateFiles.map((it) => ({ key: it.publicKey, validToMs: it.validToDate.getTime() })),
      ]
      if (keys.length === 0)
        context.addIssue({
          code: 'custom',
          message: "must name Alipay's key (not the app's own) in publicKeyFiles or certificateFiles",
        })
      return { appIds: new Set(appIds), sellerIds: new Set(sellerIds), keys }
    })
}
