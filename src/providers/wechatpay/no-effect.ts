/** Kinds that are known to change no order, whomever they name: their receivers are often not the sellers. */
const EVENT_TYPES: ReadonlySet<string> = new Set([
  // Money between the parties of a payment, after it.
  ...['PROFITSHARING.SUCCESS', 'PROFITSHARING.RETURN'],
  // Money that the merchant sends.
  ...['MCHTRANSFER.BATCH.FINISHED', 'MCHTRANSFER.BATCH.CLOSED', 'MCHTRANSFER.BILL.FINISHED'],
  // WeChat Pay advanced the money of an order that is paid already, and has it back.
  'TRANSACTION.PAY_BACK',
  // A deduction (parking, insurance) that did not work: it is tried again, or a payment comes under TRANSACTION.SUCCESS.
  'TRANSACTION.FAIL',
  // Others' payments, told to the mall for its points.
  ...['MALL_TRANSACTION.SUCCESS', 'MALL_REFUND.SUCCESS'],
  ...['COUPON.SEND', 'COUPON.USE'],
])

/**
 * Whether a notification is understood and changes nothing. A profit-sharing movement comes under the event type of a
 * payment, too.
 * @see https://pay.weixin.qq.com/docs/merchant/apis/profit-sharing/notice-division.html
 */
export const hasNoEffect = (eventType: string, originalType: string): boolean =>
  EVENT_TYPES.has(eventType) || (eventType === 'TRANSACTION.SUCCESS' && originalType === 'profitsharing')
