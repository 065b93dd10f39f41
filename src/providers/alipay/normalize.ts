import { chinaTimeMs } from '../china-time.ts'
import { isIdentity, isOrderNumber, traceable } from '../limits.ts'
import type { Verdict, VerifiedMessage } from '../provider.ts'
import { malformed, refused, verified } from '../refuse.ts'
import { fenOfYuan } from './amount.ts'
import type { AlipayConfig } from './config.ts'
import { textReader, type ReadText } from './decode-text.ts'
import type { Form } from './parse-form.ts'

/**
 * What a verified notice says about the order. Its status alone does not tell a payment: a partial refund comes as
 * `TRADE_SUCCESS` again and a full one as `TRADE_CLOSED`, which is also what an unpaid trade gets. A refund or close,
 * `WAIT_BUYER_PAY` and notices of other types are kept without a fact.
 * A payment of which a field is not as documented is refused: it comes again for 25 hours, so that a repair is in time.
 */
export function normalize(form: Form, config: AlipayConfig, now: Date): Verdict {
  const text = textReader(form)
  if (text === undefined) return malformed('charset')
  const isPayment = isTradePayment(text)
  for (const [field, ours] of [
    ['app_id', config.appIds],
    ['seller_id', config.sellerIds],
  ] as const) {
    const named = text(field)
    if (named === undefined ? isPayment : named === null || !ours.has(named))
      return refused({ kind: 'wrong_recipient', field })
  }
  const outTradeNo = text('out_trade_no')
  const message: Omit<VerifiedMessage, 'facts'> = {
    outTradeNo: isOrderNumber(outTradeNo) ? outTradeNo : null,
    messageType: traceable(text('trade_status')) || traceable(text('notify_type')),
    messageId: traceable(text('notify_id')),
  }
  if (!isPayment) return verified({ ...message, facts: [] })
  if (message.outTradeNo === null) return malformed('out_trade_no')
  const tradeNo = text('trade_no')
  const providerRef = `alipay:${tradeNo ?? ''}`
  if (!isIdentity(tradeNo) || !isIdentity(providerRef)) return malformed('trade_no')
  const amountMinor = fenOfYuan(text('total_amount') ?? '')
  if (amountMinor === undefined) return malformed('total_amount')
  const eventTimeMs = chinaTimeMs(text('gmt_payment')) ?? chinaTimeMs(text('notify_time')) ?? now.getTime()
  return verified({
    ...message,
    facts: [
      {
        eventType: 'payment_succeeded',
        providerRef,
        paymentRef: null,
        amountMinor,
        currency: 'CNY',
        amountKind: 'none',
        eventTimeMs,
        detail: null,
      },
    ],
  })
}

/** Paid, and nothing in the notice speaks of a refund. `refund_fee=0.00` and `gmt_close` occur in plain payments. */
function isTradePayment(text: ReadText): boolean {
  const status = text('trade_status')
  const refundFee = text('refund_fee')
  return (
    text('notify_type') === 'trade_status_sync' &&
    (status === 'TRADE_SUCCESS' || status === 'TRADE_FINISHED') &&
    text('gmt_refund') === undefined &&
    (refundFee === undefined || fenOfYuan(refundFee ?? '') === 0) &&
    // Amounts of a trade in another currency have other decimals; they are kept for a person to look at.
    (text('trans_currency') ?? 'CNY') === 'CNY'
  )
}
