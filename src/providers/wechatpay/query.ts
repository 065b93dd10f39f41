import { isUtf8 } from 'node:buffer'
import type { Fact } from '../../orders/model.ts'
import { isFields, type Fields } from '../fields.ts'
import { traceable } from '../limits.ts'
import type { QueryAnswer, QueryClient, QueryTarget } from '../query.ts'
import {
  codeOf,
  exchange,
  ofRejection,
  rateLimited,
  refuse,
  systemError,
  type Arrived,
  type QueryMeans,
} from '../query-exchange.ts'
import { badField, refundNoIn } from '../query-target.ts'
import { parseStrictJson } from '../strict-json.ts'
import { authorize, type ApiCertificate } from './authorize.ts'
import type { PlatformKey } from './config.ts'
import { factsOfPaymentQuery, factsOfRefundQuery } from './facts-of-query.ts'
import type { Recipient } from './recipient.ts'
import { SIGNED_HEADERS, verifySignature } from './verify.ts'

export interface WechatpayQueryConfig {
  readonly recipient: Recipient
  /** In partner mode: whose orders are asked about. */
  readonly subMchid: string | undefined
  readonly platformKeys: ReadonlyMap<string, PlatformKey>
  readonly certificate: Omit<ApiCertificate, 'mchid'>
}

const TRANSACTION_ID = /^[A-Za-z0-9_-]{1,32}$/

/**
 * Asks WeChat Pay v3 about an order, or one refund of it: nobody there lists a payment's refunds. An answer is
 * believed only if it is signed as a callback is. Orders that were paid together are found by their common number
 * alone, which an order does not know.
 */
export function createWechatpayQuery(config: WechatpayQueryConfig, means: QueryMeans): QueryClient {
  const { recipient, certificate, platformKeys } = config
  const caller = { ...certificate, mchid: recipient.mchid }
  return {
    ask: async (target, signal) => {
      const bad = badField(target, TRANSACTION_ID)
      if (bad !== undefined) return refuse('bad_target', bad)
      const path = pathOf(target, config)
      if (path === undefined) return refuse('bad_target', target.kind === 'payment' ? 'outTradeNo' : 'ref')
      const at = means.clock.now()
      const headers = {
        ...{ accept: 'application/json', authorization: authorize({ method: 'GET', path }, caller, at) },
        ...wantedSigner(platformKeys, at),
      }
      const arrived = await exchange(means, { method: 'GET', path, headers }, signal)
      return arrived.kind === 'arrived' ? answerOf(arrived, target, config, means) : arrived
    },
  }
}

/** Undefined: a number that no address can hold, as it would be another one's. */
function pathOf(target: QueryTarget, { recipient, subMchid }: WechatpayQueryConfig): string | undefined {
  const last = target.kind === 'payment' ? (target.transactionId ?? target.outTradeNo) : refundNoIn(target.ref)
  if (last === undefined || last === '.' || last === '..') return undefined
  const named = encodeURIComponent(last)
  if (target.kind === 'refund')
    return `/v3/refund/domestic/refunds/${named}${subMchid === undefined ? '' : `?sub_mchid=${subMchid}`}`
  const by = target.transactionId === undefined ? 'out-trade-no' : 'id'
  return subMchid === undefined
    ? `/v3/pay/transactions/${by}/${named}?mchid=${recipient.mchid}`
    : `/v3/pay/partner/transactions/${by}/${named}?sp_mchid=${recipient.mchid}&sub_mchid=${subMchid}`
}

/** While an account changes over, the answer is signed by the key that the question names: the newer kind, if we have it. */
export function wantedSigner(keys: ReadonlyMap<string, PlatformKey>, at: Date): Record<string, string> {
  const valid = [...keys].filter(([, { validToMs }]) => validToMs >= at.getTime()).map(([serial]) => serial)
  const serial = valid.find((one) => one.startsWith('PUB_KEY_ID_')) ?? valid[0]
  return serial === undefined ? {} : { 'wechatpay-serial': serial }
}

function answerOf(
  arrived: Arrived,
  target: QueryTarget,
  config: WechatpayQueryConfig,
  { clock, limit }: QueryMeans,
): QueryAnswer {
  const now = clock.now()
  const { status, headers, rawBody } = arrived
  const body = isUtf8(rawBody) ? parseStrictJson(rawBody.toString())?.value : undefined
  const code = isFields(body) ? body['code'] : undefined
  // What only says "not now" needs no proof; what refuses us is at most a reason to look.
  if (status !== 200 && status !== 404) {
    if (code === 'FREQUENCY_LIMITED' || code === 'RATELIMIT_EXCEEDED') return rateLimited(limit)
    if (code === 'SYSTEM_ERROR') return systemError()
    return refuse(status === 401 || status === 403 ? 'credentials' : 'provider_error', codeOf(code))
  }
  const rejected = verifySignature(arrived, config.platformKeys, now)
  if (rejected !== undefined) return ofRejection(rejected.rejection)
  if (!isFields(body)) return refuse('malformed', 'body')
  if (status === 404) return NOT_FOUND.has(code) ? { kind: 'not_found' } : refuse('provider_error', codeOf(code))
  const facts =
    target.kind === 'payment' ? factsOfPaymentQuery(body, config.recipient, now) : factsOfRefundQuery(body, now)
  if (typeof facts === 'string') return refuse(RECIPIENT.has(facts) ? 'wrong_recipient' : 'malformed', facts)
  const other = otherIn(body, target)
  if (other !== undefined) return refuse('other_order', other)
  return {
    kind: 'answered',
    messages: [messageOf(body, target, facts, headers['request-id'])],
    rawBody,
    rawHeaders: Object.fromEntries(SIGNED_HEADERS.map((name) => [name, headers[name] ?? ''])),
  }
}

const NOT_FOUND: ReadonlySet<unknown> = new Set([
  ...['ORDER_NOT_EXIST', 'ORDERNOTEXIST', 'RESOURCE_NOT_EXISTS', 'REFUND_NOT_EXIST', 'NOT_FOUND'],
])
const RECIPIENT: ReadonlySet<string> = new Set([
  ...['mchid', 'appid', 'sp_mchid', 'sub_mchid', 'sp_appid', 'sub_appid'],
])

/** An answer is signed for whoever asked whatever: it must be about what was asked. */
function otherIn(body: Fields, target: QueryTarget): string | undefined {
  if (body['out_trade_no'] !== target.outTradeNo) return 'out_trade_no'
  if (target.kind === 'refund') return body['out_refund_no'] === refundNoIn(target.ref) ? undefined : 'out_refund_no'
  const { transactionId } = target
  return transactionId === undefined || body['transaction_id'] === transactionId ? undefined : 'transaction_id'
}

function messageOf(body: Fields, target: QueryTarget, facts: readonly Fact[], requestId: string | undefined) {
  const state = target.kind === 'payment' ? body['trade_state'] : body['status']
  return {
    outTradeNo: target.outTradeNo,
    messageType: traceable(`query ${target.kind} ${String(state)}`),
    messageId: traceable(requestId),
    facts,
    ...(facts.length === 0 ? { instead: { kind: 'no_effect' } as const } : {}),
  }
}
