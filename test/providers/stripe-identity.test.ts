import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { factCause } from '../../src/orders/identity.ts'
import type { Fact } from '../../src/orders/model.ts'
import {
  factsOfCharge,
  factsOfDispute,
  factsOfPaymentIntent,
  factsOfRefund,
} from '../../src/providers/stripe/facts-of-query.ts'
import { SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { printedRandom } from '../helpers/seed.ts'
import { AMOUNT, fact } from '../orders/build.ts'
import { Shop, type Step } from '../orders/shop.ts'
import { charge, dispute, failedIntent, factsOf, intent, NOW, PAID_AT, refund, seconds } from './stripe-subject.ts'

const { seed } = printedRandom('stripe identity')

const known = (facts: readonly Fact[] | string): readonly Fact[] => {
  if (typeof facts !== 'string') return facts
  throw new Error(`malformed: ${facts}`)
}
/** What must be equal wherever a fact is learnt from: its time and its wording are not. */
const identities = (facts: readonly Fact[] | string) =>
  known(facts).map((one) => [factCause(one), one.paymentRef, one.amountMinor, one.currency, one.amountKind])

describe('one fact, wherever it is learnt', () => {
  test('a payment is the same in an event and a query, whose charge knows when it was paid', () => {
    const paid = identities(factsOf('payment_intent.succeeded', intent))
    expect(paid).toEqual([['payment_succeeded/stripe:pi_3Synthetic00000000001', null, 8_800, 'USD', 'none']])
    expect(identities(factsOfPaymentIntent(intent, NOW))).toEqual(paid)
    expect(known(factsOfPaymentIntent(intent, NOW))[0]?.eventTimeMs).toBe(NOW.getTime())
    const expanded = factsOfPaymentIntent({ ...intent, latest_charge: charge }, NOW)
    expect(identities(expanded)).toEqual(paid)
    expect(known(expanded)[0]?.eventTimeMs).toBe(charge.created * 1_000)
  })

  test('every failed attempt of an intent is one fact, whatever its amount was', () => {
    const first = identities(factsOf('payment_intent.payment_failed', failedIntent))
    const second = { ...failedIntent, amount: 9_900, last_payment_error: { code: 'expired_card' } }
    expect(identities(factsOf('payment_intent.payment_failed', second, { id: 'evt_2' }))).toEqual(first)
    expect(identities(factsOfPaymentIntent(failedIntent, NOW))).toEqual(first)
  })

  test('a refund is the same when it is created, changed, asked for, and in a list of them', () => {
    const one = identities(factsOf('refund.created', refund))
    for (const type of ['refund.updated', 'charge.refund.updated'])
      expect(identities(factsOf(type, refund))).toEqual(one)
    expect(factsOfRefund(refund, NOW)).toEqual(factsOf('refund.created', refund))
    const expanded = { ...refund, payment_intent: intent, charge }
    expect(factsOfRefund(expanded, NOW)).toEqual(factsOfRefund(refund, NOW))
    const failed = { ...refund, status: 'failed' }
    expect(identities(factsOf('refund.failed', failed))).toEqual(identities(factsOfRefund(failed, NOW)))
  })

  test('a total and a dispute are the same in an event and a query', () => {
    expect(identities(factsOfCharge(charge, NOW))).toEqual(identities(factsOf('charge.refunded', charge)))
    expect(factsOfDispute(dispute)).toEqual(factsOf('charge.dispute.created', dispute))
  })

  test('no two different facts share an identity', () => {
    const different = [
      ...factsOf('payment_intent.succeeded', intent),
      ...factsOf('payment_intent.succeeded', { ...intent, id: 'pi_2' }),
      ...factsOf('payment_intent.payment_failed', failedIntent),
      ...factsOf('refund.created', refund),
      ...factsOf('refund.created', { ...refund, id: 're_2' }),
      ...factsOf('refund.failed', { ...refund, status: 'failed' }),
      ...factsOf('charge.refunded', charge),
      ...factsOf('charge.refunded', { ...charge, amount_refunded: 2_000 }),
      ...factsOf('charge.refunded', { ...charge, id: 'ch_2' }),
      ...factsOf('charge.dispute.created', dispute),
      ...factsOf('charge.dispute.created', { ...dispute, id: 'dp_2' }),
    ]
    expect(different).toHaveLength(11)
    expect(new Set(different.map(factCause)).size).toBe(different.length)
  })
})

describe('answers of queries', () => {
  test.for([
    ['an intent that nobody has paid', factsOfPaymentIntent({ ...intent, status: 'processing' }, NOW)],
    ['one that was only just made', factsOfPaymentIntent({ ...failedIntent, last_payment_error: null }, NOW)],
    ['a refund that is under way', factsOfRefund({ ...refund, status: 'pending' }, NOW)],
    ['a charge of which nothing was refunded', factsOfCharge({ ...charge, amount_refunded: 0 }, NOW)],
    ['a dispute about a bare charge', factsOfDispute({ ...dispute, payment_intent: null })],
  ] as const)('%s states nothing', ([, facts]) => expect(facts).toEqual([]))

  test.for([
    ['object', factsOfPaymentIntent({ error: { code: 'resource_missing' } }, NOW)],
    ['object', factsOfPaymentIntent(undefined, NOW)],
    ['object', factsOfRefund(charge, NOW)],
    ['object', factsOfCharge('ch_1', NOW)],
    ['object', factsOfDispute([])],
    ['amount_received', factsOfPaymentIntent({ ...intent, amount_received: 0.5 }, NOW)],
    ['created', factsOfRefund({ ...refund, created: null }, NOW)],
    ['amount_refunded', factsOfCharge({ ...charge, amount_refunded: undefined }, NOW)],
  ] as const)('%s that is not as documented is named', ([field, facts]) => expect(facts).toBe(field))
})

const CREATE: Step = { kind: 'create', orderId: 1 }
const PAID_SEC = seconds(PAID_AT)
/** Two refunds of one payment of `AMOUNT`; the second is pending for a day. */
function story(second: number) {
  const cny = { currency: 'cny' }
  const total = { ...charge, ...cny, amount: AMOUNT, amount_captured: AMOUNT }
  const [first, later] = [PAID_SEC + 100, PAID_SEC + 200]
  const one = { ...refund, ...cny, created: first }
  const two = { ...refund, ...cny, id: 're_2', amount: second, created: later }
  const both = { ...total, amount_refunded: 1_000 + second }
  const answered = new Date((later + 86_500) * 1_000)
  return {
    paid: factsOf('payment_intent.succeeded', { ...intent, ...cny, amount_received: AMOUNT }),
    individual: [
      factsOf('refund.created', one, { created: first }),
      factsOf('refund.updated', two, { created: later + 86_400 }),
    ],
    cumulative: [
      factsOf('charge.refunded', { ...total, amount_refunded: 1_000 }, { created: first }),
      factsOf('charge.refunded', both, { created: later }),
    ],
    queried: [
      known(factsOfPaymentIntent({ ...intent, ...cny, amount_received: AMOUNT, latest_charge: both }, answered)),
      ...[one, two].map((refunded) => known(factsOfRefund(refunded, answered))),
      known(factsOfCharge(both, answered)),
    ],
  }
}
const played = (facts: readonly Fact[]) => new Shop([1]).play([CREATE, ...facts.map((one) => fact(one))])
/** The money that the events to one topic give back. */
const toldMinor = ({ events }: Shop) =>
  events
    .filter(({ kind, topic }) => topic === SHIPMENT_TOPIC && (kind === 'refund' || kind === 'cancel'))
    .reduce((sum, { amountMinor }) => sum + (amountMinor ?? 0), 0)

describe('refunds in both measures', () => {
  test.for([
    ['in part', 3_000, 4_000, 'paid'],
    ['in full', AMOUNT - 1_000, AMOUNT, 'refunded'],
  ] as const)(
    'two refunds %s: one total and no anomaly, in whatever order they become known',
    ([, second, total, status]) => {
      const { paid, individual, cumulative, queried } = story(second)
      const messages = [paid, ...individual, ...cumulative, ...queried]
      fc.assert(
        fc.property(
          fc.shuffledSubarray(messages, { minLength: messages.length }),
          fc.array(fc.constantFrom(...messages), { maxLength: 4 }),
          (once, again) => {
            const shop = played([...once, ...again].flat())
            expect(shop.final(1)).toMatchObject({ order: { status }, anomalies: [], held: [] })
            // What a payment that nobody had heard of was refunded in full is told by no event: nothing was shipped.
            if (status === 'paid') expect(toldMinor(shop)).toBe(total)
            else expect(toldMinor(shop)).toBeLessThanOrEqual(total)
          },
        ),
        { seed, numRuns: 300 },
      )
    },
  )

  test('each of its tellings alone gives the same total', () => {
    const { paid, individual, cumulative, queried } = story(3_000)
    for (const facts of [
      individual,
      cumulative,
      cumulative.slice(1),
      [...cumulative.slice(0, 1), ...individual.slice(1)],
      queried.slice(3),
    ]) {
      const shop = played([...paid, ...facts.flat()])
      expect(shop.events.filter(({ kind }) => kind === 'refund').at(-1)?.attrs).toBe('{"refundedMinor":4000}')
    }
  })

  test('a figure is not earlier than a refund in it, although that one succeeds a day later', () => {
    const { individual, cumulative } = story(3_000)
    const times = (facts: readonly (readonly Fact[])[]) => facts.flat().map(({ eventTimeMs }) => eventTimeMs)
    expect(times(individual)).toEqual([PAID_SEC + 100, PAID_SEC + 200].map((sec) => sec * 1_000))
    expect(times(cumulative)).toEqual(times(individual))
  })
})
