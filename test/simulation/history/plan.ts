import type { Fact, FactKind } from '../../../src/orders/model.ts'
import type { VerifiedMessage } from '../../../src/providers/provider.ts'
import type { OrderBody } from '../../../src/orders/order-body.ts'
import type { Random } from '../world/random.ts'
import { BASE_MS } from '../world/scheduler.ts'

/** Everything that is going to be asked begins within it. */
export const BUSY_MS = 12_000

export type Action = { readonly atMs: number } & (
  | { readonly kind: 'create'; readonly body: OrderBody }
  /** A provider's callback, sent until it is accepted. */
  | { readonly kind: 'callback'; readonly merchant: string; readonly messages: readonly VerifiedMessage[] }
  /** A record that no gateway wrote. */
  | {
      readonly kind: 'raw'
      readonly key: string
      readonly message: VerifiedMessage | undefined
      readonly merchant: string
    }
  | { readonly kind: 'close'; readonly merchant: string; readonly outTradeNo: string; readonly key: string }
  /** Answers whatever anomaly is open then. */
  | { readonly kind: 'resolve'; readonly key: string; readonly actor: string }
  | {
      readonly kind: 'brake'
      readonly merchant: string
      readonly outTradeNo: string | null
      readonly eventType: string | null
    }
  | { readonly kind: 'release' }
)

export interface Plan {
  readonly partitions: number
  readonly processors: number
  readonly recordsMax: number
  readonly actions: readonly Action[]
}

/** Orders, what becomes of them, and what people do about them; from the seed alone. */
export function planHistory(random: Random): Plan {
  const actions: Action[] = []
  const soon = () => random.next() * BUSY_MS
  const orders = random.between(2, 7)
  const numbers: string[] = []
  for (let index = 0; index < orders; index++) {
    const order = planOrder(random, index)
    numbers.push(order.outTradeNo)
    const { merchant, outTradeNo } = order
    const bornMs = random.next() * 5_000
    if (random.chance(0.9)) {
      actions.push({ kind: 'create', atMs: bornMs, body: order })
      if (random.chance(0.2)) actions.push({ kind: 'create', atMs: soon(), body: order })
    }
    for (const fact of planFacts(random, order)) {
      const message = messageOf(outTradeNo, [fact])
      // Mostly in the order of things, often not, and more than once.
      const atMs = random.chance(0.7) ? bornMs + (fact.eventTimeMs - BASE_MS) : soon()
      const times = random.chance(0.4) ? random.between(2, 3) : 1
      for (let time = 0; time < times; time++)
        actions.push({ kind: 'callback', merchant, messages: [message], atMs: atMs + time * random.next() * 3_000 })
    }
    if (random.chance(0.15)) actions.push({ kind: 'close', merchant, outTradeNo, key: `close-${index}`, atMs: soon() })
  }
  if (random.chance(0.3)) actions.push(combined(random, numbers, soon()))
  for (let count = random.below(3); count > 0; count--) actions.push(odd(random, numbers, soon()))
  if (random.chance(0.04))
    for (let count = 0; count < 22; count++)
      actions.push({ kind: 'raw', key: 'flood', message: undefined, merchant: 'm1', atMs: soon() })
  for (let count = random.below(4); count > 0; count--)
    actions.push({ kind: 'resolve', key: `resolve-${count}`, actor: random.pick(['ann', 'bob']), atMs: 2_000 + soon() })
  if (random.chance(0.4)) actions.push(...brakes(random, numbers, soon))
  return {
    partitions: random.between(1, 3),
    processors: random.between(2, 3),
    recordsMax: random.pick([1, 3, 10]),
    actions: actions.sort((a, b) => a.atMs - b.atMs),
  }
}

function planOrder(random: Random, index: number): OrderBody {
  return {
    merchant: random.chance(0.8) ? 'm1' : 'm2',
    outTradeNo: `T${index}-${random.below(1_000)}`,
    amountMinor: 100,
    currency: 'CNY',
    expiresAtMs: BASE_MS + (random.chance(0.3) ? Math.floor(random.next() * BUSY_MS) : 1_000_000_000),
    groupKey: random.chance(0.3) ? 'g' : null,
    payload: random.chance(0.3) ? '{"sku":1}' : null,
  }
}

const messageOf = (outTradeNo: string | null, facts: readonly Fact[]): VerifiedMessage => ({
  ...{ outTradeNo, messageType: 'SUCCESS', messageId: `m-${outTradeNo}`, facts },
})

/** A life: usually a payment, then what comes after it; sometimes what should not. */
function planFacts(random: Random, { outTradeNo }: OrderBody): Fact[] {
  const facts: Fact[] = []
  let atMs = Math.floor(random.next() * 1_000)
  const add = (eventType: FactKind, ref: string, more: Partial<Fact> = {}) => {
    atMs += 1 + Math.floor(random.next() * 2_500)
    facts.push({
      ...{ eventType, providerRef: `p:${ref}-${outTradeNo}`, paymentRef: null, amountMinor: 0, currency: '' },
      ...{ amountKind: 'none' as const, eventTimeMs: BASE_MS + atMs, detail: null },
      ...more,
    })
  }
  const money = { amountMinor: 100, currency: 'CNY', amountKind: 'individual' as const }
  const paymentRef = `p:pay-${outTradeNo}`
  const refund = (ref: string, amountMinor: number) =>
    add('refund_succeeded', ref, {
      ...{ ...money, amountMinor, paymentRef },
      amountKind: random.chance(0.7) ? 'individual' : 'cumulative',
    })
  if (random.chance(0.1)) add('payment_failed', 'fail')
  if (random.chance(0.85)) add('payment_succeeded', 'pay', random.chance(0.08) ? { ...money, amountMinor: 90 } : money)
  if (random.chance(0.15)) add('payment_succeeded', 'pay2', money)
  if (random.chance(0.5)) add('shipment_completed', 'ship')
  if (random.chance(0.25)) refund('refund1', random.pick([30, 50, 100]))
  if (random.chance(0.15)) refund('refund2', random.pick([50, 70, 100]))
  if (random.chance(0.08))
    add('refund_succeeded', 'refund3', { ...money, amountMinor: 100, paymentRef: `p:pay2-${outTradeNo}` })
  if (random.chance(0.1)) add('provider_closed', 'closed')
  if (random.chance(0.1)) add('goods_returned', 'back')
  if (random.chance(0.06)) add('fulfillment_failed', 'out')
  if (random.chance(0.05)) add('disputed', 'dispute', { ...money, paymentRef })
  if (random.chance(0.05)) add('refund_failed', 'refund4', { ...money, paymentRef })
  if (random.chance(0.05)) add('payment_succeeded', 'pay', { ...money, amountMinor: 101 })
  if (random.chance(0.05)) add('payment_failed', 'poison', { detail: 'a\0b' })
  return facts
}

/** One callback that pays two orders: two records, all or no answer. */
function combined(random: Random, numbers: readonly string[], atMs: number): Action {
  const messages = [random.pick(numbers), random.pick(numbers)].map((outTradeNo) =>
    messageOf(outTradeNo, [
      {
        ...{ eventType: 'payment_succeeded', providerRef: `p:both-${outTradeNo}`, paymentRef: null, amountMinor: 100 },
        ...{ currency: 'CNY', amountKind: 'individual', eventTimeMs: BASE_MS + Math.floor(atMs), detail: null },
      },
    ]),
  )
  return { kind: 'callback', merchant: 'm1', messages, atMs }
}

/** A record that cannot be processed, or changes nothing. */
function odd(random: Random, numbers: readonly string[], atMs: number): Action {
  const outTradeNo = random.pick(numbers)
  const paid: Fact = {
    ...{ eventType: 'payment_succeeded', providerRef: `p:odd-${outTradeNo}`, paymentRef: null, amountMinor: 100 },
    ...{ currency: 'CNY', amountKind: 'individual', eventTimeMs: BASE_MS, detail: null },
  }
  return random.pick<() => Action>([
    () => ({ kind: 'raw', key: 'elsewhere', message: messageOf(outTradeNo, [paid]), merchant: 'm1', atMs }),
    () => ({ kind: 'raw', key: outTradeNo, message: undefined, merchant: 'm1', atMs }),
    () => ({ kind: 'callback', merchant: 'm1', messages: [messageOf(outTradeNo, [])], atMs }),
    () => ({ kind: 'callback', merchant: 'm1', messages: [messageOf(null, [])], atMs }),
    () => ({
      ...{ kind: 'callback', merchant: 'm1', atMs },
      messages: [{ ...messageOf(outTradeNo, []), instead: { kind: 'hint', ref: 'refund:1' } }],
    }),
  ])()
}

function brakes(random: Random, numbers: readonly string[], soon: () => number): Action[] {
  const scope = random.pick([
    { merchant: 'm1', outTradeNo: null, eventType: null },
    { merchant: 'm1', outTradeNo: random.pick(numbers), eventType: null },
    { merchant: 'm1', outTradeNo: null, eventType: 'ship' },
    { merchant: 'm2', outTradeNo: null, eventType: 'anomaly_opened' },
  ])
  const atMs = soon()
  const set: Action = { kind: 'brake', atMs, ...scope }
  const release: Action = { kind: 'release', atMs: atMs + 500 + soon() }
  return random.chance(0.3)
    ? [set, { ...set, merchant: 'm1', outTradeNo: null, eventType: 'deduct', atMs: soon() }, release]
    : [set, release]
}
