import { decideBatch } from '../../src/orders/decide-batch.ts'
import type { Decision, Item, KnownAnomaly, NewEvent, OrderView, Outcome } from '../../src/orders/decision.ts'
import { factCause } from '../../src/orders/identity.ts'
import type { Group, Order, StoredFact } from '../../src/orders/model.ts'
import { AMOUNT, EXPIRES_MS, OPTIONS } from './build.ts'

/** What the processor meets: an item, or the api creating an order between two batches. */
export type Step = Item | { readonly kind: 'create'; readonly orderId: number }

/** What names a row that somebody saw (an anomaly, a timer), so that it was there before the batch; or makes one. */
const NEEDS_ROWS: ReadonlySet<Step['kind']> = new Set(['create', 'resolve', 'held_limit'])

/** What orders of a running system are called, and when they expire. */
export interface RealTerms {
  readonly nameOf?: (orderId: number) => string
  readonly expiresAtMsOf?: (orderId: number) => number
}

interface Row {
  order: Order
  readonly facts: Map<string, StoredFact>
  readonly anomalies: Map<string, KnownAnomaly>
  readonly timers: Set<string>
}

/**
 * A store without a database: it reads views, applies decisions, and throws where a decision does not fit what is
 * stored. What it hands out is frozen, so a decision that changes it throws, too.
 */
export class Shop {
  readonly rows = new Map<number, Row>()
  readonly groups = new Map<string, Group>()
  readonly events: NewEvent[] = []
  readonly outcomes: Outcome[] = []
  private readonly eventIds = new Set<string>()
  private anomalyCount = 0

  private readonly expiresAtMsOf: (orderId: number) => number

  constructor(
    orderIds: readonly number[],
    groupOf: (orderId: number) => string | null = () => null,
    real: RealTerms = {},
  ) {
    this.expiresAtMsOf = real.expiresAtMsOf ?? (() => EXPIRES_MS)
    for (const id of orderIds) {
      const order = stub(id, groupOf(id), real.nameOf?.(id) ?? `A-${id}`)
      this.rows.set(id, { order, facts: new Map(), anomalies: new Map(), timers: new Set() })
    }
  }

  /** Runs the steps in batches that end before each index of `cuts`, and around each create. */
  play(steps: readonly Step[], cuts: ReadonlySet<number> = new Set()): this {
    let batch: Item[] = []
    const flush = () => {
      if (batch.length > 0) this.run(batch)
      batch = []
    }
    for (const [index, step] of steps.entries()) {
      if (cuts.has(index) || NEEDS_ROWS.has(step.kind)) flush()
      if (step.kind === 'create') this.create(step.orderId)
      // The api leaves a wake item with every create.
      batch.push(step.kind === 'create' ? { kind: 'release', orderId: step.orderId } : step)
    }
    flush()
    return this
  }

  run(items: readonly Item[]): Decision {
    const ids = new Set(items.map(({ orderId }) => orderId))
    const views = new Map([...ids].map((id) => [id, this.view(id)]))
    const decision = decideBatch(views, resolvable(items, views), OPTIONS)
    this.apply(decision, items.length)
    return decision
  }

  row(orderId: number): Row {
    return must(this.rows.get(orderId), `order ${orderId}`)
  }

  private create(orderId: number) {
    const row = this.row(orderId)
    if (row.order.status !== 'awaited') return
    row.order = {
      ...row.order,
      status: 'pending',
      amountMinor: AMOUNT,
      currency: 'CNY',
      expiresAtMs: this.expiresAtMsOf(orderId),
    }
    row.timers.add('expiry:')
  }

  private view(orderId: number): OrderView {
    const { order, facts, anomalies } = this.row(orderId)
    const group = order.groupKey === null ? null : (this.groups.get(order.groupKey) ?? null)
    return deepFreeze(structuredClone({ order, facts: [...facts.values()], anomalies: [...anomalies.values()], group }))
  }

  private apply(decision: Decision, itemCount: number) {
    ensure(decision.outcomes.length === itemCount, 'one outcome per item')
    this.outcomes.push(...decision.outcomes)
    for (const order of decision.orders) {
      const row = this.row(order.id)
      ensure(order.version > row.order.version, 'a changed order has a higher version')
      row.order = order
    }
    for (const { orderId, fact } of decision.newFacts) add(this.row(orderId).facts, factCause(fact), fact)
    for (const { orderId, outcome, ...identity } of decision.changedFacts) {
      const { facts } = this.row(orderId)
      const known = must(facts.get(factCause(identity)), 'a changed fact is stored')
      ensure(known.outcome === 'held' && outcome !== 'held', 'only held facts change')
      facts.set(factCause(identity), { ...known, outcome })
    }
    for (const { orderId, kind, cause, resolution } of decision.openedAnomalies)
      add(this.row(orderId).anomalies, `${kind}:${cause}`, {
        ...{ id: ++this.anomalyCount, kind, cause, resolution },
        ...{ owner: null, resolvedBy: null },
      })
    for (const { id, orderId, kind, cause, resolution, by } of decision.resolvedAnomalies) {
      const { anomalies } = this.row(orderId)
      const known = must(anomalies.get(`${kind}:${cause}`), 'a resolved anomaly is stored')
      ensure(known.id === id && known.resolution === null, 'only open anomalies are resolved')
      anomalies.set(`${kind}:${cause}`, { ...known, resolution, resolvedBy: by })
    }
    for (const group of decision.groups) this.groups.set(group.groupKey, group)
    // Done first: the writer may do them in either order, as nothing is in both lists.
    for (const { orderId, kind, ref } of decision.doneTimers) this.row(orderId).timers.delete(`${kind}:${ref}`)
    for (const { orderId, kind, ref } of decision.newTimers) {
      const { timers } = this.row(orderId)
      ensure(!timers.has(`${kind}:${ref}`), 'a timer is new')
      timers.add(`${kind}:${ref}`)
    }
    for (const event of decision.events) {
      ensure(!this.eventIds.has(event.eventId), `no event id twice: ${event.kind} of ${event.cause}`)
      this.eventIds.add(event.eventId)
      this.events.push(event)
    }
    for (const { order, facts } of this.rows.values()) {
      const held = [...facts.values()].filter(({ outcome }) => outcome === 'held').length
      ensure(held === order.heldCount, 'the held facts are counted')
    }
    for (const [orderId, { order }] of this.rows) {
      const sequences = this.events.flatMap((event) => (event.orderId === orderId ? (event.sequence ?? []) : []))
      ensure(
        sequences.every((sequence, index) => sequence === index + 1),
        'sequences count 1, 2, 3…',
      )
      ensure(sequences.length === order.sequence, 'the order has the number of its last event')
    }
  }

  /** Everything that must not depend on where batches were cut. */
  everything() {
    const rows = [...this.rows].map(([id, row]) => ({
      id,
      order: row.order,
      facts: sorted(row.facts),
      anomalies: sorted(row.anomalies).map(({ kind, cause, resolution }) => [kind, cause, resolution]),
      timers: [...row.timers].sort(),
      events: this.events.filter(({ orderId }) => orderId === id),
    }))
    return { rows, groups: sorted(this.groups) }
  }

  /** What must not depend on arrival order: the order (without its counters), its anomalies, what is held. */
  final(orderId: number) {
    const { order, facts, anomalies } = this.row(orderId)
    return {
      order: { ...order, version: 0, sequence: 0 },
      anomalies: sorted(anomalies).map(({ kind, cause, resolution }) => `${kind}:${cause}: ${resolution ?? 'open'}`),
      held: sorted(facts).flatMap((fact) => (fact.outcome === 'held' ? [factCause(fact)] : [])),
    }
  }
}

const stub = (id: number, groupKey: string | null, outTradeNo: string): Order => ({
  id,
  merchant: 'shop',
  outTradeNo,
  status: 'awaited',
  amountMinor: null,
  currency: null,
  groupKey,
  acceptedRef: null,
  paidAtMs: null,
  closedBy: null,
  closedAtMs: null,
  expiresAtMs: null,
  version: 0,
  heldCount: 0,
  sequence: 0,
})

/** A test cannot know ids: a negative one means "the first open anomaly of the order". */
function resolvable(items: readonly Item[], views: ReadonlyMap<number, OrderView>): Item[] {
  return items.map((item) => {
    if (item.kind !== 'resolve' || item.anomalyId >= 0) return item
    const open = views.get(item.orderId)?.anomalies.filter(({ resolution }) => resolution === null) ?? []
    const [first] = open.toSorted((a, b) => (a.cause < b.cause ? -1 : 1))
    return { ...item, anomalyId: first?.id ?? 0 }
  })
}

const sorted = <T>(map: ReadonlyMap<string, T>): T[] =>
  [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)

function add<T>(map: Map<string, T>, key: string, value: T) {
  ensure(!map.has(key), `${key} is new`)
  map.set(key, value)
}

function ensure(holds: boolean, law: string) {
  if (!holds) throw new Error(`Broken: ${law}.`)
}

function must<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`Missing: ${what}.`)
  return value
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze)
    Object.freeze(value)
  }
  return value
}
