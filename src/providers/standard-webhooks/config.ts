import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { dated, type ConfigFiles, type Dated } from '../config-files.ts'
import { RESERVED_PREFIXES } from '../reserved-prefixes.ts'
import { webhookPublicKey, webhookSecret } from './keys.ts'
import type { Mapping } from './mapping.ts'
import { parseMapping } from './parse-mapping.ts'

export interface StandardWebhooksConfig {
  /** Secrets and ed25519 public keys. A message is taken if any of them signed it. */
  readonly keys: readonly Dated<KeyObject>[]
  readonly mapping: Mapping
  /** Of every reference, so that two senders' numbers never meet. */
  readonly prefix: string
}

export function standardWebhooksConfig(files: ConfigFiles): z.ZodType<StandardWebhooksConfig> {
  const key = files.secret.transform((text, context) => {
    const parsed = webhookSecret(text) ?? webhookPublicKey(text)
    if (parsed !== undefined) return parsed
    const message = text.startsWith('whsk_')
      ? 'holds a private key: give the public one only, whpk_'
      : 'must hold whsec_ and the base64 of 24 to 64 bytes, or whpk_ and that of 32'
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
  const mapping = files.text.transform((text, context) => {
    const parsed = parseMapping(text)
    if (parsed.kind === 'mapping') return parsed.mapping
    for (const { path, message } of parsed.problems) context.addIssue({ code: 'custom', path: [...path], message })
    return z.NEVER
  })
  return z
    .strictObject({
      keyFiles: z.array(dated(key)).min(1).max(4),
      mappingFile: z
        .string()
        .refine(
          (name) => !/^[^/]*\.json$/.test(name),
          'would be read as a merchant: put it into a folder (mappings/….json) or give it another ending',
        )
        .transform((name): unknown => name)
        .pipe(mapping),
      prefix: z
        .string()
        .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -')
        .refine(
          (name) => !RESERVED_PREFIXES.has(name),
          'is what references of another provider begin with: take another',
        )
        .default('standard-webhooks'),
    })
    .transform(({ keyFiles, mappingFile, prefix }) => ({ keys: keyFiles, mapping: mappingFile, prefix }))
}
