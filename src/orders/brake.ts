import { EVENT_KINDS } from './model.ts'

/** What a brake can name: events for workers, and notices, which are kept back only by name. */
export const BRAKE_EVENT_TYPES = [...EVENT_KINDS, 'anomaly_opened', 'anomaly_resolved', 'dead_letter'] as const
export type BrakeEventType = (typeof BRAKE_EVENT_TYPES)[number]

/** It matches what all its given parts match; an order is named with its merchant. */
export interface BrakeScope {
  readonly merchant: string | null
  readonly outTradeNo: string | null
  readonly eventType: BrakeEventType | null
}
/** The notice of a dead letter names no merchant: such a brake would keep nothing back, and nobody would be told. */
export const matchesNothing = ({ merchant, eventType }: BrakeScope): boolean =>
  merchant !== null && eventType === 'dead_letter'

export interface Brake extends BrakeScope {
  readonly id: number
}

/** What a brake looks at. `sequence` null: a notice. */
export interface Brakable {
  readonly orderId: number | null
  readonly merchant: string | null
  /** out_trade_no */
  readonly key: string
  readonly kind: string
  readonly sequence: number | null
}

/** The brakes that are set, indexed: matching costs the same however many there are. */
export interface Brakes {
  readonly isNone: boolean
  /** The oldest brake that matches. */
  readonly find: (event: Brakable) => number | undefined
}

export function createBrakes(set: readonly Brake[]): Brakes {
  const ids = new Map<string, number>()
  for (const { id, merchant, outTradeNo, eventType } of set) {
    const key = scopeKey(merchant, outTradeNo, eventType)
    ids.set(key, Math.min(id, ids.get(key) ?? id))
  }
  return {
    isNone: ids.size === 0,
    find: ({ merchant, key, kind, sequence }) => {
      let found: number | undefined
      const look = (...scope: Parameters<typeof scopeKey>) => {
        const id = ids.get(scopeKey(...scope))
        if (id !== undefined && (found === undefined || id < found)) found = id
      }
      look(null, null, kind)
      if (merchant === null) return found
      look(merchant, null, kind)
      look(merchant, key, kind)
      if (sequence === null) return found // A notice waits only for a brake that names it.
      look(merchant, null, null)
      look(merchant, key, null)
      return found
    },
  }
}

export const NO_BRAKES = createBrakes([])

const scopeKey = (merchant: string | null, outTradeNo: string | null, eventType: string | null) =>
  `${merchant ?? ''}\0${outTradeNo ?? ''}\0${eventType ?? ''}`

export interface KeptBack<E> {
  /** To be numbered now, in order. */
  readonly go: readonly E[]
  readonly wait: readonly { readonly event: E; readonly brakeId: number }[]
}

/** The events of an order go out one after another, and so do its notices; a dead letter's notice is alone. */
export const queueOf = ({ orderId, sequence }: Pick<Brakable, 'orderId' | 'sequence'>) =>
  orderId === null ? undefined : `${orderId}/${sequence === null ? 'notice' : 'event'}`

/**
 * Parts what goes out from what waits: an event that a brake matches, and whatever comes after one that waits in the
 * queue of its order, so that an order's events never overtake one another.
 * @param events in the order in which they were decided, or wait
 * @param behind the brake that something before the event waits for already; undefined: nothing does
 */
export function keepBack<E extends Brakable>(
  events: readonly E[],
  brakes: Brakes,
  behind: (event: E) => number | undefined,
): KeptBack<E> {
  const go: E[] = []
  const wait: { event: E; brakeId: number }[] = []
  const waiting = new Map<string, number>()
  for (const event of events) {
    const queue = queueOf(event)
    const before = queue === undefined ? undefined : (waiting.get(queue) ?? behind(event))
    const brakeId = brakes.find(event) ?? before
    if (brakeId === undefined) {
      go.push(event)
      continue
    }
    if (queue !== undefined) waiting.set(queue, brakeId)
    wait.push({ event, brakeId })
  }
  return { go, wait }
}
