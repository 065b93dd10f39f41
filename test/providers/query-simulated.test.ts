import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fact } from '../../src/orders/model.ts'
import type { QueryAnswer, QueryTarget } from '../../src/providers/query.ts'
import { factsOfCallback } from '../../src/simulator/facts-of-callback.ts'
import { PAYMENT_PROVIDERS, type PaymentProvider } from '../../src/simulator/stories.ts'
import { refundedMinor } from '../../src/simulator/truth.ts'
import { ask, createQueryWorld, type QueryWorld, type Told } from '../helpers/query-world.ts'

const QUERIED = PAYMENT_PROVIDERS.filter((name) => name !== 'standard-webhooks')
let world: QueryWorld
let url = ''
beforeAll(async () => {
  world = await createQueryWorld({ seed: 23, orders: 120 })
  url = await world.serve()
})
afterAll(() => world.close())

const paymentOf = ({ callback: { transaction } }: Told): QueryTarget => ({
  ...{ kind: 'payment', outTradeNo: transaction.outTradeNo },
})
const byId = ({ callback: { transaction } }: Told): QueryTarget => ({
  ...{ kind: 'payment', outTradeNo: transaction.outTradeNo, transactionId: transaction.transactionId },
})
const refundOf = ({ callback: { transaction, refund } }: Told): QueryTarget => ({
  ...{ kind: 'refund', outTradeNo: transaction.outTradeNo, ref: `refund:${refund?.outRefundNo}` },
})
/** What must be the same wherever a fact is learnt. */
const identity = ({ eventType, providerRef, paymentRef, amountMinor, currency, amountKind }: Omit<Fact, 'detail'>) => ({
  ...{ eventType, providerRef, paymentRef, amountMinor, currency, amountKind },
})
const answered = (answer: QueryAnswer) => {
  if (answer.kind !== 'answered') throw new Error(JSON.stringify(answer))
  return answer
}
const factsIn = (answer: QueryAnswer) => answered(answer).messages.flatMap(({ facts }) => facts.map(identity))
const stated = ({ callback }: Told) => factsOfCallback(callback, world.dateOf).map(identity)
const client = (provider: PaymentProvider, merchant: string) => world.client(provider, merchant, url)
const first = (provider: PaymentProvider) => {
  const [one] = world.told(provider, 'payment')
  if (one === undefined) throw new Error(`no payment of ${provider}`)
  return one
}

describe.each(QUERIED)('%s', (provider) => {
  test('a payment is the fact of its callback, by the order’s number and by the provider’s own', async () => {
    const payments = world.told(provider, 'payment')
    expect(new Set(payments.map(({ merchant }) => merchant)).size).toBe(2)
    for (const one of payments) {
      const wanted = stated(one).filter(({ eventType }) => eventType === 'payment_succeeded')
      for (const target of [paymentOf(one), byId(one)]) {
        const facts = factsIn(await ask(client(provider, one.merchant), target))
        expect(facts.filter(({ eventType }) => eventType === 'payment_succeeded')).toEqual(wanted)
        // Stripe's charge and Alipay's closed trade tell what went back too; never of what did not.
        const refunded = facts.filter(({ eventType }) => eventType === 'refund_succeeded')
        for (const { amountMinor } of refunded) expect(amountMinor).toBe(refundedMinor(one.callback.transaction))
      }
    }
  })

  test('the answer is kept as it came, with what verifies it again, about that order alone', async () => {
    const one = first(provider)
    const { messages, rawBody, rawHeaders } = answered(await ask(client(provider, one.merchant), paymentOf(one)))
    expect(messages.map(({ outTradeNo }) => outTradeNo)).toEqual([one.callback.transaction.outTradeNo])
    expect(messages[0]?.messageType).toMatch(/^query payment /)
    expect(rawBody.toString()).toContain(one.callback.transaction.transactionId)
    const names = ['wechatpay-nonce', 'wechatpay-serial', 'wechatpay-signature', 'wechatpay-timestamp']
    expect(Object.keys(rawHeaders).sort()).toEqual(provider === 'wechatpay' ? names : [])
  })

  test('a refund is one fact, wherever it is learnt', async () => {
    const refunds = world.told(provider, 'refund', 'refund_abnormal', 'refund_closed')
    expect(refunds.length).toBeGreaterThan(3)
    for (const one of refunds) {
      const facts = factsIn(await ask(client(provider, one.merchant), refundOf(one)))
      const { transaction, refund } = one.callback
      const ref = { wechatpay: 'wechatpay:', 'wechatpay-v2': 'wechatpay:', stripe: 'stripe:', alipay: '' }[provider]
      if (provider === 'alipay')
        expect(facts).toMatchObject([
          {
            providerRef: `alipay:${transaction.transactionId}/refund/${refund?.outRefundNo}`,
            amountMinor: refund?.amountMinor,
          },
        ])
      else {
        const found = facts.find(({ providerRef }) => providerRef.startsWith(`${ref}${refund?.refundId}`))
        expect(found).toMatchObject({ amountMinor: refund?.amountMinor, amountKind: 'individual' })
        if (provider !== 'wechatpay-v2') expect(stated(one)).toContainEqual(found)
      }
      // All of the payment's, where the provider lists them.
      const listed = provider === 'stripe' || provider === 'wechatpay-v2'
      expect(facts).toHaveLength(listed ? transaction.refunds.length : 1)
    }
  })

  test('what the provider does not know is not found; an order that waits for its payment has no facts', async () => {
    const one = first(provider)
    const asking = client(provider, one.merchant)
    expect(await ask(asking, { kind: 'payment', outTradeNo: 'nobody' })).toEqual({ kind: 'not_found' })
    const unknown = { ...refundOf(one), ref: 'refund:none' } as QueryTarget
    // v2 proves by the list of the order's refunds, or by their absence, that there is no such one.
    expect(await ask(asking, unknown)).toEqual({ kind: 'not_found' })
    const later = world.now
    world.now = new Date(world.dateOf(0).getTime() - 60_000)
    const early = await ask(asking, paymentOf(one))
    world.now = later
    if (provider === 'alipay' || provider === 'stripe') expect(early).toEqual({ kind: 'not_found' })
    else expect(answered(early).messages).toMatchObject([{ facts: [], instead: { kind: 'no_effect' } }])
  })

  test('nobody asks about what cannot be a number there', async () => {
    const { merchant } = first(provider)
    const asking = client(provider, merchant)
    const count = world.asked.length
    const targets: readonly (readonly [QueryTarget, string])[] = [
      [{ kind: 'payment', outTradeNo: '' }, 'outTradeNo'],
      [{ kind: 'payment', outTradeNo: 'T1', transactionId: 'wechatpay:42' }, 'transactionId'],
      [{ kind: 'payment', outTradeNo: 'T1', transactionId: '../T2' }, 'transactionId'],
      [{ kind: 'refund', outTradeNo: 'T1', ref: 'R-1' }, 'ref'],
      [{ kind: 'refund', outTradeNo: 'T1', ref: 'refund:' }, 'ref'],
      [{ kind: 'refund', outTradeNo: 'T1', ref: 'refund:a\nb' }, 'ref'],
    ]
    for (const [target, field] of targets)
      expect(await ask(asking, target)).toEqual({ kind: 'refused', reason: 'bad_target', field })
    if (provider === 'wechatpay')
      expect(await ask(asking, { kind: 'payment', outTradeNo: '..' })).toMatchObject({ reason: 'bad_target' })
    expect(world.asked).toHaveLength(count)
  })

  test.each([
    ['reset', { kind: 'try_later', reason: 'network' }],
    ['truncated', { kind: 'try_later', reason: 'network' }],
    ['rate_limited', { kind: 'try_later', reason: 'rate_limited', afterMs: 1_000 }],
    ['system_error', { kind: 'try_later', reason: 'system_error' }],
    ['not_found', { kind: 'not_found' }],
  ] as const)('the simulator’s fault %s is a value', async (fault, wanted) => {
    const one = first(provider)
    const asking = world.client(provider, one.merchant, await world.serve(fault))
    expect(await ask(asking, paymentOf(one))).toEqual(wanted)
    expect(world.asked.at(-1)).toMatchObject({ fault, provider })
  })

  test('a slow answer runs out of time, and whoever asks can stop waiting', async () => {
    const one = first(provider)
    const slow = await world.serve('slow')
    const asking = world.client(provider, one.merchant, slow, { timeoutMs: 100 })
    expect(await ask(asking, paymentOf(one))).toEqual({ kind: 'try_later', reason: 'timeout' })
    const stop = new AbortController()
    const patient = world.client(provider, one.merchant, slow, { timeoutMs: 60_000 })
    const answer = patient.ask(paymentOf(one), stop.signal)
    stop.abort()
    expect(await answer).toEqual({ kind: 'try_later', reason: 'timeout' })
    expect(await patient.ask(paymentOf(one), AbortSignal.abort())).toEqual({ kind: 'try_later', reason: 'timeout' })
  })

  test('after 429 nobody asks for a while', async () => {
    const one = first(provider)
    const asking = world.client(provider, one.merchant, await world.serve('rate_limited'))
    const limited = { kind: 'try_later', reason: 'rate_limited' }
    expect(await ask(asking, paymentOf(one))).toEqual({ ...limited, afterMs: 1_000 })
    const count = world.asked.length
    expect(await ask(asking, paymentOf(one))).toMatchObject(limited)
    expect(world.asked).toHaveLength(count)
    // Also where it comes under status 200.
    world.laterMs += 1_000
    expect(await ask(asking, paymentOf(one))).toEqual({ ...limited, afterMs: 2_000 })
    expect(world.asked).toHaveLength(count + 1)
  })

  test('more than the merchant’s own rate is not sent', async () => {
    const one = first(provider)
    const asking = world.client(provider, one.merchant, url, { requestsPerSec: 0.01 })
    expect(await ask(asking, paymentOf(one))).toMatchObject({ kind: 'answered' })
    const count = world.asked.length
    const answer = await ask(asking, paymentOf(one))
    expect(answer).toMatchObject({ kind: 'try_later', reason: 'rate_limited' })
    expect(answer.kind === 'try_later' && (answer.afterMs ?? 0)).toBeGreaterThan(60_000)
    expect(world.asked).toHaveLength(count)
  })
})

test.each(['wechatpay', 'wechatpay-v2', 'alipay'] as const)('%s: a wrong signature is refused', async (provider) => {
  const one = first(provider)
  const asking = world.client(provider, one.merchant, await world.serve('wrong_signature'))
  expect(await ask(asking, paymentOf(one))).toEqual({ kind: 'refused', reason: 'bad_signature' })
})

test('WeChat Pay v3: a signature that is wrong on purpose is no forgery and no answer', async () => {
  const one = first('wechatpay')
  const asking = world.client('wechatpay', one.merchant, await world.serve('probe'))
  expect(await ask(asking, paymentOf(one))).toEqual({ kind: 'try_later', reason: 'system_error' })
})

test('WeChat Pay v2: a refund that the list leaves out is asked about by its own number', async () => {
  const [one] = world.told('wechatpay-v2', 'refund')
  if (one === undefined) throw new Error('no refund')
  const count = world.asked.length
  await ask(client('wechatpay-v2', one.merchant), refundOf(one))
  expect(world.asked).toHaveLength(count + 1)
})

test('a merchant’s key opens no other merchant’s orders', async () => {
  for (const provider of QUERIED) {
    const one = first(provider)
    const other = one.merchant === 'shop' ? 'books' : 'shop'
    expect(await ask(client(provider, other), paymentOf(one)), provider).toEqual({ kind: 'not_found' })
  }
})
