import { apiKey } from '../../src/providers/wechatpay-v2/api-key.ts'
import type { WechatpayV2Config } from '../../src/providers/wechatpay-v2/config.ts'
import { createWechatpayV2 } from '../../src/providers/wechatpay-v2/create.ts'
import {
  flatXml,
  sealRefund,
  signFields,
  signPayment,
  type NoticeFields,
} from '../../src/providers/wechatpay-v2/sign.ts'
import { parseFlatXml } from '../../src/providers/wechatpay-v2/parse-flat-xml.ts'
import type { SignType } from '../../src/providers/wechatpay-v2/signature.ts'
import type { CallbackRequest } from '../../src/providers/provider.ts'

/** A merchant of WeChat Pay v2 and what WeChat Pay sends it, for the tests of this provider. */
export const NOW = new Date('2024-05-20T05:29:36Z')
export const MCHID = '1900000001'
export const APPID = 'wx0000000000000001'
export const KEY = apiKey('0123456789abcdef0123456789ABCDEF')
export const OTHER_KEY = apiKey('ffffffffffffffffffffffffffffffff')
export const config: WechatpayV2Config = {
  mchid: MCHID,
  appids: new Set([APPID, 'wx0000000000000002']),
  subMchids: new Set(),
  subAppids: new Set(),
  apiKeys: [KEY],
  signTypes: new Set(['HMAC-SHA256']),
}
export const bound = (change: Partial<WechatpayV2Config> = {}) => createWechatpayV2({ ...config, ...change })
export const provider = bound()
export const bothTypes = bound({ signTypes: new Set(['HMAC-SHA256', 'MD5']) })

/** As the documentation's sample has them, under synthetic names. */
export const payment = {
  appid: APPID,
  attach: '{"out_trade_no":"T9"}',
  bank_type: 'CMC',
  cash_fee: '123000',
  device_info: '',
  fee_type: 'CNY',
  is_subscribe: 'Y',
  mch_id: MCHID,
  nonce_str: '5d2b6c2a8db53831f7eda20af46e531c',
  openid: 'o-synthetic',
  out_trade_no: 'T1-2024_05|*',
  result_code: 'SUCCESS',
  return_code: 'SUCCESS',
  time_end: '20240520132935',
  total_fee: '123456',
  coupon_fee: '456',
  coupon_count: '1',
  coupon_type_0: 'CASH',
  coupon_id_0: '10000',
  coupon_fee_0: '456',
  trade_type: 'JSAPI',
  transaction_id: '4200002024052012345678901',
}
export const refund = {
  out_refund_no: 'R-2',
  out_trade_no: 'T1-2024_05|*',
  refund_account: 'REFUND_SOURCE_RECHARGE_FUNDS',
  refund_fee: '100',
  refund_id: '50000408942018111907145868882',
  refund_recv_accout: '支付用户零钱',
  refund_request_source: 'API',
  refund_status: 'SUCCESS',
  settlement_refund_fee: '100',
  settlement_total_fee: '123456',
  success_time: '2024-05-20 13:29:35',
  total_fee: '123456',
  transaction_id: payment.transaction_id,
}
export const refundEnvelope = { return_code: 'SUCCESS', appid: APPID, mch_id: MCHID, nonce_str: 'n-of-a-refund' }

export const request = (rawBody: Buffer | string): CallbackRequest => ({
  headers: { 'content-type': 'text/xml' },
  repeatedHeaders: [],
  rawBody: Buffer.from(rawBody),
})
export const notice = (fields: NoticeFields = payment, key = KEY, signType: SignType = 'HMAC-SHA256') =>
  request(signPayment(fields, key, signType).rawBody)
export const refundNotice = (
  fields: NoticeFields | string | Buffer = refund,
  envelope: NoticeFields = refundEnvelope,
  key = KEY,
) => request(sealRefund(envelope, fields, key).rawBody)
export const without = (fields: NoticeFields, ...names: string[]) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

/** Signs whatever fields are in a document, of any shape; what is none goes out as it is. */
export function signedBytes(rawBody: Buffer, signType: SignType = 'HMAC-SHA256'): CallbackRequest {
  const fields = parseFlatXml(rawBody, 'xml')
  if (typeof fields === 'string') return request(rawBody)
  const { sign = '' } = signFields(Object.fromEntries(fields), KEY, signType)
  return request(rawBody.toString().replace(/<\/xml>\s*$/, `<sign>${sign}</sign></xml>`))
}

/** The facts of `payment`, as v3 and the query tell them too. */
export const paid = {
  eventType: 'payment_succeeded' as const,
  providerRef: 'wechatpay:4200002024052012345678901',
  paymentRef: null,
  amountMinor: 123456,
  currency: 'CNY',
  amountKind: 'none' as const,
  eventTimeMs: Date.parse('2024-05-20T05:29:35Z'),
  detail: null,
}
export const message = {
  outTradeNo: payment.out_trade_no,
  messageType: 'payment SUCCESS',
  messageId: payment.nonce_str,
  facts: [paid],
}
export const hint = {
  outTradeNo: refund.out_trade_no,
  messageType: 'refund SUCCESS',
  messageId: refund.refund_id,
  facts: [],
  instead: { kind: 'hint' as const, ref: 'refund:R-2' },
}

/** A contract that was signed: a message about no payment, and of no app. */
export const contract = {
  mch_id: MCHID,
  return_code: 'SUCCESS',
  result_code: 'SUCCESS',
  contract_code: 'C1',
  contract_id: 'Wx15463511252015071056489715',
  plan_id: '123',
  change_type: 'ADD',
  openid: 'o-synthetic',
}
export const failed = {
  ...payment,
  result_code: 'FAIL',
  err_code: 'ORDERCLOSED',
  err_code_des: '订单已关闭',
}

/** The documents of one notice of each kind that is signed. */
export const documents: readonly NoticeFields[] = [
  payment,
  { ...payment, out_trade_no: 'T2', transaction_id: '42000002', total_fee: '7', sign_type: 'HMAC-SHA256' },
  without({ ...payment, out_trade_no: 'T3', transaction_id: '42000003', total_fee: '1', fee_type: '' }, 'attach'),
  failed,
  contract,
]
export const xmlOf = (fields: NoticeFields) => Buffer.from(flatXml('xml', fields))
