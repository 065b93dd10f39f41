import { createSecretKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { dated, type ConfigFiles, type Dated } from '../config-files.ts'
import { parsePointer, type Pointer } from '../json-pointer.ts'

export interface StripeConfig {
  /** Signing secrets of the endpoint. An event is taken if any of them signed it. */
  readonly secrets: readonly Dated<KeyObject>[]
  /** An endpoint for connected accounts gets their test events too, under the same secret. */
  readonly livemode: boolean
  /** Connected accounts whose events are ours; none: only events of the account itself, which name none. */
  readonly accounts: ReadonlySet<string>
  /** Where an object has the order's number; the first of them that is there counts. */
  readonly outTradeNo: readonly Pointer[]
}

const SECRET = /^whsec_[\x21-\x7e]{10,250}$/
const METADATA = /^metadata\.([^[\]]{1,40})$/

export function stripeConfig(files: ConfigFiles): z.ZodType<StripeConfig> {
  const secret = files.secret
    .refine(
      (text) => SECRET.test(text),
      "must hold the endpoint's signing secret, whsec_ and what follows, and no API key",
    )
    .transform(stripeSecret)
  const place = z.string().transform((text, context) => {
    const key = METADATA.exec(text)?.[1]
    const pointer = key === undefined ? parsePointer(text) : { text, tokens: ['metadata', key] }
    if (pointer !== undefined) return pointer
    context.addIssue({ code: 'custom', message: 'must be metadata.<key>, or a JSON Pointer such as /transfer_group' })
    return z.NEVER
  })
  return z
    .strictObject({
      secretFiles: z.array(dated(secret)).min(1).max(4),
      livemode: z.boolean().default(true),
      accounts: z
        .array(z.string().regex(/^acct_[A-Za-z0-9]{1,60}$/, 'must be acct_ and letters or digits'))
        .max(20)
        .default([]),
      outTradeNo: z.array(place).min(1).max(8).prefault(['metadata.out_trade_no']),
    })
    .transform(({ secretFiles, accounts, ...section }) => ({
      ...{ secrets: secretFiles, accounts: new Set(accounts) },
      ...section,
    }))
}

/** The key of a signing secret: its whole text. Unlike Standard Webhooks, what follows `whsec_` is not base64. */
export const stripeSecret = (text: string): KeyObject => createSecretKey(Buffer.from(text))
