import { yuanOfFen } from '../providers/yuan.ts'
import { verify } from 'node:crypto'
import { requestContent } from '../providers/alipay/sign-request.ts'
import { alipayTime, alipayTimeMs, signAnswer } from '../providers/alipay/sign.ts'
import { billAddress, type BillContent } from './bill-alipay.ts'
import { signingAt } from './key-ring.ts'
import type { SenderKeys } from './keys.ts'
import type { QueryFault } from './query-faults.ts'
import type { AnswerQuery, Asked } from './query-server.ts'
import { refundedMinor, type KnownTransaction, type Truth } from './truth.ts'

const OK = { code: '10000', msg: 'Success' }
const NO_TRADE = {
  ...{ code: '40004', msg: 'Business Failed', sub_code: 'ACQ.TRADE_NOT_EXIST', sub_msg: '交易不存在' },
}
const NO_BILL = {
  ...{ code: '40004', msg: 'Business Failed', sub_code: 'isp.bill_not_exist', sub_msg: '账单不存在' },
}
const PROVIDER = 'alipay'

/** What Alipay says instead, whatever it is asked. */
const FAULTS: Readonly<Partial<Record<QueryFault, object>>> = {
  not_found: NO_TRADE,
  system_error: { code: '20000', msg: 'Service Currently Unavailable', sub_code: 'isp.unknow-error' },
  rate_limited: { code: '40005', msg: 'Call Limited', sub_code: 'isv.app-call-limited', sub_msg: '应用调用次数超限' },
}

/** Alipay's one address: the queries of a trade and of a refund, and where a bill is. */
export const answerAlipay: AnswerQuery = (request, all, truth) => {
  const { url, rawBody, at, fault } = request
  const form = Object.fromEntries([...url.searchParams, ...new URLSearchParams(rawBody.toString())])
  const keys = all.find(({ alipay }) => alipay.appId === form['app_id'])
  const method = form['method'] ?? ''
  const [signer] = keys === undefined ? [] : signingAt(keys.alipay.keys, at)
  const headers = { 'content-type': 'text/html;charset=utf-8' }
  if (keys === undefined || signer === undefined || !isSigned(form, keys)) {
    const refusal = { code: '40002', msg: 'Invalid Arguments', sub_code: 'isv.invalid-signature' }
    return { status: 200, headers, body: JSON.stringify({ error_response: refusal }) }
  }
  const content = asked(form['biz_content'] ?? null)
  const wanted = method === BILL ? billAnswer(content, request, keys, truth) : answerOf(method, content, keys, truth)
  const answer = wanted && ((fault && FAULTS[fault]) ?? wanted)
  if (answer === undefined) return undefined
  const body = signAnswer(method, answer, signer)
  // A good signature, of something else.
  const other = signAnswer(method, { ...answer, forged: '1' }, signer)
  const wrong = () => body.slice(0, body.lastIndexOf(',"sign"')) + other.slice(other.lastIndexOf(',"sign"'))
  return { status: 200, headers, body: fault === 'wrong_signature' ? wrong() : body }
}

const isSigned = (form: Readonly<Record<string, string>>, { alipay }: SenderKeys) =>
  form['sign_type'] === 'RSA2' &&
  verify('RSA-SHA256', Buffer.from(requestContent(form)), alipay.appKey, Buffer.from(form['sign'] ?? '', 'base64'))

const BILL = 'alipay.data.dataservice.bill.downloadurl.query'

function billAnswer(content: BillContent, request: Asked, keys: SenderKeys, truth: Truth): object {
  const url = billAddress(content, request, keys, truth)
  return url === undefined ? NO_BILL : { ...OK, bill_download_url: url }
}

interface BizContent extends BillContent {
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
