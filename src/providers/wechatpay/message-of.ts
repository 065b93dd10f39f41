import { isOrderNumber, traceable } from '../limits.ts'
import type { VerifiedMessage } from '../provider.ts'
import type { Notification } from './open-resource.ts'

/** A notification's message, but for what it states. */
export function messageOf({ id, eventType, resource }: Notification): Omit<VerifiedMessage, 'facts'> {
  const { out_trade_no: outTradeNo } = resource
  return {
    outTradeNo: isOrderNumber(outTradeNo) ? outTradeNo : null,
    messageType: traceable(eventType),
    messageId: traceable(id),
  }
}
