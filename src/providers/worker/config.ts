import { createSecretKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { ConfigFiles } from '../config-files.ts'

export interface WorkerConfig {
  /** A report is taken if any of them signed it, so that a secret can be changed without a gap. */
  readonly secrets: readonly KeyObject[]
}

/** Standard Webhooks: 24 to 64 random bytes. */
const SECRET_BYTES_MIN = 24
const SECRET_BYTES_MAX = 64

export function workerConfig(files: ConfigFiles): z.ZodType<WorkerConfig> {
  const secret = files.secret.transform((text, context) => {
    const key = workerSecret(text)
    if (key !== undefined) return key
    context.addIssue({ code: 'custom', message: 'must hold whsec_ and the base64 of 24 to 64 bytes' })
    return z.NEVER
  })
  return z
    .strictObject({ secretFiles: z.array(secret).min(1).max(4) })
    .transform(({ secretFiles }) => ({ secrets: secretFiles }))
}

/** The key in a `whsec_…` secret; undefined if it is none. */
export function workerSecret(text: string): KeyObject | undefined {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  const bytes = Buffer.from(base64 ?? '', 'base64')
  return bytes.length >= SECRET_BYTES_MIN && bytes.length <= SECRET_BYTES_MAX ? createSecretKey(bytes) : undefined
}
