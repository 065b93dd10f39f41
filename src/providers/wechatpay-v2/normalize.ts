import type { Fact } from '../../orders/model.ts'
import { isOrderNumber, traceable } from '../limits.ts'
import type { Verdict, VerifiedMessage } from '../provider.ts'
import { malformed, refused, verified } from '../refuse.ts'
import { paymentFact } from '../wechatpay/payment-fact.ts'
import { ambiguousField } from './ambiguous-field.ts'
import type { WechatpayV2Config } from './config.ts'
import type { XmlFields } from './parse-flat-xml.ts'
import { textOf, wholeNumber } from './read-text.ts'
import { strangerField } from './recipient.ts'

const OF_A_PAYMENT = ['out_trade_no', 'transaction_id', 'total_fee']

/**
 * What a well signed message says about the order. A payment that came to nothing changes nothing: the buyer may try
 * again, and an order is closed by its own time. Contracts and other messages about no payment are kept without a fact;
 * so is, without an order too, what could have been cut from another message's text: a person must look at it.
 * A payment of which a field is not as documented is refused: it comes again for a day, so that a repair is in time.
 * The answer of a query is signed alike, and may tell of a payment that was revoked (`trade_state`, which no notice
 * has): posted as a notice it must not read as a payment.
 */
export function normalize(fields: XmlFields, config: WechatpayV2Config, now: Date): Verdict {
  const isAboutPayment = OF_A_PAYMENT.some((name) => textOf(fields, name) !== undefined)
  const stranger = strangerField(fields, config, isAboutPayment ? 'app' : 'merchant')
  if (stranger !== undefined) return refused({ kind: 'wrong_recipient', field: stranger })
  const messageId = traceable(textOf(fields, 'nonce_str'))
  const ambiguous = ambiguousField(fields)
  if (ambiguous !== undefined)
    return verified({ outTradeNo: null, messageType: `ambiguous ${ambiguous}`, messageId, facts: [] })
  if ((textOf(fields, 'trade_state') ?? 'SUCCESS') !== 'SUCCESS')
    return malformed('trade_state', "is of a query's answer, which proves no payment")
  const outTradeNo = textOf(fields, 'out_trade_no')
  const result = resultOf(fields)
  const message: Omit<VerifiedMessage, 'facts'> = {
    outTradeNo: isOrderNumber(outTradeNo) ? outTradeNo : null,
    messageType: isAboutPayment ? `payment ${result ?? ''}`.trim() : 'other',
    messageId,
  }
  if (!isAboutPayment) return verified({ ...message, facts: [] })
  if (result === undefined) return malformed('result_code')
  if (result === 'FAIL') return verified({ ...message, facts: [], instead: { kind: 'no_effect' } })
  if (message.outTradeNo === null) return malformed('out_trade_no')
  const fact = factOf(fields, now)
  return typeof fact === 'string' ? malformed(fact) : verified({ ...message, facts: [fact] })
}

/**
 * The fact that a notification and a query's answer about one payment have in common, or the name of the field that is
 * not as documented. The same transaction is the same fact, whether v2 or v3 tells it.
 */
export function factOf(fields: XmlFields, now: Date): Fact | string {
  const fact = paymentFact(
    {
      transactionId: textOf(fields, 'transaction_id'),
      totalFen: wholeNumber(textOf(fields, 'total_fee')),
      currency: textOf(fields, 'fee_type'),
      successTime: textOf(fields, 'time_end'),
    },
    now.getTime(),
  )
  if (fact === 'amount') return 'total_fee'
  return fact === 'amount.currency' ? 'fee_type' : fact
}

/** `return_code` speaks of the message, `result_code` of the payment; both must say it. */
function resultOf(fields: XmlFields): 'SUCCESS' | 'FAIL' | undefined {
  const codes = [fields.get('return_code'), fields.get('result_code')]
  if (codes.every((code) => code === 'SUCCESS')) return 'SUCCESS'
  return codes.every((code) => code === 'SUCCESS' || code === 'FAIL') ? 'FAIL' : undefined
}
