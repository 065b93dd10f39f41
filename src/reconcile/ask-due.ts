import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { QueryClients } from '../providers/query.ts'
import { describeError, type Log } from '../runtime/log.ts'
import { leaseQueries, type LeasedQuery } from '../store/lease-queries.ts'
import { notifyAsked } from '../store/notify.ts'
import { settleQuery } from '../store/settle-query.ts'
import { answerQuery, type AnswerDeps } from './answer-query.ts'
import type { QueryMetrics } from './metrics.ts'

export interface AskerDeps extends AnswerDeps {
  readonly pool: pg.Pool
  readonly appId: string
  readonly clients: () => QueryClients
  /** Longer than asking and publishing may take. */
  readonly leaseMs: number
  /** How soon it is seen what nobody told of. */
  readonly lookMs: number
  /** Of a merchant: each asks each of its providers once. */
  readonly perMerchantMax: number
  readonly inFlightMax: number
  readonly log: Log
  readonly metrics: QueryMetrics
}

export interface Asker {
  /** Something is due: look at once. */
  readonly wake: () => void
  readonly sinceLookMs: () => number
  /** Ends what is being asked, and waits for it. */
  readonly close: () => Promise<void>
}

/** Whoever wants to know at once waits for so long at most. */
const HEARD_MS = 10_000

/**
 * Asks what is due, for ever: leases as much as there is room for, and no more, so that a lease never waits here and a
 * merchant whose provider is slow takes only its own room. Trouble with Postgres or Kafka leaves the lease to end.
 */
export function startAsker(deps: AskerDeps): Asker {
  const { pool, clock, log, metrics, reach } = deps
  const stopping = new AbortController()
  const inFlight = new Map<string, number>()
  const asking = new Set<Promise<void>>()
  let nudge = new AbortController()
  let isMore = false
  let isWishesTurn = false
  let lookedMs = clock.elapsedMs()

  const rooms = () => {
    let rest = deps.inFlightMax - asking.size
    const found = new Map<string, number>()
    // Each time another one is first, so that where all room is taken nobody is always last.
    for (const merchant of rotated([...deps.clients().keys()])) {
      const room = Math.min(rest, deps.perMerchantMax - (inFlight.get(merchant) ?? 0))
      if (room <= 0) continue
      found.set(merchant, room)
      rest -= room
    }
    return found
  }
  const count = (merchant: string, by: 1 | -1) => {
    inFlight.set(merchant, (inFlight.get(merchant) ?? 0) + by)
    metrics.inFlight.set(asking.size)
  }

  const answer = async (query: LeasedQuery) => {
    const { settlement, gaveUp = false } = await answerQuery(
      query,
      deps.clients().get(query.merchant) ?? new Map(),
      stopping.signal,
      deps,
    )
    if (await settleQuery(pool, query, settlement)) nudge.abort()
    metrics.settled.inc({ outcome: gaveUp ? 'given_up' : settlement.kind })
    if (gaveUp)
      log.warn(
        { order: query.order?.outTradeNo, merchant: query.merchant, ref: query.ref },
        'no provider answered: given up',
      )
    await reach('query_settled')
    if (query.order !== undefined && (query.refreshedAtMs ?? 0) > clock.now().getTime() - HEARD_MS)
      await notifyAsked(pool, deps.appId, query.order.id)
  }
  const begin = (query: LeasedQuery) => {
    const work = answer(query)
      .catch((error: unknown) => {
        metrics.errors.inc({ step: 'settle' })
        log.warn({ error: describeError(error), merchant: query.merchant }, 'a question is left to its lease')
      })
      .finally(() => {
        asking.delete(work)
        count(query.merchant, -1)
        if (isMore) nudge.abort()
      })
    asking.add(work)
    count(query.merchant, 1)
  }

  const look = async () => {
    const room = rooms()
    lookedMs = clock.elapsedMs()
    if (room.size === 0) return (isMore = true)
    isWishesTurn = !isWishesTurn
    const at = { nowMs: clock.now().getTime(), leaseMs: deps.leaseMs, isWishesTurn }
    const leased = await leaseQueries(pool, room, at)
    if (leased.length > 0) await reach('query_leased')
    const taken = Map.groupBy(leased, ({ merchant }) => merchant)
    isMore = [...room].some(([merchant, rows]) => (taken.get(merchant)?.length ?? 0) >= rows)
    for (const query of leased) begin(query)
    return isMore
  }
  const loop = async () => {
    while (!stopping.signal.aborted) {
      const { signal } = nudge
      await look().catch((error: unknown) => {
        metrics.errors.inc({ step: 'lease' })
        log.warn({ error: describeError(error) }, 'cannot look for what is due')
      })
      await delay(deps.lookMs * (0.75 + Math.random() / 2), undefined, { signal, ref: false }).catch(() => undefined)
      if (nudge.signal.aborted) nudge = new AbortController()
    }
  }
  const running = loop()

  return {
    wake: () => nudge.abort(),
    sinceLookMs: () => clock.elapsedMs() - lookedMs,
    close: async () => {
      stopping.abort()
      nudge.abort()
      await running
      await Promise.all(asking)
    },
  }
}

let turn = 0
function rotated<T>(items: readonly T[]): T[] {
  const from = items.length === 0 ? 0 : turn++ % items.length
  return [...items.slice(from), ...items.slice(0, from)]
}
