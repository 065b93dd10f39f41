import { combinedResource, paymentResource, refundAnswer, unpaidAnswer } from '../providers/wechatpay/compose.ts'
import { signRequest } from '../providers/wechatpay/sign.ts'
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
  const [signer] = all
  if (keys === undefined) return signer && signed(401, { code: 'SIGN_ERROR', message: '签名错误' }, signer, asked.at)
  const { pathname } = asked.url
  const found =
    asked.method !== 'GET'
      ? undefined
      : (payment(pathname, keys, truth) ?? combined(pathname, keys, truth) ?? refund(pathname, keys, truth))
  if (found !== undefined) return signed(200, found, keys, asked.at)
  const code = REFUND.test(pathname) ? 'RESOURCE_NOT_EXISTS' : 'ORDER_NOT_EXIST'
  return signed(404, { code, message: '订单不存在' }, keys, asked.at)
}

/** Who asks says so in `Authorization`; a partner, whom of its merchants it asks for, in the address. */
function callerOf({ headers, url }: Asked, all: readonly SenderKeys[]): SenderKeys | undefined {
  const caller = /^WECHATPAY2-SHA256-RSA2048 .*\bmchid="(\d+)"/.exec(headers['authorization'] ?? '')?.[1]
  const subMchid = url.searchParams.get('sub_mchid')
  return all.find(({ wechatpay: { mchid, partner } }) =>
    partner === null ? mchid === caller : partner.spMchid === caller && (subMchid ?? mchid) === mchid,
  )
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

function signed(status: number, answer: object, { wechatpay }: SenderKeys, at: Date): Answered {
  const body = JSON.stringify(answer)
  const [platform] = signingAt(wechatpay.platforms, at)
  if (platform === undefined) throw new Error('there is always a platform key')
  const { headers } = signRequest(Buffer.from(body), { ...platform, apiV3Key: '' }, at)
  return { status, headers: { ...headers, 'content-type': 'application/json; charset=utf-8' }, body }
}
