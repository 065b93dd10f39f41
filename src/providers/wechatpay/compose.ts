import { beijing, type Envelope } from './sign.ts'

/** To whom WeChat Pay writes, in its own words. */
export interface Party {
  /** The merchant's number; in partner mode that of the sub-merchant. */
  readonly mchid: string
  /** The app in which was paid; in partner mode the sub-merchant's, which may be none. */
  readonly appid?: string
  readonly partner?: { readonly spMchid: string; readonly spAppid: string }
}

/** A payment as WeChat Pay knows it. */
export interface PaidOrder {
  readonly outTradeNo: string
  readonly transactionId: string
  readonly totalFen: number
  /** After coupons. */
  readonly payerFen?: number
  readonly paidAt: Date
}

/** One of a payment's refunds. */
export interface RefundOrder {
  readonly outTradeNo: string
  readonly transactionId: string
  readonly outRefundNo: string
  readonly refundId: string
  readonly totalFen: number
  readonly refundFen: number
  readonly status: 'SUCCESS' | 'ABNORMAL' | 'CLOSED' | 'PROCESSING'
  readonly at: Date
}

/** `TRANSACTION.SUCCESS` of one order. */
export const composePayment = (id: string, party: Party, order: PaidOrder): Envelope => ({
  id,
  eventType: 'TRANSACTION.SUCCESS',
  originalType: 'transaction',
  resource: paymentResource(party, order),
})

/** What a payment's notice carries, and what the order query answers. */
export const paymentResource = (party: Party, order: PaidOrder) => ({
  ...recipientFields(party),
  out_trade_no: order.outTradeNo,
  transaction_id: order.transactionId,
  trade_type: 'JSAPI',
  trade_state: 'SUCCESS',
  trade_state_desc: '支付成功',
  bank_type: 'OTHERS',
  attach: '',
  success_time: beijing(order.paidAt),
  payer: party.partner === undefined ? { openid: OPENID } : { sp_openid: OPENID, sub_openid: '' },
  amount: {
    total: order.totalFen,
    payer_total: order.payerFen ?? order.totalFen,
    currency: 'CNY',
    payer_currency: 'CNY',
  },
})

/** `TRANSACTION.SUCCESS` of several orders that were paid at once, each to its own party. */
export const composeCombined = (
  id: string,
  combineOutTradeNo: string,
  orders: readonly (readonly [Party, PaidOrder])[],
): Envelope => ({
  id,
  eventType: 'TRANSACTION.SUCCESS',
  originalType: 'transaction',
  resource: combinedResource(combineOutTradeNo, orders),
})

/** What a combined payment's notice carries, and what its query answers. The first order's party combines. */
export function combinedResource(combineOutTradeNo: string, orders: readonly (readonly [Party, PaidOrder])[]) {
  const [first] = orders[0] ?? []
  return {
    combine_appid: first?.partner?.spAppid ?? first?.appid,
    combine_mchid: first?.partner?.spMchid ?? first?.mchid,
    combine_out_trade_no: combineOutTradeNo,
    sub_orders: orders.map(([party, order]) => ({
      mchid: party.partner?.spMchid ?? party.mchid,
      ...(party.partner === undefined ? {} : { sub_mchid: party.mchid, sub_appid: party.appid }),
      trade_type: 'JSAPI',
      trade_state: 'SUCCESS',
      bank_type: 'OTHERS',
      attach: '',
      amount: {
        total_amount: order.totalFen,
        currency: 'CNY',
        payer_amount: order.payerFen ?? order.totalFen,
        payer_currency: 'CNY',
      },
      success_time: beijing(order.paidAt),
      transaction_id: order.transactionId,
      out_trade_no: order.outTradeNo,
    })),
    combine_payer_info: { openid: OPENID },
  }
}

/** `REFUND.SUCCESS`, `REFUND.ABNORMAL` or `REFUND.CLOSED`, as the refund's status is. */
export const composeRefund = (id: string, party: Party, refund: RefundOrder): Envelope => ({
  id,
  eventType: `REFUND.${refund.status}`,
  originalType: 'refund',
  summary: '退款通知',
  resource: {
    ...mchidFields(party),
    ...refundFields(refund),
    // The query calls it `status`: wechatpay-java#213.
    refund_status: refund.status,
    amount: refundAmount(refund),
  },
})

/** What the refund query answers; it names no merchant. */
export const refundAnswer = (refund: RefundOrder) => ({
  ...refundFields(refund),
  channel: 'ORIGINAL',
  create_time: beijing(refund.at),
  status: refund.status,
  funds_account: 'AVAILABLE',
  amount: { ...refundAmount(refund), settlement_refund: refund.refundFen, discount_refund: 0, currency: 'CNY' },
})

/** What the order query answers for an order without a payment. */
export const unpaidAnswer = (
  party: Party,
  order: { readonly outTradeNo: string; readonly totalFen: number },
  state: 'NOTPAY' | 'CLOSED',
) => ({
  ...recipientFields(party),
  out_trade_no: order.outTradeNo,
  trade_state: state,
  trade_state_desc: state === 'CLOSED' ? '订单已关闭' : '订单未支付',
  attach: '',
  amount: { total: order.totalFen, currency: 'CNY' },
})

/** A profit-sharing movement: it comes under the event type of a payment, and is none. */
export const composeProfitSharing = (
  id: string,
  party: Party,
  sharing: {
    readonly transactionId: string
    readonly orderId: string
    readonly outOrderNo: string
    readonly amountFen: number
    readonly at: Date
  },
): Envelope => ({
  id,
  eventType: 'TRANSACTION.SUCCESS',
  originalType: 'profitsharing',
  summary: '分账',
  resource: {
    ...mchidFields(party),
    transaction_id: sharing.transactionId,
    order_id: sharing.orderId,
    out_order_no: sharing.outOrderNo,
    receiver: { type: 'MERCHANT_ID', account: party.mchid, amount: sharing.amountFen, description: '交易分账' },
    success_time: beijing(sharing.at),
  },
})

const OPENID = 'o-synthetic-payer'

const mchidFields = ({ mchid, partner }: Party) =>
  partner === undefined ? { mchid } : { sp_mchid: partner.spMchid, sub_mchid: mchid }

const recipientFields = (party: Party) => ({
  ...mchidFields(party),
  ...(party.partner === undefined
    ? { appid: party.appid }
    : { sp_appid: party.partner.spAppid, sub_appid: party.appid }),
})

const refundFields = (refund: RefundOrder) => ({
  transaction_id: refund.transactionId,
  out_trade_no: refund.outTradeNo,
  refund_id: refund.refundId,
  out_refund_no: refund.outRefundNo,
  ...(refund.status === 'SUCCESS' ? { success_time: beijing(refund.at) } : {}),
  user_received_account: '支付用户零钱',
})

const refundAmount = ({ totalFen, refundFen }: RefundOrder) => ({
  total: totalFen,
  refund: refundFen,
  payer_total: totalFen,
  payer_refund: refundFen,
})
