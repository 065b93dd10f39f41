import type { Fact } from '../../orders/model.ts'
import { chinaTimeMs } from '../china-time.ts'
import { detailOf } from '../detail.ts'
import { isOrderNumber, traceable } from '../limits.ts'
import type { Verdict, VerifiedMessage } from '../provider.ts'
import { malformed, refused, verified } from '../refuse.ts'
import { fenOfYuan } from '../yuan.ts'
import { ambiguousField } from './ambiguous-field.ts'
import { foreignField } from './check-recipient.ts'
import type { AlipayConfig } from './config.ts'
import { textReader, type ReadText } from './decode-text.ts'
import type { Form } from './parse-form.ts'
import { closedFact, isTradeNo, paymentFact, refundedSoFar } from './trade-facts.ts'

/**
 * What a verified notice says about the order. Its status alone does not tell: a partial refund comes as
 * `TRADE_SUCCESS` again and a full one as `TRADE_CLOSED`, which is also what an unpaid trade gets.
 * A notice of which a field is not as documented is refused: it comes again for 25 hours, so that a repair is in time.
 * One that could have been cut from another's text is kept without order and fact: it would read the same each time, so
 * that a person must look at it.
 */
export function normalize(form: Form, config: AlipayConfig, now: Date): Verdict {
  const text = textReader(form)
  if (text === undefined) return malformed('charset')
  // A buyer has the signed query that took him back, and may post it: it is no notice, and kept it would be a nuisance.
  if (text('method') !== undefined) return malformed('method', 'is of a return, which proves no payment')
  if (text('notify_type') === undefined) return malformed('notify_type')
  const kind = kindOf(text)
  const foreign = foreignField(text, config, kind !== 'unmapped')
  if (foreign !== undefined) return refused({ kind: 'wrong_recipient', field: foreign })

  const messageId = traceable(text('notify_id'))
  const ambiguous = ambiguousField(form) ?? unclearRefund(text, kind)
  if (ambiguous !== undefined)
    return verified({ outTradeNo: null, messageType: `ambiguous ${ambiguous}`, messageId, facts: [] })
  if (text('trans_currency') === null) return malformed('trans_currency')
  const outTradeNo = text('out_trade_no')
  const message: Omit<VerifiedMessage, 'facts'> = {
    outTradeNo: isOrderNumber(outTradeNo) ? outTradeNo : null,
    messageType: traceable(text('trade_status')) || traceable(text('notify_type')),
    messageId,
  }
  if (kind === 'unmapped') return verified({ ...message, facts: [] })
  if (kind === 'waiting') return verified({ ...message, facts: [], instead: { kind: 'no_effect' } })
  if (message.outTradeNo === null) return malformed('out_trade_no')
  const facts = factsOf(text, kind, now)
  return typeof facts === 'string' ? malformed(facts) : verified({ ...message, facts })
}

type Kind = 'payment' | 'refund' | 'closed' | 'waiting' | 'unmapped'

/**
 * `refund_fee=0.00` and `gmt_close` occur in plain payments too, so that only the time or a sum speaks of a refund; or
 * the close of a trade that was paid: `TRADE_CLOSED` is one that nobody paid in time, or that was refunded in full
 * (AlipayDocs/open-docs, 小程序支付常见问题).
 */
function kindOf(text: ReadText): Kind {
  if (text('notify_type') !== 'trade_status_sync') return 'unmapped'
  // Amounts of a trade in another currency have other decimals; they are kept for a person to look at.
  if ((text('trans_currency') ?? 'CNY') !== 'CNY') return 'unmapped'
  const status = text('trade_status')
  if (status === 'WAIT_BUYER_PAY') return 'waiting'
  const isPaid = status === 'TRADE_SUCCESS' || status === 'TRADE_FINISHED'
  if (!isPaid && status !== 'TRADE_CLOSED') return 'unmapped'
  const refundFee = text('refund_fee')
  const refunds = text('gmt_refund') !== undefined || (refundFee !== undefined && fenOfYuan(refundFee ?? '') !== 0)
  if (refunds || (!isPaid && text('gmt_payment') !== undefined)) return 'refund'
  return isPaid ? 'payment' : 'closed'
}

/**
 * Where Alipay sends no `receipt_amount`, a `refund_fee` could be cut out of the value just before it and leave no trace,
 * but that no `gmt_refund` is with it, which would stand before both.
 */
function unclearRefund(text: ReadText, kind: Kind): string | undefined {
  if (kind !== 'refund' || text('gmt_refund') !== undefined || text('passback_params') === undefined) return undefined
  return (fenOfYuan(text('refund_fee') ?? '') ?? 0) > 0 ? 'passback_params' : undefined
}

/** The facts, the refund before its payment (docs/decisions/003); or the name of the field that is not as documented. */
function factsOf(text: ReadText, kind: 'payment' | 'refund' | 'closed', now: Date): Fact[] | string {
  const tradeNo = text('trade_no')
  if (!isTradeNo(tradeNo)) return 'trade_no'
  const noticedMs = () => chinaTimeMs(text('notify_time')) ?? now.getTime()
  if (kind === 'closed') return [closedFact(tradeNo, chinaTimeMs(text('gmt_close')) ?? noticedMs())]

  const totalFen = fenOfYuan(text('total_amount') ?? '')
  if (totalFen === undefined) return 'total_amount'
  const paidAt = text('gmt_payment')
  const payment = () => paymentFact(tradeNo, totalFen, chinaTimeMs(paidAt) ?? noticedMs())
  if (kind === 'payment') return [payment()]

  const status = text('trade_status')
  const refundFee = text('refund_fee')
  // A trade that is closed after a refund is refunded in full, whether it says how much or not.
  const isAll = refundFee === undefined && status === 'TRADE_CLOSED'
  const refundedFen = isAll ? totalFen : fenOfYuan(refundFee === undefined ? '0' : (refundFee ?? ''))
  const outBizNo = text('out_biz_no')
  const number = outBizNo ? `out_biz_no ${outBizNo}` : undefined
  // The payment is proven all the same. Of the refund a person is told; how much it was, the refund query knows.
  if (refundedFen === 0 && status !== 'TRADE_CLOSED')
    return [{ ...payment(), detail: detailOf(`gmt_refund ${text('gmt_refund') ?? ''} without a refund_fee`, number) }]
  if (refundedFen === undefined || refundedFen === 0) return 'refund_fee'
  const detail = detailOf(number, status ?? undefined)
  const refund = refundedSoFar(tradeNo, refundedFen, chinaTimeMs(text('gmt_refund')) ?? noticedMs(), detail)
  return paidAt === undefined ? [refund] : [refund, payment()]
}
