import type { Fact } from '../../orders/model.ts'
import { isOrderNumber } from '../limits.ts'
import { closedFact } from '../wechatpay/closed-fact.ts'
import type { Recipient } from '../wechatpay/recipient.ts'
import { refundFact, type Refund } from '../wechatpay/refund-fact.ts'
import { CLOSED, OPEN, PAID } from '../wechatpay/trade-states.ts'
import { factOf } from './normalize.ts'
import type { XmlFields } from './parse-flat-xml.ts'
import { textOf, wholeNumber } from './read-text.ts'
import { strangerField } from './recipient.ts'

/**
 * The facts in a verified answer of `/pay/orderquery`, or the name of the field that is not as documented or names
 * somebody else. None: not paid (yet), or no such order.
 * @param now when it was asked: the time of a fact whose own the answer does not say
 */
export function factsOfPaymentQuery(fields: XmlFields, to: Recipient, now: Date): readonly Fact[] | string {
  const refusal = refusalOf(fields, 'ORDERNOTEXIST')
  if (refusal !== undefined) return refusal
  const stranger = strangerField(fields, to, 'app')
  if (stranger !== undefined) return stranger
  const [state = '', outTradeNo] = [textOf(fields, 'trade_state'), textOf(fields, 'out_trade_no')]
  if (!isOrderNumber(outTradeNo)) return 'out_trade_no'
  if (OPEN.has(state)) return []
  if (state === CLOSED) return [closedFact(outTradeNo, now.getTime())]
  if (!PAID.has(state)) return 'trade_state'
  const fact = factOf(fields, now)
  return typeof fact === 'string' ? fact : [fact]
}

/** v2's words for a refund's final states, in v3's. */
const STATUSES: ReadonlyMap<string, Refund['status']> = new Map([
  ['SUCCESS', 'SUCCESS'],
  ['CHANGE', 'ABNORMAL'],
  ['REFUNDCLOSE', 'CLOSED'],
])
/** As many as one payment can have. */
const REFUNDS_MAX = 50

/**
 * The facts in a verified answer of `/pay/refundquery`, which numbers its refunds from 0, or the name of the field that
 * is not as documented or names somebody else. A refund that is on its way is none yet.
 * @param now when it was asked: the time of a fact whose own the answer does not say
 */
export function factsOfRefundQuery(fields: XmlFields, to: Recipient, now: Date): readonly Fact[] | string {
  const refusal = refusalOf(fields, 'REFUNDNOTEXIST')
  if (refusal !== undefined) return refusal
  const stranger = strangerField(fields, to, 'app')
  if (stranger !== undefined) return stranger
  const count = wholeNumber(textOf(fields, 'refund_count'))
  if (count === undefined || count > REFUNDS_MAX) return 'refund_count'
  const facts: Fact[] = []
  for (let n = 0; n < count; n++) {
    const status = textOf(fields, `refund_status_${n}`)
    if (status === 'PROCESSING') continue
    const known = STATUSES.get(status ?? '')
    if (known === undefined) return `refund_status_${n}`
    const fact = refundFact(
      {
        refundId: textOf(fields, `refund_id_${n}`),
        transactionId: textOf(fields, 'transaction_id'),
        outRefundNo: textOf(fields, `out_refund_no_${n}`),
        status: known,
        refundFen: wholeNumber(textOf(fields, `refund_fee_${n}`)),
        currency: textOf(fields, 'fee_type'),
        successTime: textOf(fields, `refund_success_time_${n}`),
      },
      now.getTime(),
    )
    if (typeof fact === 'string') return NAMES.get(fact) ?? `${fact === 'refund_id' ? fact : 'refund_fee'}_${n}`
    facts.push(fact)
  }
  return facts
}

/** v3's names of fields of the whole answer, in v2's. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['transaction_id', 'transaction_id'],
  ['amount.currency', 'fee_type'],
])

/** What an answer that tells nothing comes to: no facts if there is no such thing, else the code that says so. */
function refusalOf(fields: XmlFields, notFound: string): readonly Fact[] | string | undefined {
  if (fields.get('return_code') !== 'SUCCESS') return 'return_code'
  if (fields.get('result_code') === 'SUCCESS') return undefined
  return fields.get('err_code') === notFound ? [] : 'result_code'
}
