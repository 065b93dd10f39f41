import { yuanOfFen } from '../yuan.ts'
import { alipayTime, alipayTimeMs, type NoticeFields } from './sign.ts'

/** A trade as Alipay knows it; for whoever plays Alipay. Amounts are fen. */
export interface NotifiedTrade {
  readonly appId: string
  readonly sellerId: string
  readonly tradeNo: string
  readonly outTradeNo: string
  readonly totalFen: number
  readonly subject: string
  readonly createdAt: Date
  /** Null: nobody has paid. */
  readonly paidAt: Date | null
  /** `utf-8` unless the order asked for another one. */
  readonly charset?: 'utf-8' | 'gbk' | 'gb2312' | 'gb18030'
  /** Of Alipay's certificate that signs, where the notice is to name it. */
  readonly certSn?: string
}

export interface NoticeEvent {
  readonly notifyId: string
  readonly at: Date
  readonly status: 'WAIT_BUYER_PAY' | 'TRADE_SUCCESS' | 'TRADE_FINISHED' | 'TRADE_CLOSED'
  /** All refunds up to now; `outBizNo` and `at` are the last one's. */
  readonly refunded?: { readonly fen: number; readonly outBizNo: string; readonly at: Date }
}

/**
 * The fields of a notice about a trade: payment (`TRADE_SUCCESS`, `TRADE_FINISHED`), partial refund (the same, with
 * `refunded`), full refund (`TRADE_CLOSED` with it), close of an unpaid trade (`TRADE_CLOSED`), `WAIT_BUYER_PAY`.
 */
export function tradeNotice(trade: NotifiedTrade, { notifyId, at, status, refunded }: NoticeEvent): NoticeFields {
  const yuan = yuanOfFen(trade.totalFen)
  const isPlainPayment = trade.paidAt !== null && refunded === undefined
  return {
    notify_time: alipayTime(at),
    notify_type: 'trade_status_sync',
    notify_id: notifyId,
    charset: trade.charset ?? 'utf-8',
    version: '1.0',
    sign_type: 'RSA2',
    ...(trade.certSn === undefined ? {} : { alipay_cert_sn: trade.certSn }),
    app_id: trade.appId,
    auth_app_id: trade.appId,
    seller_id: trade.sellerId,
    buyer_id: '2088000000000099',
    trade_no: trade.tradeNo,
    out_trade_no: trade.outTradeNo,
    trade_status: status,
    total_amount: yuan,
    subject: trade.subject,
    gmt_create: alipayTime(trade.createdAt),
    ...(trade.paidAt === null ? {} : { gmt_payment: alipayTime(trade.paidAt) }),
    ...(isPlainPayment
      ? {
          receipt_amount: yuan,
          buyer_pay_amount: yuan,
          invoice_amount: yuan,
          fund_bill_list: `[{"amount":"${yuan}","fundChannel":"ALIPAYACCOUNT"}]`,
        }
      : {}),
    ...(refunded === undefined
      ? {}
      : {
          refund_fee: yuanOfFen(refunded.fen),
          gmt_refund: alipayTimeMs(refunded.at),
          out_biz_no: refunded.outBizNo,
        }),
    ...(status === 'TRADE_CLOSED' ? { gmt_close: alipayTime(at) } : {}),
  }
}

/** The whole of the notice that is documented for `alipay.trade.close`: it names neither order nor status. */
export const bareCloseNotice = (notifyId: string, at: Date): NoticeFields => ({
  notify_time: alipayTime(at),
  notify_type: 'trade_status_sync',
  notify_id: notifyId,
  sign_type: 'RSA2',
})

/** What the buyer's browser brings back to the return address: no status, and so no proof of a payment. */
export const returnFields = (trade: NotifiedTrade, at: Date): NoticeFields => ({
  charset: trade.charset ?? 'utf-8',
  out_trade_no: trade.outTradeNo,
  method: 'alipay.trade.page.pay.return',
  total_amount: yuanOfFen(trade.totalFen),
  trade_no: trade.tradeNo,
  auth_app_id: trade.appId,
  version: '1.0',
  app_id: trade.appId,
  sign_type: 'RSA2',
  seller_id: trade.sellerId,
  timestamp: alipayTime(at),
})
