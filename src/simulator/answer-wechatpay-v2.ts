import { apiKey } from '../providers/wechatpay-v2/api-key.ts'
import { parseFlatXml } from '../providers/wechatpay-v2/parse-flat-xml.ts'
import { signFields, spacedTime, xmlRequest, type NoticeFields } from '../providers/wechatpay-v2/sign.ts'
import { isSignedBy, signedContent, signTypeOf } from '../providers/wechatpay-v2/signature.ts'
import { signingAt } from './key-ring.ts'
import type { PlannedRefund } from './planned.ts'
import type { Answered, AnswerQuery } from './query-server.ts'
import { paymentFields, recipientFields } from './sign-wechatpay-v2.ts'
import type { KnownTransaction, Truth } from './truth.ts'

const PROVIDER = 'wechatpay-v2'

/** WeChat Pay v2: `orderquery` and `refundquery`. Whoever asks must sign, with the key that signs the answer. */
export const answerWechatpayV2: AnswerQuery = ({ url, rawBody, at, fault }, all, truth) => {
  const fields = parseFlatXml(rawBody, 'xml')
  if (typeof fields === 'string') return failed('XML格式错误')
  const signType = signTypeOf(fields)
  const text = (name: string) => fields.get(name) ?? ''
  const keys = all.find(({ wechatpay: { mchid, partner } }) =>
    partner === null ? mchid === text('mch_id') : mchid === text('sub_mch_id'),
  )
  const signers = keys === undefined ? [] : signingAt(keys.wechatpayV2.apiKeys, at).map((key) => apiKey(key))
  const signer = signers.find(
    (key) => signType !== undefined && isSignedBy(fields, signedContent(fields), signType, key),
  )
  if (keys === undefined || signer === undefined || signType === undefined) return failed('签名错误')
  const answer = (found: NoticeFields) => {
    const { sign = '', ...signed } = signFields(
      { return_code: 'SUCCESS', return_msg: 'OK', ...recipientFields(keys), nonce_str: 'n0', ...found },
      signer,
      signType,
    )
    return xml({ ...signed, sign: fault === 'wrong_signature' ? otherSign(sign) : sign })
  }
  // As it really comes: without a signature, and without whom it is to.
  if (fault === 'system_error') return refusedAs('SYSTEMERROR', 'system error')
  if (fault === 'rate_limited') return refusedAs('FREQUENCY_LIMITED', '频率限制')
  const of = (one: KnownTransaction) =>
    one.outTradeNo === text('out_trade_no') || one.transactionId === text('transaction_id')
  if (url.pathname === '/pay/orderquery') {
    const isKnown = fault !== 'not_found'
    const found = isKnown ? truth.find(PROVIDER, keys.merchant, of) : undefined
    const unpaid = isKnown ? truth.findUnpaid(PROVIDER, keys.merchant, of) : undefined
    if (found === undefined && unpaid !== undefined)
      return answer({ result_code: 'SUCCESS', out_trade_no: unpaid.outTradeNo, trade_state: 'NOTPAY' })
    if (found === undefined)
      return answer({ result_code: 'FAIL', err_code: 'ORDERNOTEXIST', err_code_des: '订单不存在' })
    const state = found.refunds.length === 0 ? 'SUCCESS' : 'REFUND'
    return answer({ ...paymentFields(found, truth.dateOf), trade_state: state })
  }
  if (url.pathname !== '/pay/refundquery') return undefined
  const asksFor = ({ outRefundNo, refundId }: PlannedRefund, one: KnownTransaction) =>
    outRefundNo === text('out_refund_no') || refundId === text('refund_id') || of(one)
  const found = fault === 'not_found' ? undefined : truth.findRefund(PROVIDER, keys.merchant, asksFor)
  if (found === undefined)
    return answer({ result_code: 'FAIL', err_code: 'REFUNDNOTEXIST', err_code_des: '退款订单查询失败' })
  const { transaction } = found
  const asked = transaction.refunds.filter((refund) => asksFor(refund, transaction))
  return answer(refundFields(transaction, asked, truth))
}

/** Its refunds are numbered from 0. */
function refundFields(
  transaction: KnownTransaction,
  refunds: readonly PlannedRefund[],
  { dateOf }: Truth,
): NoticeFields {
  const status = { succeeded: 'SUCCESS', abnormal: 'CHANGE', closed: 'REFUNDCLOSE' } as const
  const numbered = refunds.flatMap((refund, n) => [
    [`out_refund_no_${n}`, refund.outRefundNo],
    [`refund_id_${n}`, refund.refundId],
    [`refund_fee_${n}`, String(refund.amountMinor)],
    [`refund_status_${n}`, status[refund.state]],
    ...(refund.state === 'succeeded' ? [[`refund_success_time_${n}`, spacedTime(dateOf(refund.atMs))]] : []),
  ])
  return {
    ...{ result_code: 'SUCCESS', transaction_id: transaction.transactionId, out_trade_no: transaction.outTradeNo },
    ...{ total_fee: String(transaction.amountMinor), fee_type: 'CNY', refund_count: String(refunds.length) },
    ...(Object.fromEntries(numbered) as NoticeFields),
  }
}

const otherSign = (sign: string) => (sign.startsWith('0') ? '1' : '0') + sign.slice(1)

/** Of a message that is not well formed, or not well signed: nothing signs the answer. */
const failed = (why: string) => xml({ return_code: 'FAIL', return_msg: why })

const refusedAs = (code: string, why: string) =>
  xml({
    ...{ return_code: 'SUCCESS', return_msg: 'OK', result_code: 'FAIL' },
    ...{ err_code: code, err_code_des: why },
  })

function xml(fields: NoticeFields): Answered {
  const { headers, rawBody } = xmlRequest(fields)
  return { status: 200, headers, body: rawBody.toString() }
}
