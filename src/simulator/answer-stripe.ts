import type { SenderKeys } from './keys.ts'
import type { Answered, AnswerQuery, Asked } from './query-server.ts'
import { chargeObject, disputeObject, paymentIntentObject, refundObject } from './stripe-objects.ts'
import { refundedMinor, type KnownTransaction, type Truth } from './truth.ts'

const PROVIDER = 'stripe'
const SEARCH = /^metadata\['out_trade_no'\]:'([^']+)'$/

/** Stripe: PaymentIntents by id or by the order's number, refunds by id or payment, charges and disputes by id. */
export const answerStripe: AnswerQuery = (asked, all, truth) => {
  const keys = all.find(({ stripe }) => stripe.apiKey === apiKeyIn(asked))
  if (keys === undefined) return json(401, { error: { type: 'invalid_request_error', message: 'Invalid API Key' } })
  if (asked.fault === 'rate_limited') return json(429, { error: { type: 'invalid_request_error', code: 'rate_limit' } })
  if (asked.fault === 'system_error') return json(500, { error: { type: 'api_error', message: 'An error occurred' } })
  const known = asked.fault === 'not_found' ? { ...truth, find: none, findRefund: none } : truth
  const found = asked.method === 'GET' ? objectAt(asked.url, keys, known) : undefined
  if (found !== undefined) return json(200, found)
  return json(404, { error: { type: 'invalid_request_error', code: 'resource_missing' } })
}

const none = () => undefined

/** A bearer's, or the name of a user without a password. */
function apiKeyIn({ headers }: Asked): string | undefined {
  const [, scheme, text = ''] = /^(Bearer|Basic) (\S+)$/.exec(headers['authorization'] ?? '') ?? []
  return scheme === 'Basic' ? Buffer.from(text, 'base64').toString().split(':')[0] : text
}

function objectAt({ pathname, searchParams }: URL, { merchant }: SenderKeys, truth: Truth): object | undefined {
  const [, , kind, id] = pathname.split('/')
  const { dateOf } = truth
  const find = (is: (one: KnownTransaction) => boolean) => truth.find(PROVIDER, merchant, is)
  const intent = (one: KnownTransaction) => {
    const object = paymentIntentObject(one, dateOf)
    const isExpanded = searchParams.getAll('expand[]').includes('latest_charge')
    return isExpanded ? { ...object, latest_charge: chargeObject(one, refundedMinor(one), dateOf) } : object
  }
  switch (kind) {
    case 'payment_intents': {
      const isSearch = id === 'search'
      const wanted = SEARCH.exec(searchParams.get('query') ?? '')?.[1]
      const found = find((one) => (isSearch ? one.outTradeNo === wanted : one.transactionId === id))
      if (isSearch)
        return list('/v1/payment_intents/search', found === undefined ? [] : [intent(found)], 'search_result')
      return found && intent(found)
    }
    case 'refunds': {
      if (id !== undefined) {
        const found = truth.findRefund(PROVIDER, merchant, ({ refundId }) => refundId === id)
        return found && refundObject(found.transaction, found.refund, dateOf)
      }
      const found = find((one) => one.transactionId === searchParams.get('payment_intent'))
      const refunds = found?.refunds.map((refund) => refundObject(found, refund, dateOf)) ?? []
      return list('/v1/refunds', refunds.reverse())
    }
    case 'charges': {
      const found = find((one) => chargeObject(one, 0, dateOf).id === id)
      return found && chargeObject(found, refundedMinor(found), dateOf)
    }
    case 'disputes': {
      const found = find((one) => one.disputeId !== null && one.disputeId === id)
      return found && disputeObject(found, dateOf)
    }
    default:
      return undefined
  }
}

const list = (url: string, data: readonly object[], object = 'list') => ({ object, url, has_more: false, data })

const json = (status: number, body: object): Answered => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
