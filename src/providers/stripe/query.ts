import type { Fact } from '../../orders/model.ts'
import { isFields, type Fields } from '../fields.ts'
import { traceable } from '../limits.ts'
import type { VerifiedMessage } from '../provider.ts'
import type { QueryAnswer, QueryClient, QueryTarget } from '../query.ts'
import { refuse, type Arrived, type QueryMeans } from '../query-exchange.ts'
import { badField, refundNoIn } from '../query-target.ts'
import { askStripe, listIn, timeOf, type StripeCaller } from './ask.ts'
import type { StripeConfig } from './config.ts'
import { factsOfCharge, factsOfPaymentIntent, factsOfRefund } from './facts-of-query.ts'
import { idOf } from './read-object.ts'
import { orderIn, otherShopsField } from './recipient.ts'

export interface StripeQueryConfig extends StripeCaller {
  readonly merchant: StripeConfig
  /** Keys of metadata that may hold an order's number: only they can be searched for. */
  readonly metadataKeys: readonly string[]
}

const INTENT = /^pi_[A-Za-z0-9_-]{1,120}$/
const REFUND = /^(?:re|pyr)_[A-Za-z0-9_-]{1,120}$/
/** Of one order: each attempt that was begun anew is an intent. */
const INTENTS_MAX = 20
/** Whose refunds are asked about, one question each. */
const PAID_MAX = 5
const CHARGE = 'expand[]=latest_charge'

/**
 * Asks Stripe about an order's payments, which are found by the order's number in their metadata (a minute late, and
 * more under trouble), or by the id of one; or about all the refunds of its payments. Stripe signs no answer: TLS and
 * the key say whose it is.
 */
export function createStripeQuery(config: StripeQueryConfig, means: QueryMeans): QueryClient {
  const get = (path: string, signal: AbortSignal) => askStripe(config, means, path, signal)
  const intentsOf = async (target: QueryTarget, signal: AbortSignal): Promise<Found | QueryAnswer> => {
    const id = target.kind === 'payment' ? target.transactionId : undefined
    if (id !== undefined) {
      const arrived = await get(`/v1/payment_intents/${id}?${CHARGE}`, signal)
      if (!('body' in arrived)) return arrived
      return ours([arrived.body], arrived, target, config)
    }
    const query = encodeURIComponent(searchFor(target.outTradeNo, config.metadataKeys))
    const expand = 'expand[]=data.latest_charge'
    const arrived = await get(`/v1/payment_intents/search?query=${query}&limit=${INTENTS_MAX}&${expand}`, signal)
    if (!('body' in arrived)) return arrived
    const list = listIn(arrived.body)
    return Array.isArray(list) ? ours(list, arrived, target, config) : refuse('malformed', String(list))
  }
  return {
    ask: async (target, signal) => {
      const bad = badField(target, INTENT)
      if (bad !== undefined) return refuse('bad_target', bad)
      const found = await intentsOf(target, signal)
      if (found.kind !== 'found') return found
      if (target.kind === 'payment') return paymentsIn(found, target, means)
      return refundsOf(found, target, get, means, signal)
    },
  }
}

interface Found {
  readonly kind: 'found'
  readonly intents: readonly Fields[]
  readonly arrived: Arrived
}

/** `metadata['out_trade_no']:'…'`; a quote or backslash in the number is escaped. */
const searchFor = (outTradeNo: string, keys: readonly string[]) => {
  const escaped = (text: string) => text.replace(/['\\]/g, '\\$&')
  return keys.map((key) => `metadata['${escaped(key)}']:'${escaped(outTradeNo)}'`).join(' OR ')
}

/**
 * What was found and is this order's. Another shop of the same account may have its number, and search does not tell
 * upper case from lower.
 */
function ours(
  intents: readonly unknown[],
  arrived: Arrived,
  { outTradeNo }: QueryTarget,
  { merchant }: StripeQueryConfig,
): Found | QueryAnswer {
  const [first] = intents
  if (first === undefined) return { kind: 'not_found' }
  if (!intents.every(isFields)) return refuse('malformed', 'data')
  const why = intents.map((intent) => strangerIn(intent, outTradeNo, merchant))
  const same = intents.filter((_intent, n) => why[n] === undefined)
  return same.length === 0 ? (why[0] ?? refuse('malformed', 'data')) : { kind: 'found', intents: same, arrived }
}

function strangerIn(intent: Fields, outTradeNo: string, merchant: StripeConfig): QueryAnswer | undefined {
  if (intent['livemode'] !== merchant.livemode) return refuse('wrong_recipient', 'livemode')
  const stranger = otherShopsField(intent, merchant, true)
  if (stranger !== undefined) return refuse('wrong_recipient', stranger)
  return orderIn(intent, merchant)?.number === outTradeNo ? undefined : refuse('other_order', 'metadata')
}

function paymentsIn({ intents, arrived }: Found, target: QueryTarget, { clock }: QueryMeans): QueryAnswer {
  const at = timeOf(arrived, clock.now())
  const messages: VerifiedMessage[] = []
  for (const intent of intents) {
    const facts = factsOfPaymentIntent(intent, at)
    if (typeof facts === 'string') return refuse('malformed', facts)
    const charge = intent['latest_charge']
    // What went back of it altogether: as an event says it, whichever refunds were missed.
    const total = isFields(charge) && intent['status'] === 'succeeded' ? factsOfCharge(charge, at) : []
    if (typeof total === 'string') return refuse('malformed', `latest_charge.${total}`)
    messages.push(messageOf(target, `payment ${String(intent['status'])}`, intent['id'], [...facts, ...total]))
  }
  return { kind: 'answered', messages, rawBody: arrived.rawBody, rawHeaders: {} }
}

async function refundsOf(
  { intents }: Found,
  target: QueryTarget & { readonly kind: 'refund' },
  get: (path: string, signal: AbortSignal) => Promise<(Arrived & { readonly body: unknown }) | QueryAnswer>,
  { clock }: QueryMeans,
  signal: AbortSignal,
): Promise<QueryAnswer> {
  const paid = intents.filter(({ status }) => status === 'succeeded')
  if (paid.length > PAID_MAX) return refuse('too_large', 'payment_intents')
  const messages: VerifiedMessage[] = []
  const bodies: Buffer[] = []
  let isListed = false
  let isUndecided = false
  for (const { id } of paid) {
    if (typeof id !== 'string' || !INTENT.test(id)) return refuse('malformed', 'id')
    const arrived = await get(`/v1/refunds?payment_intent=${id}&limit=100`, signal)
    if (!('body' in arrived)) return arrived
    const list = listIn(arrived.body)
    if (!Array.isArray(list)) return refuse('malformed', String(list))
    for (const refund of list) {
      if (!isFields(refund) || idOf(refund['payment_intent']) !== id) return refuse('other_order', 'payment_intent')
      const facts = factsOfRefund(refund, timeOf(arrived, clock.now()))
      if (typeof facts === 'string') return refuse('malformed', facts)
      messages.push(messageOf(target, `refund ${String(refund['status'])}`, refund['id'], facts))
      if (!isNamed(refund, refundNoIn(target.ref))) continue
      isListed = true
      isUndecided ||= facts.length === 0
    }
    bodies.push(arrived.rawBody)
  }
  if (!isListed) return { kind: 'not_found' }
  return { kind: 'answered', messages, rawBody: joined(bodies), rawHeaders: {}, isUndecided }
}

/** By Stripe's number, or by the merchant's own in its metadata. */
const isNamed = ({ id, metadata }: Fields, number: string | undefined) =>
  REFUND.test(number ?? '') ? id === number : isFields(metadata) && metadata['out_refund_no'] === number

/** One as it came; of several payments, a JSON array of theirs. */
const joined = (bodies: readonly Buffer[]): Buffer =>
  bodies.length === 1 ? (bodies[0] ?? Buffer.alloc(0)) : Buffer.from(`[${bodies.join(',')}]`)

const messageOf = (
  { outTradeNo }: QueryTarget,
  type: string,
  id: unknown,
  facts: readonly Fact[],
): VerifiedMessage => ({
  ...{ outTradeNo, messageType: traceable(`query ${type}`), messageId: traceable(id), facts },
  ...(facts.length === 0 ? { instead: { kind: 'no_effect' } as const } : {}),
})
