import { verify } from 'node:crypto'
import { combinedResource, paymentResource, refundAnswer, unpaidAnswer } from '../providers/wechatpay/compose.ts'
import { requestMessage, SCHEME } from '../providers/wechatpay/authorize.ts'
import { signProbe, signRequest } from '../providers/wechatpay/sign.ts'
import { BILL_FILE, billFile, TRADE_BILL, tradeBill } from './bill-wechatpay.ts'
import { signingAt } from './key-ring.ts'
import type { SenderKeys } from './keys.ts'
import type { Answered, AnswerQuery, Asked } from './query-server.ts'
import { combineOutTradeNo, partyOf, refundOrder } from './sign-wechatpay.ts'
import type { KnownTransaction, Truth } from './truth.ts'

const PAYMENT = /^\/v3\/pay\/(?:partner\/)?transactions\/(id|out-trade-no)\/([^/]+)$/
const COMBINED = /^\/v3\/combine-transactions\/out-trade-no\/([^/]+)$/
const REFUND = /^\/v3\/refund\/domestic\/refunds\/([^/]+)$/
const PROVIDER = 'wechatpay'

/** WeChat Pay v3: the order and refund queries, signed like its callbacks. */
export const answerWechatpay: AnswerQuery = (asked, all, truth) => {
  const keys = callerOf(asked, all)
  // Nobody's question: as in production, nothing signs this.
  if (keys === undefined) return json(401, { code: 'SIGN_ERROR', message: '签名错误' })
  if (asked.fault === 'rate_limited')
    return signed(429, { code: 'FREQUENCY_LIMITED', message: '频率超限' }, keys, asked)
  if (asked.fault === 'system_error') return signed(500, { code: 'SYSTEM_ERROR', message: '系统错误' }, keys, asked)
  const { pathname } = asked.url
  if (pathname === BILL_FILE) return file(billFile(asked, keys, truth))
  const found =
    asked.method !== 'GET' || asked.fault === 'not_found'
      ? undefined
      : pathname === TRADE_BILL
        ? tradeBill(asked, keys, truth)
        : (payment(pathname, keys, truth) ?? combined(pathname, keys, truth) ?? refund(pathname, keys, truth))
  if (found !== undefined) return signed(200, found, keys, asked)
  if (pathname === TRADE_BILL)
    return signed(400, { code: 'NO_STATEMENT_EXIST', message: '账单文件不存在' }, keys, asked)
  const code = REFUND.test(pathname) ? 'RESOURCE_NOT_EXISTS' : 'ORDER_NOT_EXIST'
  return signed(404, { code, message: '订单不存在' }, keys, asked)
}

const file = (body: Buffer | undefined): Answered =>
  body === undefined ? { status: 404, headers: {}, body: '' } : { status: 200, headers: {}, body }

const CLOCKS_APART_MS = 300_000

/**
 * Who asks says so in `Authorization`, signed by its API certificate over what it asks, within five minutes; a partner,
 * whom of its merchants it asks for, in the address.
 */
function callerOf(asked: Asked, all: readonly SenderKeys[]): SenderKeys | undefined {
  const [scheme = '', list = ''] = (asked.headers['authorization'] ?? '').split(/ (.*)/s)
  const { mchid: caller, ...said } = Object.fromEntries(
    [...list.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  ) as Readonly<Record<string, string | undefined>>
  const subMchid = asked.url.searchParams.get('sub_mchid')
  const keys = all.find(({ wechatpay: { mchid, partner } }) =>
    partner === null ? mchid === caller : partner.spMchid === caller && (subMchid ?? mchid) === mchid,
  )
  const { timestamp = '', nonce_str: nonce = '', signature = '', serial_no: serial } = said
  const { method, target, rawBody } = asked
  const isNow = Math.abs(Number(timestamp) * 1_000 - asked.at.getTime()) <= CLOCKS_APART_MS
  const certificate = keys?.wechatpay.apiCertificate
  if (scheme !== SCHEME || !isNow || nonce === '' || certificate === undefined || certificate.serial !== serial)
    return undefined
  const message = requestMessage({ method, path: target, body: rawBody.toString() }, timestamp, nonce)
  const isSigned = verify('RSA-SHA256', Buffer.from(message), certificate.publicKey, Buffer.from(signature, 'base64'))
  return isSigned ? keys : undefined
}

function payment(path: string, keys: SenderKeys, truth: Truth): object | undefined {
  const [, by, encoded = ''] = PAYMENT.exec(path) ?? []
  if (by === undefined) return undefined
  const wanted = decodeURIComponent(encoded)
  const found = truth.find(PROVIDER, keys.merchant, (one) =>
    by === 'id' ? one.transactionId === wanted : one.outTradeNo === wanted,
  )
  if (found === undefined) {
    const unpaid = truth.findUnpaid(PROVIDER, keys.merchant, ({ outTradeNo }) => outTradeNo === wanted)
    return unpaid && unpaidAnswer(partyOf(keys), { outTradeNo: wanted, totalFen: unpaid.amountMinor }, 'NOTPAY')
  }
  const resource = paymentResource(partyOf(keys), paidOrder(found, truth))
  // After any refund, in part too.
  return found.refunds.length === 0 ? resource : { ...resource, trade_state: 'REFUND', trade_state_desc: '转入退款' }
}

function combined(path: string, keys: SenderKeys, truth: Truth): object | undefined {
  const wanted = COMBINED.exec(path)?.[1]
  const found = truth.find(PROVIDER, keys.merchant, (one) => one.others.length > 0 && combineOutTradeNo(one) === wanted)
  if (found === undefined) return undefined
  const orders = [found, ...found.others.map((other) => ({ ...found, ...other }))]
  const party = partyOf(keys)
  return combinedResource(
    combineOutTradeNo(found),
    orders.map((one) => [party, paidOrder(one, truth)] as const),
  )
}

function refund(path: string, keys: SenderKeys, truth: Truth): object | undefined {
  const wanted = decodeURIComponent(REFUND.exec(path)?.[1] ?? '')
  const found = truth.findRefund(PROVIDER, keys.merchant, ({ outRefundNo }) => outRefundNo === wanted)
  return found && refundAnswer(refundOrder(found.transaction, found.refund, truth.dateOf))
}

const paidOrder = ({ outTradeNo, transactionId, amountMinor, atMs }: KnownTransaction, { dateOf }: Truth) => ({
  ...{ outTradeNo, transactionId, totalFen: amountMinor, paidAt: dateOf(atMs) },
})

function signed(
  status: number,
  answer: object,
  { wechatpay }: SenderKeys,
  { at, fault, headers: asked }: Asked,
): Answered {
  const { body, headers: bare } = json(status, answer)
  // By the key that the question names, as while an account changes over.
  const platforms = signingAt(wechatpay.platforms, at)
  const platform = platforms.find(({ serial }) => serial === asked['wechatpay-serial']) ?? platforms[0]
  if (platform === undefined) throw new Error('there is always a platform key')
  const [bytes, signer] = [Buffer.from(body), { ...platform, apiV3Key: '' }]
  const { headers } =
    fault === 'probe' ? signProbe(bytes, signer, at, 'another_signature') : signRequest(bytes, signer, at)
  // A good signature, of something else.
  const wrong = fault === 'wrong_signature' ? { 'wechatpay-nonce': '0'.repeat(32) } : {}
  return { status, headers: { ...headers, ...bare, ...wrong }, body }
}

const json = (status: number, answer: object): Answered => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify(answer),
})
