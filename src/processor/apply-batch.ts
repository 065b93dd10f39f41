import type { Brakes } from '../orders/brake.ts'
import { decideBatch } from '../orders/decide-batch.ts'
import type { Decision } from '../orders/decision.ts'
import { factCause } from '../orders/identity.ts'
import { RolledBack, type Transaction } from '../runtime/postgres.ts'
import { countsAsFlood, FLOOD_MAX } from '../store/dead-letter.ts'
import { findFacts } from '../store/find-facts.ts'
import { keepDeadLetters } from '../store/keep-dead-letters.ts'
import { openQueries } from '../store/open-queries.ts'
import { lockOrders } from '../store/lock-orders.ts'
import { readViews, type Views } from '../store/read-views.ts'
import { arrivalsOf, soughtOf, type Arrival, type Arrivals } from './arrivals.ts'
import { brakesOf } from './brakes-of.ts'
import type { Reach } from './crash-points.ts'
import { lettersOf, newsOfArchived } from './archived-news.ts'
import { noticeOf } from './dead-letter-notice.ts'
import { countOutcomes, deliveriesOf } from './deliveries.ts'
import { findFlood } from './find-flood.ts'
import { hintsOf, queriesOf, type Queries } from './queries.ts'
import type { LaneSession, Work } from './lane-session.ts'
import type { Applied, ApplyOptions, LaneRecord, MustFence, Position } from './lane-types.ts'
import { whyRefused } from './why-refused.ts'
import { eventRowsOf, writeDecision, writesOf } from './write-decision.ts'

/** Orders that are created while their callbacks are looked up make a batch run again; each time there are fewer. */
const RERUNS_MAX = 100

/** A run that was rolled back. */
type Rerun =
  | { readonly kind: 'created_meanwhile' }
  | { readonly kind: 'not_the_truth' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'flood'; readonly end: number }
const rollBack = (value: Rerun): Work<Rerun> => ({ commit: false, value })

interface Batch {
  readonly records: readonly LaneRecord[]
  readonly end: number
  readonly arrivals: Arrivals
}

/**
 * Step 1 of a lane's batch: one Postgres transaction, six round trips (seven with hints). Running the same batch again changes
 * nothing; at most it frees, as any look at an order does, what an order held that was created since.
 * @param records decoded, in order, all at or above `position.next`
 * @param end the offset after the batch, gaps included
 * @throws Postgres' errors with their SQLSTATE (22xxx and some 23xxx are a record's fault); any error on COMMIT means
 *   unknown, and ends the session
 */
export async function applyBatch(
  session: LaneSession,
  position: Position,
  records: readonly LaneRecord[],
  end: number,
  options: ApplyOptions,
  reach: Reach,
): Promise<Applied | MustFence> {
  await session.freshenPlans(options.clock.elapsedMs())
  let at = position
  let batch: Batch = { records, end, arrivals: arrivalsOf(records) }
  let last: Rerun['kind'] | undefined
  for (let reruns = 0; reruns <= RERUNS_MAX; reruns++) {
    await reach('batch_before_begin')
    const [attempt, brakes] = [at, await brakesOf(session, at)]
    const result = await session.transaction<Applied | Rerun>(
      (tx) => run(tx, attempt, batch, brakes, options, reach),
      () => reach('batch_commit_sent'),
    )
    if (result.kind === 'applied') {
      await reach('batch_after_commit')
      return { ...result, reruns }
    }
    last = result.kind
    if (result.kind === 'flood') {
      const kept = records.filter(({ offset }) => offset < result.end)
      batch = { records: kept, end: result.end, arrivals: arrivalsOf(kept) }
    } else if (result.kind === 'refused') {
      const why = await whyRefused(session, at)
      if (why.kind === 'fence') return why
      at = { ...at, brakeVersion: why.brakeVersion }
      await reach('brake_changed')
    }
  }
  if (last === 'not_the_truth') throw new Error('what was read under the locks was not what D found')
  throw new RolledBack(`the batch ran ${RERUNS_MAX} times in vain: ${last ?? 'never'}`)
}

async function run(
  tx: Transaction,
  position: Position,
  batch: Batch,
  brakes: Brakes,
  options: ApplyOptions,
  reach: Reach,
): Promise<Work<Applied | Rerun>> {
  const { records, end, arrivals } = batch
  const found = await findArrivals(tx, position.lane, arrivals)
  if (found === undefined) return rollBack({ kind: 'created_meanwhile' })
  await reach('batch_after_stubs')
  const orderIds = orderIdsOf(found.unknown)
  const locked = orderIds.length === 0 ? [] : await lockOrders(tx, orderIds)
  if (locked.length < orderIds.length) return rollBack({ kind: 'created_meanwhile' })
  await reach('batch_after_lock')
  const views: Views = locked.length === 0 ? { views: new Map(), archived: new Map() } : await readViews(tx, locked)
  await reach('batch_after_read')

  const { decision, byCause } = decideArrivals(found.unknown, views, options)
  const letters = lettersOf(records, newsOfArchived(found.unknown, views))
  const kept = letters.length === 0 ? NO_LETTERS : await keepDeadLetters(tx, position, letters)
  if (kept === undefined) return rollBack({ kind: 'refused' })
  const newLetters = letters.filter(({ offset }) => kept.newOffsets.has(offset))
  const flood = findFlood(kept.floodOffsets, newLetters)
  if (flood !== undefined && flood < end) return rollBack({ kind: 'flood', end: flood })

  await reach('batch_before_lane_row')
  const nowMs = options.clock.now().getTime()
  const traces = new Map(newLetters.length === 0 ? [] : records.map(({ offset, traceparent }) => [offset, traceparent]))
  const namedOrders = new Map([...found.namedOrders].filter(([, orderId]) => !views.archived.has(orderId)))
  const hints = hintsOf(records, namedOrders)
  const queries = hints.length === 0 ? NO_QUERIES : queriesOf(hints, await openQueries(tx, orderIdsOf(hints)), nowMs)
  const deliveries = deliveriesOf(records, arrivals, namedOrders, nowMs)
  const written = await writeDecision(
    tx,
    position,
    {
      ...writesOf(decision, end, nowMs),
      events: [
        ...eventRowsOf(decision, (orderId, cause) => byCause.get(`${orderId}/${cause}`)?.record.traceparent ?? null),
        ...newLetters.map((letter) => noticeOf(letter, position, traces.get(letter.offset) ?? null, nowMs)),
      ],
      facts: decision.newFacts.map(({ orderId, fact }) => {
        const arrival = byCause.get(`${orderId}/${factCause(fact)}`)
        if (arrival === undefined) throw new Error(`fact ${factCause(fact)} was decided but not delivered`)
        return { orderId, fact, offset: arrival.record.offset }
      }),
      deliveries,
      newTimers: [...decision.newTimers, ...queries.timers],
      floodOffsets: newLetters.filter(countsAsFlood).map(({ offset }) => offset),
      archivedStubIds: [...views.archived.keys()],
    },
    locked,
    brakes,
  )
  if (written === undefined) return rollBack({ kind: 'refused' })
  if (!written.isWhole) return rollBack({ kind: 'not_the_truth' })
  await reach('batch_before_commit')
  const { baseSeq, nextSeq, events, payloadOrders, floodCount } = written
  const newDeadLetters = newLetters.map(({ reason }) => reason)
  return {
    commit: true,
    value: {
      kind: 'applied',
      next: end,
      brakeVersion: position.brakeVersion,
      baseSeq,
      nextSeq,
      events,
      payloadOrders,
      outcomes: countOutcomes(deliveries),
      newDeadLetters,
      hintsLeftOut: queries.leftOut,
      flooded: newLetters.some(countsAsFlood) && floodCount > FLOOD_MAX,
      reruns: 0,
    },
  }
}

const NO_QUERIES: Queries = { timers: [], leftOut: 0 }
const NO_LETTERS = { newOffsets: new Set<number>(), floodOffsets: [] }

const orderIdsOf = (of: readonly { readonly orderId: number }[]) => [...new Set(of.map(({ orderId }) => orderId))]

interface Found {
  /** In record order: what is not plainly a duplicate. */
  readonly unknown: readonly (Arrival & { readonly orderId: number })[]
  /** Of records without facts, by offset. */
  readonly namedOrders: ReadonlyMap<number, number>
}

/** A. @returns undefined: an order was created between the statement's snapshot and its insert. */
async function findArrivals(tx: Transaction, lane: number, arrivals: Arrivals): Promise<Found | undefined> {
  const sought = soughtOf(arrivals)
  const found = sought.length === 0 ? [] : await findFacts(tx, lane, sought)
  const isUnknown = new Set<Arrival>()
  for (const [index, arrival] of arrivals.distinct.entries()) {
    const { orderId, isKnown } = found[index] ?? { orderId: undefined, isKnown: false }
    if (orderId === undefined) return undefined
    arrival.orderId = orderId
    arrival.outcome = 'duplicate'
    if (!isKnown) isUnknown.add(arrival)
  }
  const namedOrders = new Map<number, number>()
  for (const [index, { record }] of arrivals.named.entries()) {
    const orderId = found[arrivals.distinct.length + index]?.orderId
    if (orderId !== undefined) namedOrders.set(record.offset, orderId)
  }
  const unknown = arrivals.all.filter((arrival): arrival is Found['unknown'][number] => isUnknown.has(arrival))
  return { unknown, namedOrders }
}

/** Decides, and puts each outcome to its arrival. */
function decideArrivals(
  unknown: Found['unknown'],
  { views, archived }: Views,
  { clock, ...options }: ApplyOptions,
): { decision: Decision; byCause: Map<string, Arrival> } {
  const todo = unknown.filter(({ orderId }) => !archived.has(orderId))
  const items = todo.map(({ orderId, fact, callback }) => ({
    kind: 'fact' as const,
    orderId,
    fact,
    receivedAtMs: callback.receivedAtMs,
  }))
  const decision = decideBatch(views, items, { ...options, now: clock.now() })
  const byCause = new Map<string, Arrival>()
  for (const [index, arrival] of todo.entries()) {
    const outcome = decision.outcomes[index]?.kind
    if (outcome === undefined || outcome === 'done' || outcome === 'refused')
      throw new Error(`a fact's outcome cannot be ${String(outcome)}`)
    arrival.outcome = outcome
    const key = `${arrival.orderId}/${factCause(arrival.fact)}`
    if (!byCause.has(key)) byCause.set(key, arrival) // The first of an identity is the one that is recorded.
  }
  return { decision, byCause }
}
