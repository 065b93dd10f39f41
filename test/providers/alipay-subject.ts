import { createPublicKey, createSign } from 'node:crypto'
import type { AlipayKey } from '../../src/providers/alipay/config.ts'
import { createAlipay } from '../../src/providers/alipay/create.ts'
import { parseForm } from '../../src/providers/alipay/parse-form.ts'
import { encodeForm, signNotice, type NoticeFields } from '../../src/providers/alipay/sign.ts'
import { signedContent, signedNames } from '../../src/providers/alipay/signed-content.ts'
import type { CallbackRequest, VerifiedMessage } from '../../src/providers/provider.ts'
import { platform, platformPrivateKey } from './vectors.ts'

export const NOW = new Date('2024-05-20T05:29:36Z')
export const APP_ID = '2021000000000001'
export const SELLER_ID = '2088000000000001'
export const TRADE_NO = '2024052022001468450512505578'
export const TRADE = `alipay:${TRADE_NO}`

export const alipayKey: AlipayKey = {
  id: 'publicKeyFiles.0',
  certSn: null,
  key: createPublicKey(platform.wechatPayPublicKeyPem),
  validToMs: Infinity,
}
export const bound = (appId: string, keys: readonly AlipayKey[] = [alipayKey], sellerEmails: readonly string[] = []) =>
  createAlipay({
    appIds: new Set([appId]),
    sellerIds: new Set([SELLER_ID]),
    sellerEmails: new Set(sellerEmails),
    keys,
  })
export const provider = bound(APP_ID)

/** A payment, with every field that is awkward. */
export const payment = {
  gmt_create: '2024-05-20 13:29:22',
  charset: 'utf-8',
  subject: '会员+ 5% off & more=less',
  buyer_id: '2088000000000002',
  invoice_amount: '88.00',
  notify_id: '2024052000222132936068450559358070',
  fund_bill_list: '[{"amount":"88.00","fundChannel":"ALIPAYACCOUNT"}]',
  passback_params: '%7B%22id%22%3A1%7D',
  notify_type: 'trade_status_sync',
  trade_status: 'TRADE_SUCCESS',
  receipt_amount: '88.00',
  buyer_pay_amount: '80.00',
  app_id: APP_ID,
  sign_type: 'RSA2',
  seller_id: SELLER_ID,
  gmt_payment: '2024-05-20 13:29:35',
  notify_time: '2024-05-20 13:29:36',
  version: '1.0',
  out_trade_no: 'T1_2024',
  total_amount: '88.00',
  trade_no: TRADE_NO,
  // Alipay's own sample of a plain payment carries these.
  refund_fee: '0.00',
  gmt_close: '2024-05-20 13:29:35',
}
/** Its first refund, as such a notice really looks: `gmt_refund` has milliseconds, and `notify_time` has not. */
export const partialRefund = {
  ...payment,
  notify_id: '2024052100222132936068450559358071',
  refund_fee: '10.00',
  gmt_refund: '2024-05-21 10:00:00.320',
  notify_time: '2024-05-21 10:00:00',
  out_biz_no: 'R-1',
}
export const fullRefund = {
  ...partialRefund,
  notify_id: '2024052200222132936068450559358072',
  trade_status: 'TRADE_CLOSED',
  refund_fee: '88.00',
  gmt_refund: '2024-05-22 10:00:00.999',
  out_biz_no: 'R-2',
}
export const without = (fields: NoticeFields, ...names: string[]): NoticeFields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
export const unpaidClose = {
  ...without(payment, 'gmt_payment', 'refund_fee'),
  trade_status: 'TRADE_CLOSED',
  gmt_close: '2024-05-20 14:00:00',
}
export const waiting = { ...without(payment, 'gmt_payment', 'gmt_close'), trade_status: 'WAIT_BUYER_PAY' }

export const paymentFact = {
  eventType: 'payment_succeeded' as const,
  providerRef: TRADE,
  paymentRef: null,
  amountMinor: 8800,
  currency: 'CNY',
  amountKind: 'none' as const,
  eventTimeMs: Date.parse('2024-05-20T05:29:35Z'),
  detail: null,
}
export const message: VerifiedMessage = {
  outTradeNo: 'T1_2024',
  messageType: 'TRADE_SUCCESS',
  messageId: payment.notify_id,
  facts: [paymentFact],
}

export const request = (rawBody: Buffer | string): CallbackRequest => ({
  headers: {},
  repeatedHeaders: [],
  rawBody: Buffer.from(rawBody),
})
export const notice = (fields: NoticeFields = payment, key = platformPrivateKey): CallbackRequest => ({
  ...signNotice(fields, key),
  repeatedHeaders: [],
})
export const verdictOf = (fields: NoticeFields) => provider.verify(notice(fields), NOW)
/** The facts of a verified notice; its verdict if it was refused. */
export function factsOf(fields: NoticeFields) {
  const verdict = verdictOf(fields)
  return verdict.kind === 'verified' ? verdict.messages[0].facts : verdict
}
export const refused = (kind: string, field?: string) => ({
  kind: 'refused',
  rejection: field === undefined ? { kind } : { kind, field },
})

/** Signs whatever pairs are in a form, in a body of any shape. */
export function signedBytes(rawBody: Buffer): CallbackRequest {
  const form = parseForm(rawBody)
  const content = form === undefined ? rawBody : signedContent(form, signedNames(form))
  const sign = createSign('RSA-SHA256').update(content).sign(platformPrivateKey, 'base64')
  return rawBody.length === 0
    ? request('')
    : request(Buffer.concat([rawBody, Buffer.from(`&sign_type=RSA2&${encodeForm({ sign })}`)]))
}
/** The pairs of the payment without a signature. */
export const unsigned = encodeForm(without(payment, 'sign_type'))
/** The signature of the plain payment. */
export const signOf = (fields: NoticeFields) => /&sign=[^&]*/.exec(notice(fields).rawBody.toString())?.[0] ?? ''
