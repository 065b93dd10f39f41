import type { Fact } from '../../../src/orders/model.ts'
import type { OrderBody } from '../../../src/orders/order-body.ts'
import type { LaneRecord } from '../../../src/processor/lane-types.ts'
import { aDeadLetter, aFact, anOrder, aRecord } from '../../helpers/lane-bench.ts'
import { createRandom, type Random } from '../world/random.ts'

export type Command =
  | { readonly kind: 'create'; readonly bodies: readonly OrderBody[] }
  | { readonly kind: 'batch'; readonly lane: number; readonly records: readonly LaneRecord[]; readonly again: boolean }
  /** Orders and lanes' rows, one after another, in one transaction, in an order that nobody of the product takes. */
  | { readonly kind: 'lock'; readonly rows: readonly (string | number)[] }
  | { readonly kind: 'wake'; readonly lane: number; readonly nowMs: number }
  | { readonly kind: 'close'; readonly outTradeNo: string; readonly key: string }
  | { readonly kind: 'brake'; readonly eventType: 'ship' | 'anomaly_opened' | null; readonly outTradeNo: string | null }
  | { readonly kind: 'release'; readonly id: number }
  | { readonly kind: 'finish_brakes' }
  | { readonly kind: 'fence'; readonly lane: number; readonly isOwn: boolean }
  | { readonly kind: 'halt' | 'resume'; readonly lane: number }
  | { readonly kind: 'alone'; readonly lane: number; readonly offset: number; readonly isTakenBack: boolean }
  | { readonly kind: 'outlive'; readonly lane: number; readonly incarnation: number; readonly offset: number | null }

export const LANES = 2
export const START_MS = 1_790_000_000_000

export interface PlanOptions {
  readonly count?: number
  /** Of orders: the fewer there are, the more often somebody waits. */
  readonly numbers?: number
  /** Whose commands: everybody's, the owner's of one lane, or those that come from outside of the lanes. */
  readonly of?: 'all' | 'api' | { readonly lane: number }
}

/** A random life of a database; the same for both sides. */
export function planCommands(seed: number, options: PlanOptions = {}): Command[] {
  const { count = 120, of = 'all' } = options
  const random = createRandom(seed)
  const numbers = Array.from({ length: options.numbers ?? 8 }, (_, index) => `T${index}`)
  const anyLane = () => (typeof of === 'object' ? of.lane : random.below(LANES))
  const laneOf = (outTradeNo: string) => Number(outTradeNo.slice(1)) % LANES
  const offsets = [0, 0]
  const bodyOf = (outTradeNo: string): OrderBody =>
    anOrder(outTradeNo, {
      expiresAtMs: START_MS + random.below(100) * 1_000,
      groupKey: random.chance(0.4) ? 'g' : null,
      payload: random.chance(0.3) ? '{"sku":1}' : null,
    })
  const batch = (): Command => {
    const lane = anyLane()
    const mine = numbers.filter((number) => laneOf(number) === lane)
    const records = Array.from({ length: random.between(1, 4) }, () => {
      const offset = (offsets[lane] ?? 0) + random.below(2)
      offsets[lane] = offset + 1
      if (random.chance(0.08)) return aDeadLetter(offset)
      const number = random.pick(mine)
      return aRecord(offset, number, [factOf(random, number)])
    })
    return { kind: 'batch', lane, records, again: random.chance(0.2) }
  }
  const ofLanes: readonly (() => Command)[] = [
    ...Array.from({ length: 6 }, () => batch),
    () => ({ kind: 'wake', lane: anyLane(), nowMs: START_MS + random.below(200) * 1_000 }),
    () => ({ kind: 'wake', lane: anyLane(), nowMs: START_MS + random.below(200) * 1_000 }),
    () => ({ kind: 'fence', lane: anyLane(), isOwn: random.chance(0.6) }),
    () => ({
      ...{ kind: 'alone', lane: anyLane(), offset: random.below(3), isTakenBack: random.chance(0.5) },
    }),
    () => ({
      ...{ kind: 'outlive', lane: anyLane(), incarnation: random.below(8), offset: random.pick([null, 0, 1]) },
    }),
    ...(random.chance(0.5) ? [(): Command => ({ kind: 'halt', lane: anyLane() })] : []),
  ]
  const fromOutside: readonly (() => Command)[] = [
    () => ({ kind: 'create', bodies: [random.pick(numbers)].map(bodyOf) }),
    () => ({ kind: 'create', bodies: random.shuffle(numbers).slice(0, 2).map(bodyOf) }),
    () => ({ kind: 'close', outTradeNo: random.pick(numbers), key: `k${random.below(20)}` }),
    () => ({
      ...{ kind: 'brake', eventType: random.pick(['ship', 'anomaly_opened', null] as const) },
      outTradeNo: random.chance(0.5) ? random.pick(numbers) : null,
    }),
    () => ({ kind: 'release', id: random.between(1, 5) }),
    () => ({ kind: 'finish_brakes' }),
    () => ({ kind: 'resume', lane: random.below(LANES) }),
  ]
  const makers = typeof of === 'object' ? ofLanes : of === 'api' ? fromOutside : [...ofLanes, ...fromOutside]
  return Array.from({ length: count }, () => random.pick(makers)())
}

function factOf(random: Random, number: string): Fact {
  const ref = `${number}-${random.below(3)}`
  const atMs = START_MS + random.below(1_000)
  const detail = random.chance(0.04) ? 'a\0b' : null
  return random.pick<() => Fact>([
    () => aFact(ref, { eventTimeMs: atMs, detail, amountMinor: random.chance(0.1) ? 90 : 100 }),
    () => aFact(ref, { eventTimeMs: atMs }),
    () => aFact(`ship-${ref}`, { eventType: 'shipment_completed', amountMinor: 0, amountKind: 'none', currency: '' }),
    () =>
      aFact(`refund-${ref}`, {
        ...{ eventType: 'refund_succeeded', paymentRef: `wechatpay:${ref}`, eventTimeMs: atMs },
        amountMinor: random.pick([40, 100]),
      }),
    () => aFact(`closed-${ref}`, { eventType: 'provider_closed', amountMinor: 0, amountKind: 'none', currency: '' }),
  ])()
}
