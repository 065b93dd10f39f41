import { z } from 'zod'
import type { Recipient } from './recipient.ts'

const mchid = z.string().regex(/^\d{8,10}$/, 'must be the merchant number, 8 to 10 digits')
const appid = z.string().regex(/^wx[0-9a-z]{16}$/, 'must be wx and 16 letters or digits')

/** The fields of a section of v3 or v2 that say whose messages it takes. */
export const RECIPIENT_FIELDS = {
  mchid,
  appids: z.array(appid).min(1).max(20),
  subMchids: z.array(mchid).max(200).default([]),
  subAppids: z.array(appid).max(200).default([]),
}

type RecipientSection = z.output<z.ZodObject<typeof RECIPIENT_FIELDS>>

/** What those fields mean; reports what cannot be meant. */
export function recipientOf(section: RecipientSection, context: z.RefinementCtx): Recipient {
  if (section.subAppids.length > 0 && section.subMchids.length === 0)
    context.addIssue({ code: 'custom', message: 'names subAppids, which are those of subMchids, but no subMchids' })
  return {
    mchid: section.mchid,
    appids: new Set(section.appids),
    subMchids: new Set(section.subMchids),
    subAppids: new Set(section.subAppids),
  }
}
