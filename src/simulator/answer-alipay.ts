import { yuanOfFen } from '../providers/yuan.ts'
import { alipayTime, alipayTimeMs, signAnswer } from '../providers/alipay/sign.ts'
import { signingAt } from './key-ring.ts'
import type { SenderKeys } from './keys.ts'
import type { AnswerQuery } from './query-server.ts'
import { refundedMinor, type KnownTransaction, type Truth } from './truth.ts'

const OK = { code: '10000', msg: 'Success' }
const NO_TRADE = {
  ...{ code: '40004', msg: 'Business Failed', sub_code: 'ACQ.TRADE_NOT_EXIST', sub_msg: '交易不存在' },
}
const PROVIDER = 'alipay'

/** Alipay's one address: `alipay.trade.query` and `alipay.trade.fastpay.refund.query`. */
export const answerAlipay: AnswerQuery = ({ url, rawBody, at }, all, truth) => {
  const form = new URLSearchParams([...url.searchParams, ...new URLSearchParams(rawBody.toString())])
  const keys = all.find(({ alipay }) => alipay.appId === form.get('app_id'))
  const method = form.get('method') ?? ''
  const [signer] = keys === undefined ? [] : signingAt(keys.alipay.keys, at)
  const headers = { 'content-type': 'text/html;charset=utf-8' }
  if (keys === undefined || signer === undefined || form.get('sign') === null) {
    const refusal = { code: '40002', msg: 'Invalid Arguments', sub_code: 'isv.invalid-signature' }
    return { status: 200, headers, body: JSON.stringify({ error_response: refusal }) }
  }
  const answer = answerOf(method, asked(form.get('biz_content')), keys, truth)
  return answer && { status: 200, headers, body: signAnswer(method, answer, signer) }
}

interface BizContent {
  readonly out_trade_no?: string
  readonly trade_no?: string
  readonly out_request_no?: string
  readonly query_options?: readonly string[]
}

function asked(text: string | null): BizContent {
  try {
    return JSON.parse(text ?? '{}') as BizContent
  } catch {
    return {}
  }
}

function answerOf(method: string, content: BizContent, { merchant }: SenderKeys, truth: Truth): object | undefined {
  // Given both, the trade's own number counts.
  const trade = truth.find(PROVIDER, merchant, (one) =>
    content.trade_no === undefined ? one.outTradeNo === content.out_trade_no : one.transactionId === content.trade_no,
  )
  if (method === 'alipay.trade.query') return trade === undefined ? NO_TRADE : tradeAnswer(trade, truth)
  if (method !== 'alipay.trade.fastpay.refund.query') return undefined
  if (trade === undefined) return NO_TRADE
  const refund = trade.refunds.find(({ outRefundNo }) => outRefundNo === content.out_request_no)
  // Without a refund there is nothing but the success of having asked.
  if (refund === undefined) return OK
  const wantsTime = content.query_options?.includes('gmt_refund_pay') === true
  return {
    ...{ ...OK, trade_no: trade.transactionId, out_trade_no: trade.outTradeNo, out_request_no: refund.outRefundNo },
    ...{ total_amount: yuanOfFen(trade.amountMinor), refund_amount: yuanOfFen(refund.amountMinor) },
    refund_status: 'REFUND_SUCCESS',
    ...(wantsTime ? { gmt_refund_pay: alipayTimeMs(truth.dateOf(refund.atMs)) } : {}),
  }
}

function tradeAnswer(trade: KnownTransaction, { dateOf }: Truth): object {
  const isRefunded = refundedMinor(trade) === trade.amountMinor
  const isClosed = trade.state === 'closed'
  return {
    ...{ ...OK, trade_no: trade.transactionId, out_trade_no: trade.outTradeNo, buyer_logon_id: 'sim***@example.com' },
    trade_status: isClosed || isRefunded ? 'TRADE_CLOSED' : 'TRADE_SUCCESS',
    total_amount: yuanOfFen(trade.amountMinor),
    ...(isClosed ? {} : { send_pay_date: alipayTime(dateOf(trade.atMs)) }),
  }
}
