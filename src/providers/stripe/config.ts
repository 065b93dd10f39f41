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
  /** What an object must hold to be ours, as one Stripe account may have several shops. */
  readonly recipient: readonly RecipientField[]
  /** Where an object has the order's number; the first of them that is there counts. */
  readonly outTradeNo: readonly Pointer[]
}

/** A place in an object, and the texts in it that name this merchant. */
export interface RecipientField {
  readonly pointer: Pointer
  readonly ours: ReadonlySet<string>
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
    const pointer = placeOf(text)
    if (pointer !== undefined) return pointer
    context.addIssue({ code: 'custom', message: BAD_PLACE })
    return z.NEVER
  })
  const name = z.string().min(1).max(500)
  // A text alone is a list of one, so that what is wrong in it has a message of its own.
  const names = z.preprocess((given) => (typeof given === 'string' ? [given] : given), z.array(name).min(1).max(20))
  const recipient = z.record(z.string(), names).transform((fields, context) =>
    Object.entries(fields).flatMap(([text, texts]): RecipientField[] => {
      const pointer = placeOf(text)
      if (pointer !== undefined) return [{ pointer, ours: new Set(texts) }]
      context.addIssue({ code: 'custom', path: [text], message: BAD_PLACE })
      return []
    }),
  )
  return z
    .strictObject({
      secretFiles: z.array(dated(secret)).min(1).max(4),
      livemode: z.boolean().default(true),
      accounts: z
        .array(z.string().regex(/^acct_[A-Za-z0-9]{1,60}$/, 'must be acct_ and letters or digits'))
        .max(20)
        .default([]),
      recipient: recipient.default([]),
      outTradeNo: z.array(place).min(1).max(8).prefault(['metadata.out_trade_no']),
    })
    .transform(({ secretFiles, accounts, ...section }) => ({
      ...{ secrets: secretFiles, accounts: new Set(accounts) },
      ...section,
    }))
}

const BAD_PLACE = 'must be metadata.<key>, or a JSON Pointer such as /transfer_group'

function placeOf(text: string): Pointer | undefined {
  const key = METADATA.exec(text)?.[1]
  return key === undefined ? parsePointer(text) : { text, tokens: ['metadata', key] }
}

/** The key of a signing secret: its whole text. Unlike Standard Webhooks, what follows `whsec_` is not base64. */
export const stripeSecret = (text: string): KeyObject => createSecretKey(Buffer.from(text))
