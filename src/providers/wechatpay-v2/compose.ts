import { randomBytes } from 'node:crypto'
import type { PaidOrder, Party, RefundOrder } from '../wechatpay/compose.ts'
import { compactTime, spacedTime, type NoticeFields } from './sign.ts'

const SUCCESS = { return_code: 'SUCCESS', result_code: 'SUCCESS' }
const OPENID = 'o-synthetic-payer'

/** What a payment's notification carries, to be signed. */
export const paymentFields = (party: Party, order: PaidOrder): NoticeFields => ({
  ...recipientFields(party),
  ...SUCCESS,
  ...paidFields(order),
})

/** What `/pay/orderquery` answers for a paid order, to be signed; `REFUND` once any of it was given back. */
export const orderAnswer = (party: Party, order: PaidOrder, state: 'SUCCESS' | 'REFUND' = 'SUCCESS'): NoticeFields => ({
  ...recipientFields(party),
  ...SUCCESS,
  return_msg: 'OK',
  ...paidFields(order),
  trade_state: state,
  trade_state_desc: state === 'SUCCESS' ? '支付成功' : '订单发生过退款',
})

/** The same for an order without a payment. */
export const unpaidAnswer = (party: Party, outTradeNo: string, state: 'NOTPAY' | 'CLOSED'): NoticeFields => ({
  ...recipientFields(party),
  ...SUCCESS,
  return_msg: 'OK',
  out_trade_no: outTradeNo,
  trade_state: state,
  trade_state_desc: state === 'CLOSED' ? '订单已关闭' : '订单未支付',
})

/** The same for an order or a refund that WeChat Pay does not know. */
export const unknownAnswer = (party: Party, code: 'ORDERNOTEXIST' | 'REFUNDNOTEXIST'): NoticeFields => ({
  ...recipientFields(party),
  return_code: 'SUCCESS',
  return_msg: 'OK',
  result_code: 'FAIL',
  err_code: code,
  err_code_des: code === 'ORDERNOTEXIST' ? '此交易订单号不存在' : '退款订单查询失败',
})

/** A refund's notification: what is around its `req_info`, and what is in it. */
export const refundNotice = (party: Party, refund: RefundOrder): { envelope: NoticeFields; refund: NoticeFields } => ({
  envelope: { return_code: 'SUCCESS', ...recipientFields(party) },
  refund: {
    out_refund_no: refund.outRefundNo,
    out_trade_no: refund.outTradeNo,
    refund_account: 'REFUND_SOURCE_RECHARGE_FUNDS',
    refund_fee: String(refund.refundFen),
    refund_id: refund.refundId,
    refund_recv_accout: '支付用户零钱',
    refund_request_source: 'API',
    refund_status: STATUSES[refund.status],
    settlement_refund_fee: String(refund.refundFen),
    settlement_total_fee: String(refund.totalFen),
    success_time: refund.status === 'SUCCESS' ? spacedTime(refund.at) : '',
    total_fee: String(refund.totalFen),
    transaction_id: refund.transactionId,
  },
})

/** What `/pay/refundquery` answers, to be signed: the refunds of one payment, numbered. */
export const refundAnswer = (party: Party, refunds: readonly RefundOrder[]): NoticeFields => ({
  ...recipientFields(party),
  ...SUCCESS,
  return_msg: 'OK',
  out_trade_no: refunds[0]?.outTradeNo ?? '',
  transaction_id: refunds[0]?.transactionId ?? '',
  total_fee: String(refunds[0]?.totalFen ?? 0),
  fee_type: 'CNY',
  refund_count: String(refunds.length),
  ...Object.fromEntries(refunds.flatMap((refund, n) => Object.entries(numbered(refund, n)))),
})

/** What v2 calls a refund's states. */
const STATUSES = { SUCCESS: 'SUCCESS', ABNORMAL: 'CHANGE', CLOSED: 'REFUNDCLOSE', PROCESSING: 'PROCESSING' } as const

const numbered = (refund: RefundOrder, n: number): NoticeFields => ({
  [`out_refund_no_${n}`]: refund.outRefundNo,
  [`refund_id_${n}`]: refund.refundId,
  [`refund_fee_${n}`]: String(refund.refundFen),
  [`refund_channel_${n}`]: 'ORIGINAL',
  [`refund_status_${n}`]: STATUSES[refund.status],
  [`refund_success_time_${n}`]: refund.status === 'SUCCESS' ? spacedTime(refund.at) : '',
})

const paidFields = (order: PaidOrder): NoticeFields => ({
  openid: OPENID,
  is_subscribe: 'N',
  trade_type: 'JSAPI',
  bank_type: 'OTHERS',
  total_fee: String(order.totalFen),
  fee_type: 'CNY',
  cash_fee: String(order.payerFen ?? order.totalFen),
  transaction_id: order.transactionId,
  out_trade_no: order.outTradeNo,
  attach: '',
  time_end: compactTime(order.paidAt),
})

function recipientFields({ mchid, appid, partner }: Party): NoticeFields {
  const nonce = { nonce_str: randomBytes(16).toString('hex') }
  if (partner === undefined) return { appid: appid ?? '', mch_id: mchid, ...nonce }
  return { appid: partner.spAppid, mch_id: partner.spMchid, sub_mch_id: mchid, sub_appid: appid ?? '', ...nonce }
}
