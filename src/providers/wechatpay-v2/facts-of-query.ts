import type { Fact } from '../../orders/model.ts'
import { chinaTimeMs } from '../china-time.ts'
import { DETAIL_CHARS_MAX, isCurrency, isIdentity, isMinorAmount } from '../limits.ts'
import { factOf } from './normalize.ts'
import type { XmlFields } from './parse-flat-xml.ts'
import { textOf, wholeNumber } from './read-text.ts'

/** Paid, also where some or all of it has been refunded since. */
const PAID = new Set(['SUCCESS', 'REFUND'])

/**
 * The facts in a verified answer of `orderquery`, or the name of the field that is not as documented. None: not paid (yet).
 * @param now the time of a fact whose own cannot be read
 */
export function factsOfPaymentQuery(fields: XmlFields, now: Date): readonly Fact[] | string {
  const state = textOf(fields, 'trade_state')
  if (state === undefined) return 'trade_state'
  if (!PAID.has(state)) return []
  const fact = factOf(fields, now)
  return typeof fact === 'string' ? fact : [fact]
}

/** What became of a refund. `CHANGE`: the money could not go back the way it came, and waits for a person. */
const REFUND_FACTS: ReadonlyMap<string, 'refund_succeeded' | 'refund_failed'> = new Map([
  ['SUCCESS', 'refund_succeeded'],
  ['REFUNDCLOSE', 'refund_failed'],
  ['CHANGE', 'refund_failed'],
])
/** As many as one payment can have. */
const REFUNDS_MAX = 50

/**
 * The facts in a verified answer of `refundquery`, which numbers its refunds from 0, or the name of the field that is
 * not as documented. One that is still on its way (`PROCESSING`) is no fact yet.
 * @param now the time of a fact whose own cannot be read
 */
export function factsOfRefundQuery(fields: XmlFields, now: Date): readonly Fact[] | string {
  const count = wholeNumber(textOf(fields, 'refund_count'))
  if (count === undefined || count > REFUNDS_MAX) return 'refund_count'
  const paymentRef = `wechatpay:${textOf(fields, 'transaction_id') ?? ''}`
  if (!fields.get('transaction_id') || !isIdentity(paymentRef)) return 'transaction_id'
  const facts: Fact[] = []
  for (let n = 0; n < count; n++) {
    const fact = refundFact(
      (name) => textOf(fields, `${name}_${n}`),
      textOf(fields, 'refund_fee_type'),
      paymentRef,
      now,
    )
    if (typeof fact === 'string') return `${fact}_${n}`
    if (fact !== undefined) facts.push(fact)
  }
  return facts
}

function refundFact(
  text: (name: string) => string | undefined,
  currency = 'CNY',
  paymentRef: string,
  now: Date,
): Fact | string | undefined {
  const status = text('refund_status')
  if (status === undefined) return 'refund_status'
  const eventType = REFUND_FACTS.get(status)
  if (eventType === undefined) return undefined
  const providerRef = `wechatpay:${text('refund_id') ?? ''}`
  if (text('refund_id') === undefined || !isIdentity(providerRef)) return 'refund_id'
  const amountMinor = wholeNumber(text('refund_fee'))
  if (!isMinorAmount(amountMinor) || !isCurrency(currency)) return 'refund_fee'
  const said = `out_refund_no ${text('out_refund_no') ?? ''}`
  return {
    eventType,
    providerRef,
    paymentRef,
    amountMinor,
    currency,
    amountKind: 'individual',
    eventTimeMs: chinaTimeMs(text('refund_success_time')) ?? now.getTime(),
    detail: (eventType === 'refund_failed' ? `${said}; ${status}` : said).slice(0, DETAIL_CHARS_MAX),
  }
}
