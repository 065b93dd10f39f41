import { isOrderNumber, traceable } from '../limits.ts'
import type { ReturnVerdict } from '../provider.ts'
import { malformed, refused } from '../refuse.ts'
import { ambiguousField } from './ambiguous-field.ts'
import { foreignField } from './check-recipient.ts'
import type { AlipayConfig } from './config.ts'
import { textReader } from './decode-text.ts'
import type { Form } from './parse-form.ts'

/**
 * What a verified return query says: the buyer was sent back, for this order and amount. It has no status, and whoever
 * saw it once can open it again.
 */
export function readReturn(form: Form, config: AlipayConfig): ReturnVerdict {
  const ambiguous = ambiguousField(form)
  if (ambiguous !== undefined) return malformed(ambiguous, 'holds what reads as another field')
  const text = textReader(form)
  if (text === undefined) return malformed('charset')
  // A notice is signed by the same key, and says more than may be shown.
  if (text('method') === undefined) return malformed('method')
  if (text('notify_type') !== undefined) return malformed('notify_type', 'is of a notice')
  const foreign = foreignField(text, config, true)
  if (foreign !== undefined) return refused({ kind: 'wrong_recipient', field: foreign })
  const outTradeNo = text('out_trade_no')
  if (!isOrderNumber(outTradeNo)) return malformed('out_trade_no')
  const says = { outTradeNo, tradeNo: traceable(text('trade_no')), totalAmount: traceable(text('total_amount')) }
  return { kind: 'verified', says }
}
