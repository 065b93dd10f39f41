import fc from 'fast-check'
import { RESOLUTIONS, type Fact, type FactKind } from '../../src/orders/model.ts'
import { aFact, AMOUNT, aPayment, aRefund, EXPIRES_MS, fact } from './build.ts'
import type { Step } from './shop.ts'

/** Few references and few moments, so that facts meet: two good payments, one of a wrong amount, one never seen. */
const PAYMENTS = ['p1', 'p2', 'wrong'] as const
const paymentRef = fc.constantFrom(...PAYMENTS, 'never-seen')
const eventTimeMs = fc.integer({ min: 0, max: 4 }).map((n) => EXPIRES_MS - 2 + n)

const payment = fc.tuple(fc.constantFrom(...PAYMENTS), eventTimeMs).map(([ref, at]) => {
  const isWrong = ref === 'wrong'
  return aPayment(ref, { eventTimeMs: at, amountMinor: isWrong ? 7_000 : AMOUNT })
})
const refund = fc
  .record({
    paymentRef,
    n: fc.integer({ min: 0, max: 3 }),
    share: fc.constantFrom(0.2, 0.3, 0.5, 0.7, 1),
    amountKind: fc.constantFrom('individual', 'individual', 'cumulative'),
    eventTimeMs,
  })
  .map(({ paymentRef: of, n, share, amountKind, eventTimeMs: at }) =>
    aRefund(of, share * (of === 'wrong' ? 7_000 : AMOUNT), {
      // One identity, one content: what contradicts itself is another test's.
      providerRef: `r-${of}-${n}-${share}-${amountKind}-${at - EXPIRES_MS}`,
      amountKind: amountKind,
      eventTimeMs: at,
    }),
  )
const other = (...kinds: readonly FactKind[]) =>
  fc
    .tuple(fc.constantFrom(...kinds), fc.integer({ min: 0, max: 1 }), paymentRef, eventTimeMs)
    .map(([kind, n, of, at]) => aFact(kind, { providerRef: `${kind}:${n}`, paymentRef: of, eventTimeMs: at }))

/** What a provider can say about one order. */
export const providerFact: fc.Arbitrary<Fact> = fc.oneof(
  { weight: 4, arbitrary: payment },
  { weight: 5, arbitrary: refund },
  { weight: 2, arbitrary: other('payment_failed', 'refund_failed', 'disputed') },
  { weight: 1, arbitrary: other('provider_closed') },
  { weight: 1, arbitrary: other('bill_differs') },
)
/** What a worker can report. */
export const workerFact = other('shipment_completed', 'fulfillment_failed', 'goods_returned')
/** The same identity with another content. */
const contradiction = payment.map((one) => ({ ...one, amountMinor: one.amountMinor - 1 }))

/** Anything that can happen to one of these orders, in any order. */
export const step = (orderIds: readonly number[]): fc.Arbitrary<Step> =>
  fc
    .tuple(
      fc.constantFrom(...orderIds),
      fc.oneof(
        { weight: 12, arbitrary: providerFact.map((of): Step => fact(of)) },
        { weight: 3, arbitrary: workerFact.map((of): Step => fact(of)) },
        { weight: 1, arbitrary: contradiction.map((of): Step => fact(of)) },
        { weight: 3, arbitrary: fc.constant<Step>({ kind: 'create', orderId: 0 }) },
        { weight: 1, arbitrary: fc.constant<Step>({ kind: 'release', orderId: 0 }) },
        { weight: 1, arbitrary: fc.constant<Step>({ kind: 'close', orderId: 0, commandId: 1 }) },
        { weight: 1, arbitrary: fc.constant<Step>({ kind: 'expire', orderId: 0, timerId: 1 }) },
        { weight: 1, arbitrary: refund.map(({ providerRef }): Step => heldLimit(`refund_succeeded/${providerRef}`)) },
        { weight: 1, arbitrary: payment.map(({ providerRef }): Step => heldLimit(`payment_succeeded/${providerRef}`)) },
        { weight: 2, arbitrary: fc.constantFrom(...RESOLUTIONS).map(resolveFirst) },
      ),
    )
    .map(([orderId, one]) => ({ ...one, orderId }))

const heldLimit = (ref: string): Step => ({ kind: 'held_limit', orderId: 0, timerId: 1, ref })
const resolveFirst = (resolution: (typeof RESOLUTIONS)[number]): Step => ({
  kind: 'resolve',
  orderId: 0,
  commandId: 1,
  anomalyId: -1,
  resolution,
  reason: 'because',
  actor: 'ann',
})
