import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { dated, type ConfigFiles, type Dated } from '../config-files.ts'
import { webhookSecret } from '../standard-webhooks/keys.ts'

export interface WorkerConfig {
  /** A report is taken if any of them signed it, so that a secret can be changed without a gap. */
  readonly secrets: readonly Dated<KeyObject>[]
}

export function workerConfig(files: ConfigFiles): z.ZodType<WorkerConfig> {
  const secret = files.secret.transform((text, context) => {
    const key = webhookSecret(text)
    if (key !== undefined) return key
    context.addIssue({ code: 'custom', message: 'must hold whsec_ and the base64 of 24 to 64 bytes' })
    return z.NEVER
  })
  return z
    .strictObject({ secretFiles: z.array(dated(secret)).min(1).max(4) })
    .transform(({ secretFiles }) => ({ secrets: secretFiles }))
}
