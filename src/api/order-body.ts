import { z } from 'zod'
import { AMOUNT_MINOR_MAX, ORDER_FIELD_BYTES_MAX } from '../orders/limits.ts'
import type { OrderBody } from '../orders/order-body.ts'
import type { Refusal } from './refusal.ts'
import type { RawText } from './strict-json.ts'

export const PAYLOAD_BYTES_MAX = 8_192
export const ORDERS_PER_REQUEST_MAX = 500

const bytes = (text: string) => Buffer.byteLength(text, 'utf8')
/** What Postgres and Avro can both keep: no NUL, no half of a surrogate pair. */
/** What Postgres takes as text. */
export const storable = (text: string) => text.isWellFormed() && !text.includes('\u0000')
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))

/** The set covers what the providers take (WeChat Pay: letters, digits, `_-|*@`) and everything is one byte long. */
export const outTradeNo = z
  .string()
  .regex(
    new RegExp(String.raw`^[\x21-\x7e]{1,${ORDER_FIELD_BYTES_MAX}}$`),
    `must be 1 to ${ORDER_FIELD_BYTES_MAX} printable ASCII characters without spaces`,
  )
  .refine((text) => text !== '.' && text !== '..', 'must not be "." or "..": neither fits into an address')
export const merchant = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be 1 to 64 of a-z, 0-9, _ and -, as in the address of its callbacks')

const isRaw = (value: unknown): value is RawText =>
  typeof value === 'object' && value !== null && 'raw' in value && typeof value.raw === 'string'
const payload = z
  .union(
    [z.string(), z.custom<RawText>(isRaw).meta({ type: ['object', 'array'] })],
    'must be a string, an object or an array',
  )
  .transform((value) => (typeof value === 'string' ? value : value.raw))
  .refine(storable, 'must be well-formed text without NUL')
  .refine((text) => bytes(text) <= PAYLOAD_BYTES_MAX, `must be at most ${PAYLOAD_BYTES_MAX} bytes as UTF-8`)

const Body = z
  .strictObject({
    merchant,
    out_trade_no: outTradeNo,
    amount_minor: z
      .int('must be an integer in minor units (19.99 CNY is 1999)')
      .min(1, 'must be at least 1')
      .max(AMOUNT_MINOR_MAX, `must be at most ${AMOUNT_MINOR_MAX}`),
    currency: z
      .string()
      .refine((code) => CURRENCIES.has(code), 'must be an ISO 4217 code in upper case (yuan is CNY, not RMB)')
      .meta({ pattern: '^[A-Z]{3}$' }),
    expires_at: z.iso
      .datetime({ offset: true, error: 'must be a time like 2026-11-11T12:30:00+08:00, with its offset or Z' })
      .transform((text) => new Date(text))
      // 9999 is where four digits end; earlier than 2000 is a time in seconds taken for milliseconds.
      .refine(
        (time) => time.getUTCFullYear() >= 2000 && time.getUTCFullYear() <= 9998,
        'must lie between 2000 and 9998',
      ),
    group: z
      .string()
      .min(1, 'must not be empty: leave it out')
      .refine(
        (text) => storable(text) && bytes(text) <= 256,
        'must be well-formed text of at most 256 bytes without NUL',
      )
      .nullish(),
    payload: payload.nullish(),
  })
  .meta({ id: 'NewOrder' })
/** What create takes. A list is not parsed as a whole: each of its orders has a result of its own. */
export const NEW_ORDERS = z.union([Body, z.strictObject({ orders: z.array(Body).min(1).max(ORDERS_PER_REQUEST_MAX) })])

export type ParsedOrder =
  { readonly kind: 'order'; readonly order: OrderBody } | { readonly kind: 'refused'; readonly refusal: Refusal }

/** @param value of the strict JSON reader, `payload` opaque. The refusal names the first field at fault. */
export function parseOrder(value: unknown): ParsedOrder {
  const parsed = Body.safeParse(value)
  if (!parsed.success) return { kind: 'refused', refusal: fieldRefusal(parsed.error, value) }
  const body = parsed.data
  return {
    kind: 'order',
    order: {
      merchant: body.merchant,
      outTradeNo: body.out_trade_no,
      amountMinor: body.amount_minor,
      currency: body.currency,
      expiresAtMs: body.expires_at.getTime(),
      groupKey: body.group ?? null,
      payload: body.payload ?? null,
    },
  }
}

/** Names the first field at fault, in the caller's own words. */
export function fieldRefusal(error: z.ZodError, value: unknown): Refusal {
  const issue = error.issues[0]
  if (issue === undefined) throw new Error('a ZodError without an issue')
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const field = [...issue.path, ...unknown].join('.').slice(0, 100)
  if (field === '') return { kind: 'malformed_body', detail: 'An object is expected.', remedy: 'See docs/api.md.' }
  if (unknown.length > 0)
    return { kind: 'invalid_field', field, detail: `${field} is no field of this body.`, remedy: 'Leave it out.' }
  const detail =
    valueAt(value, issue.path) === undefined
      ? 'is missing'
      : issue.message.replace(/^Invalid input: expected (\w+), received \w+$/, 'must be a $1')
  return { kind: 'invalid_field', field, detail: `${field} ${detail}.` }
}

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (parent, key) =>
      typeof parent === 'object' && parent !== null ? (parent as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  )
