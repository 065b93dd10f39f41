import { randomBytes } from 'node:crypto'
import type { Fact } from '../../orders/model.ts'
import { traceable } from '../limits.ts'
import type { QueryAnswer, QueryClient, QueryTarget } from '../query.ts'
import { codeOf, exchange, ofRejection, rateLimited, refuse, systemError, type QueryMeans } from '../query-exchange.ts'
import { badField, refundNoIn } from '../query-target.ts'
import type { WechatpayV2Config } from './config.ts'
import { factsOfPaymentQuery, factsOfRefundQuery } from './facts-of-query.ts'
import { parseFlatXml, type XmlFields } from './parse-flat-xml.ts'
import { textOf } from './read-text.ts'
import { signFields, xmlRequest, type NoticeFields } from './sign.ts'
import type { SignType } from './signature.ts'
import { verifySignature } from './verify.ts'

export interface WechatpayV2QueryConfig {
  readonly merchant: WechatpayV2Config
  readonly appid: string
  readonly subMchid: string | undefined
  readonly signType: SignType
}

const TRANSACTION_ID = /^[A-Za-z0-9_-]{1,32}$/
/** Ends what a value is written in; no number has it. */
const CDATA_END = ']]>'

/**
 * Asks WeChat Pay v2 about an order, or all the refunds of its payment: signed with the merchant's API key, which signs
 * the answer too. A refund that the list of them leaves out, as of many it shows the first ones, is asked about by its
 * own number.
 */
export function createWechatpayV2Query(config: WechatpayV2QueryConfig, means: QueryMeans): QueryClient {
  const ask = async (path: string, about: NoticeFields, signal: AbortSignal) => {
    const now = means.clock.now()
    // A refund notice may still be under an older key; a request is not.
    const key = config.merchant.apiKeys.find(({ validToMs }) => validToMs >= now.getTime())
    if (key === undefined) return refuse('unknown_key', 'apiKeyFiles')
    const fields = { ...whoAsks(config), ...about, nonce_str: randomBytes(16).toString('hex') }
    const { headers, rawBody } = xmlRequest(signFields(fields, key, config.signType))
    return exchange(means, { method: 'POST', path, headers, body: rawBody.toString() }, signal)
  }
  return {
    ask: async (target, signal) => {
      const bad = badField(target, TRANSACTION_ID)
      if (bad !== undefined) return refuse('bad_target', bad)
      const [outTradeNo, refundNo] = [target.outTradeNo, target.kind === 'refund' ? refundNoIn(target.ref) : undefined]
      if (outTradeNo.includes(CDATA_END)) return refuse('bad_target', 'outTradeNo')
      if (refundNo?.includes(CDATA_END) === true) return refuse('bad_target', 'ref')
      const path = target.kind === 'payment' ? '/pay/orderquery' : '/pay/refundquery'
      const id = target.kind === 'payment' ? target.transactionId : undefined
      const about: NoticeFields = id === undefined ? { out_trade_no: outTradeNo } : { transaction_id: id }
      const arrived = await ask(path, about, signal)
      const first = arrived.kind === 'arrived' ? answerOf(arrived.rawBody, target, config, means) : arrived
      if (first.kind !== 'unlisted') return first
      const again = await ask(path, { out_refund_no: refundNo ?? '' }, signal)
      const second = again.kind === 'arrived' ? answerOf(again.rawBody, target, config, means) : again
      return second.kind === 'unlisted' ? refuse('other_order', 'out_refund_no') : second
    },
  }
}

function whoAsks({ merchant, appid, subMchid, signType }: WechatpayV2QueryConfig): NoticeFields {
  return {
    ...{ appid, mch_id: merchant.mchid, sign_type: signType },
    ...(subMchid === undefined ? {} : { sub_mch_id: subMchid }),
  }
}

/** `unlisted`: a good answer, without the refund that was asked about. */
function answerOf(
  rawBody: Buffer,
  target: QueryTarget,
  config: WechatpayV2QueryConfig,
  { clock, limit }: QueryMeans,
): QueryAnswer | { readonly kind: 'unlisted' } {
  const fields = parseFlatXml(rawBody, 'xml')
  if (typeof fields === 'string') return refuse('malformed', 'body')
  if (fields.get('return_code') !== 'SUCCESS') return ofReturnMessage(textOf(fields, 'return_msg') ?? '', limit)
  const code = fields.get('result_code') === 'SUCCESS' ? undefined : (textOf(fields, 'err_code') ?? 'result_code')
  // What only says "not now" needs no proof: under trouble it comes without a signature (community of 2022-09).
  if (code === 'SYSTEMERROR' || code === 'BIZERR_NEED_RETRY') return systemError()
  if (code === 'FREQUENCY_LIMITED') return rateLimited(limit)
  const now = clock.now()
  const rejected = verifySignature(fields, config.merchant, now)
  if (rejected !== undefined) return ofRejection(rejected.rejection)
  if (code === 'ORDERNOTEXIST' || code === 'REFUNDNOTEXIST') return { kind: 'not_found' }
  if (code !== undefined) return refuse(CREDENTIALS.has(code) ? 'credentials' : 'provider_error', codeOf(code))

  const to = config.merchant
  const facts = target.kind === 'payment' ? factsOfPaymentQuery(fields, to, now) : factsOfRefundQuery(fields, to, now)
  if (typeof facts === 'string') return refuse(RECIPIENT.has(facts) ? 'wrong_recipient' : 'malformed', facts)
  if (textOf(fields, 'out_trade_no') !== target.outTradeNo) return refuse('other_order', 'out_trade_no')
  const messages = [messageOf(fields, target, facts)]
  if (target.kind === 'payment') {
    const { transactionId } = target
    if (transactionId !== undefined && textOf(fields, 'transaction_id') !== transactionId)
      return refuse('other_order', 'transaction_id')
    return { kind: 'answered', messages, rawBody, rawHeaders: {} }
  }
  const status = statusOf(fields, refundNoIn(target.ref))
  if (status === undefined) return { kind: 'unlisted' }
  return { kind: 'answered', messages, rawBody, rawHeaders: {}, isUndecided: status === 'PROCESSING' }
}

/** Of a question that WeChat Pay did not take: nothing signs this, and all it has is Chinese. */
function ofReturnMessage(said: string, limit: QueryMeans['limit']): QueryAnswer {
  if (said.includes('频率')) return rateLimited(limit)
  if (/SYSTEMERROR|系统|超时/i.test(said)) return systemError()
  return refuse('credentials', 'return_code')
}

const CREDENTIALS: ReadonlySet<string> = new Set([
  ...['NOAUTH', 'SIGNERROR', 'APPID_NOT_EXIST', 'MCHID_NOT_EXIST', 'APPID_MCHID_NOT_MATCH'],
])
const RECIPIENT: ReadonlySet<string> = new Set(['mch_id', 'appid', 'sub_mch_id', 'sub_appid'])

/** Of a refund in the list; undefined: it is not there. */
function statusOf(fields: XmlFields, refundNo: string | undefined): string | undefined {
  const [listed] = [...fields].find(([name, value]) => name.startsWith(LISTED) && value === refundNo) ?? []
  return listed === undefined ? undefined : (textOf(fields, `refund_status_${listed.slice(LISTED.length)}`) ?? '')
}
const LISTED = 'out_refund_no_'

function messageOf(fields: XmlFields, target: QueryTarget, facts: readonly Fact[]) {
  const state = target.kind === 'payment' ? (textOf(fields, 'trade_state') ?? '') : ''
  return {
    outTradeNo: target.outTradeNo,
    messageType: traceable(`query ${target.kind} ${state}`.trim()),
    messageId: traceable(textOf(fields, 'nonce_str')),
    facts,
    ...(facts.length === 0 ? { instead: { kind: 'no_effect' } as const } : {}),
  }
}
