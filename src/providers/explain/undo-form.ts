import { withBody, type Restored, type Seen } from './distortion.ts'
import { decoded, encoded, readForm, writeForm, type FormField } from './form-fields.ts'
import { inFields, printableName } from './in-texts.ts'
import { isObject, parsed } from './json-text.ts'
import { repairedSignatures } from './repair-signature.ts'

/** Alipay's, besides which nothing belongs into a notice; new ones may come. */
const KNOWN_FIELDS = [
  ...['notify_time', 'notify_type', 'notify_id', 'app_id', 'auth_app_id', 'charset', 'version', 'sign_type', 'sign'],
  ...['trade_no', 'out_trade_no', 'out_biz_no', 'buyer_id', 'buyer_open_id', 'buyer_logon_id', 'buyer_email'],
  ...['seller_id', 'seller_email', 'trade_status', 'total_amount', 'receipt_amount', 'invoice_amount'],
  ...['buyer_pay_amount', 'point_amount', 'refund_fee', 'send_back_fee', 'subject', 'body', 'gmt_create'],
  ...['gmt_payment', 'gmt_refund', 'gmt_close', 'fund_bill_list', 'voucher_detail_list', 'passback_params'],
  ...['alipay_cert_sn', 'trans_currency', 'settle_currency', 'charge_amount', 'charge_flags', 'method', 'timestamp'],
]
const IS_KNOWN = new Set(KNOWN_FIELDS)
/** `2026-01-02 03:04:05`: its space is one. */
const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$/
/** So many places are tried in every combination. */
const PLACES_MAX = 6

/** The signature's own characters: a space for `+`, and what else happens to base64. */
export function* undoSignChanged(seen: Seen): Generator<Restored> {
  const fields = readForm(seen.request.rawBody)
  const sign = fields.find(({ name }) => name === 'sign')?.value.toString('latin1')
  for (const repaired of sign === undefined ? [] : repairedSignatures(sign))
    yield withBody(seen, writeForm(fields.map((it) => (it.name === 'sign' ? text('sign', repaired) : it))))
}

export const undoPlusToSpace = (seen: Seen) =>
  inFieldsAndSign(seen, (value) => (TIME.test(value) ? [] : swaps(value, ' ', '+')))
export const undoSpaceToPlus = (seen: Seen) =>
  inFieldsAndSign(
    seen,
    (value) => swaps(value, '+', ' '),
    (value) => TIME.test(value.replace('+', ' ')) && !TIME.test(value),
  )
/** A value that was decoded once more than it should be has lost its percent signs. */
export const undoDecodedTwice = (seen: Seen) =>
  inFieldsAndSign(seen, (value) => (TIME.test(value) ? [] : encodings(value)))

export function* undoEncodedTwice(seen: Seen): Generator<Restored> {
  yield* inFieldsAndSign(seen, (value) => [decoded(value), decoded(value.replaceAll('+', '%2B'))])
  yield withBody(seen, decoded(seen.request.rawBody.toString('latin1')), 'as a whole')
}

/** Undecoded text split at `&`: values may hold one, so it is split before the names that Alipay sends. */
export function* undoDecodedBeforeSplit(seen: Seen): Generator<Restored> {
  const body = seen.request.rawBody.toString('latin1')
  const parts = body.split(new RegExp(`&(?=(?:${KNOWN_FIELDS.join('|')})=)`))
  const fields = parts.map((part) => {
    const equals = part.indexOf('=')
    return text(part.slice(0, equals), part.slice(equals + 1))
  })
  if (fields.every(({ name }) => name !== '')) yield withBody(seen, writeForm(fields))
}

/** What stood in the address was taken for a field, as frameworks merge both. */
export function* undoQueryMerged(seen: Seen): Generator<Restored> {
  const fields = readForm(seen.request.rawBody)
  const without = (strange: (name: string) => boolean) => {
    const gone = fields.filter(({ name }) => strange(name)).map(({ name }) => printableName(name))
    return gone.length === 0
      ? []
      : [withBody(seen, writeForm(fields.filter(({ name }) => !strange(name))), gone.slice(0, 5).join(', '))]
  }
  const queried = new Set(readForm(Buffer.from(seen.query, 'latin1')).map(({ name }) => name))
  yield* without((name) => queried.has(name))
  yield* without((name) => !IS_KNOWN.has(name))
  for (const { name: one } of fields) if (one !== 'sign') yield* without((name) => name === one)
  // And the same field twice.
  const firsts = fields.filter(({ name }, at) => fields.findIndex((other) => other.name === name) === at)
  if (firsts.length < fields.length) yield withBody(seen, writeForm(firsts), 'a field that comes twice')
}

/** A layer in front read the form and passed JSON on. */
export function* undoJsonForForm(seen: Seen): Generator<Restored> {
  const value = parsed(seen.request.rawBody.toString())
  if (!isObject(value)) return
  const fields = Object.entries(value).map(([name, item]) =>
    text(name, Buffer.from(typeof item === 'string' ? item : JSON.stringify(item)).toString('latin1')),
  )
  yield withBody(seen, writeForm(fields))
}

/** The sign suffers in the same way, but there the characters are known. */
function* inFieldsAndSign(
  seen: Seen,
  back: (value: string) => Iterable<string>,
  isCertain?: (value: string) => boolean,
): Generator<Restored> {
  yield* inFields(seen, back, isCertain)
  for (const { request } of undoSignChanged(seen)) yield* inFields({ ...seen, request }, back, isCertain)
}

/** Encoders differ in a space, a plus, some signs, and the case of their digits. */
function encodings(value: string): string[] {
  const form = encoded(value)
  const uri = form.replaceAll('+', '%20').replace(/%(?:21|7E|27|28|29)/g, decoded)
  const upper = [form, form.replaceAll('+', '%20'), uri, uri.replaceAll('%2B', '+')]
  return [...upper, ...upper.map(lowerCase)]
}

/** Every choice of the places where `now` stands; all of them first. */
function swaps(value: string, now: string, before: string): string[] {
  const places = value.split('').flatMap((char, at) => (char === now ? [at] : []))
  if (places.length === 0) return []
  const all = value.replaceAll(now, before)
  if (places.length > PLACES_MAX) return [all]
  const found = [all]
  for (let choice = 1; choice < 2 ** places.length - 1; choice++) {
    const chars = value.split('')
    for (const [bit, at] of places.entries()) if ((choice >> bit) % 2 === 1) chars[at] = before
    found.push(chars.join(''))
  }
  return found
}

const text = (name: string, value: string): FormField => ({ name, value: Buffer.from(value, 'latin1') })
const lowerCase = (value: string) => value.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())
