import { traceable } from '../limits.ts'
import type { Fields } from '../fields.ts'
import type { QueryAnswer, QueryClient, QueryTarget } from '../query.ts'
import { codeOf, exchange, ofRejection, rateLimited, refuse, systemError, type QueryMeans } from '../query-exchange.ts'
import { badField, refundNoIn } from '../query-target.ts'
import type { AlipayConfig } from './config.ts'
import { factsOfPaymentQuery, factsOfRefundQuery } from './facts-of-query.ts'
import { signRequest, type AlipayCaller } from './sign-request.ts'
import { openAnswer, verifyAnswer } from './signed-answer.ts'

export interface AlipayQueryConfig extends Pick<AlipayConfig, 'keys' | 'sellerIds'> {
  readonly caller: AlipayCaller
}

const TRADE_NO = /^[A-Za-z0-9_-]{1,64}$/
const OK = '10000'
export const FORM = { 'content-type': 'application/x-www-form-urlencoded;charset=utf-8' }

/** Asks Alipay about a trade, or one refund of it. An answer is believed only if Alipay signed its very text. */
export function createAlipayQuery(config: AlipayQueryConfig, means: QueryMeans): QueryClient {
  return {
    ask: async (target, signal) => {
      const bad = badField(target, TRADE_NO)
      if (bad !== undefined) return refuse('bad_target', bad)
      const [method, content] = questionOf(target)
      const { path, body } = signRequest(method, content, config.caller, means.clock.now())
      const arrived = await exchange(means, { method: 'POST', path, headers: FORM, body }, signal)
      if (arrived.kind !== 'arrived') return arrived
      return answerOf(arrived.rawBody, method, target, config, means)
    },
  }
}

function questionOf(target: QueryTarget): readonly [method: string, content: object] {
  if (target.kind === 'payment')
    return [
      'alipay.trade.query',
      target.transactionId === undefined ? { out_trade_no: target.outTradeNo } : { trade_no: target.transactionId },
    ]
  return [
    'alipay.trade.fastpay.refund.query',
    {
      ...{ out_trade_no: target.outTradeNo, out_request_no: refundNoIn(target.ref) },
      // Without its time a refund cannot be set against the figures of the notices.
      query_options: ['gmt_refund_pay'],
    },
  ]
}

function answerOf(
  rawBody: Buffer,
  method: string,
  target: QueryTarget,
  { keys, sellerIds }: AlipayQueryConfig,
  { clock, limit }: QueryMeans,
): QueryAnswer {
  const now = clock.now()
  const opened = openAnswer(rawBody, method)
  if (opened === undefined) return refuse('malformed', 'body')
  const { answer } = opened
  const { code, sub_code: subCode } = answer
  if (code !== OK && subCode !== NO_TRADE) return ofFailure(answer, limit)
  const rejected = verifyAnswer(opened, keys, now)
  if (rejected !== undefined) return ofRejection(rejected.rejection)
  if (code !== OK) return { kind: 'not_found' }
  // The success of having asked, and nothing else: there is no such refund.
  if (target.kind === 'refund' && !answer['refund_status']) return { kind: 'not_found' }

  const facts = target.kind === 'payment' ? factsOfPaymentQuery(answer, now) : factsOfRefundQuery(answer)
  if (typeof facts === 'string') return refuse('malformed', facts)
  const seller = answer['seller_id']
  if (seller !== undefined && !(typeof seller === 'string' && sellerIds.has(seller)))
    return refuse('wrong_recipient', 'seller_id')
  const other = otherIn(answer, target)
  if (other !== undefined) return refuse('other_order', other)
  const state = String(answer[target.kind === 'payment' ? 'trade_status' : 'refund_status'])
  const message = {
    outTradeNo: target.outTradeNo,
    messageType: traceable(`query ${target.kind} ${state}`),
    messageId: '',
    facts,
    ...(facts.length === 0 ? { instead: { kind: 'no_effect' } as const } : {}),
  }
  return { kind: 'answered', messages: [message], rawBody, rawHeaders: {} }
}

const NO_TRADE = 'ACQ.TRADE_NOT_EXIST'

/** What an answer comes to that is no success. What only says "not now" needs no proof. */
export function ofFailure({ code, sub_code: subCode }: Fields, limit: QueryMeans['limit']): QueryAnswer {
  const isSystem = code === '20000' || (typeof subCode === 'string' && /SYSTEM_ERROR$|unknow-error$/.test(subCode))
  if (isSystem) return systemError()
  if (typeof subCode === 'string' && subCode.includes('call-limited')) return rateLimited(limit)
  return refuse(isOurs(code, subCode) ? 'credentials' : 'provider_error', codeOf(subCode ?? code))
}

/** Whether it is our key, our certificate or our rights that Alipay does not take. */
const isOurs = (code: unknown, subCode: unknown) =>
  code === '20001' ||
  code === '40006' ||
  (typeof subCode === 'string' && /signature|app-id|app-cert|auth|permission/i.test(subCode))

/** The answer names no merchant: it is ours because we asked, so it must be about what we asked. */
function otherIn(answer: Fields, target: QueryTarget): string | undefined {
  if (answer['out_trade_no'] !== target.outTradeNo) return 'out_trade_no'
  if (target.kind === 'refund')
    return answer['out_request_no'] === refundNoIn(target.ref) ? undefined : 'out_request_no'
  return target.transactionId === undefined || answer['trade_no'] === target.transactionId ? undefined : 'trade_no'
}
