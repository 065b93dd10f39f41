import { keepBack, type Brakes } from '../orders/brake.ts'
import { RolledBack, type Transaction } from '../runtime/postgres.ts'
import { lockOrders, type LockedOrder } from '../store/lock-orders.ts'
import { readReleased, spendWaiting, type WaitingEvent } from '../store/waiting-events.ts'
import { placeImported } from '../store/imported-events.ts'
import { NOTHING, writeBatch } from '../store/write-batch.ts'
import { brakesOf } from './brakes-of.ts'
import type { Reach } from './crash-points.ts'
import type { LaneSession, Work } from './lane-session.ts'
import type { Applied, ApplyOptions, MustFence, Position } from './lane-types.ts'
import { whyRefused } from './why-refused.ts'
import { finish, outAlready } from './write-decision.ts'

const RERUNS_MAX = 100
type Rerun = 'refused' | 'nothing_left' | 'not_the_truth'

/**
 * Step 1 of events that waited for a brake which is released: up to 1,000 of them, in order, are numbered, or put to
 * another brake that is set.
 * @returns undefined: none is left. When applied: emit, and call again
 */
export async function applyRelease(
  session: LaneSession,
  position: Position,
  options: ApplyOptions,
  reach: Reach,
): Promise<Applied | MustFence | undefined> {
  await session.freshenPlans(options.clock.elapsedMs())
  let at = position
  for (let reruns = 0; reruns <= RERUNS_MAX; reruns++) {
    await reach('release_before_begin')
    const [attempt, brakes] = [at, await brakesOf(session, at)]
    const result = await session.transaction<Applied | Rerun>(
      (tx) => run(tx, attempt, brakes, options, reach),
      () => reach('release_commit_sent'),
    )
    if (typeof result === 'object') {
      await reach('release_after_commit')
      return { ...result, reruns }
    }
    if (result === 'nothing_left') return undefined
    if (result === 'not_the_truth') throw new Error('events that were read under the locks wait no more')
    const why = await whyRefused(session, at)
    if (why.kind === 'fence') return why
    at = { ...at, brakeVersion: why.brakeVersion }
    await reach('brake_changed')
  }
  throw new RolledBack(`the release ran ${RERUNS_MAX} times in vain`)
}

async function run(
  tx: Transaction,
  position: Position,
  brakes: Brakes,
  { clock }: ApplyOptions,
  reach: Reach,
): Promise<Work<Applied | Rerun>> {
  const locked = await lockOrders(tx, ordersOf(await readReleased(tx, position.lane)))
  await reach('release_after_lock')
  const waiting = await readReleased(tx, position.lane)
  const out = await outAlready(tx, position, waiting)
  const { gone, go, moved } = part(waiting, locked, brakes, out)
  if (gone.length + moved.length === 0) return { commit: false, value: 'nothing_left' }
  await reach('release_after_read')
  await reach('release_before_lane_row')
  const nowMs = clock.now().getTime()
  const written = await writeBatch(tx, position, { ...NOTHING, end: position.next, nowMs, events: go })
  if (written === undefined) return { commit: false, value: 'refused' }
  await reach('release_before_spend')
  const goneIds = gone.map(({ id }) => id)
  if (!(await spendWaiting(tx, goneIds, moved))) return { commit: false, value: 'not_the_truth' }
  if (!(await placeImported(tx, { lane: position.lane, nowMs }, gone, out)))
    return { commit: false, value: 'not_the_truth' }
  await reach('release_before_commit')
  const { baseSeq, nextSeq, events, payloadOrders } = finish(written, go, locked)
  const { next, brakeVersion } = position
  const nothing = { outcomes: {}, newDeadLetters: [], hintsLeftOut: 0, flooded: false, reruns: 0 }
  return {
    commit: true,
    value: { kind: 'applied', next, brakeVersion, baseSeq, nextSeq, events, payloadOrders, ...nothing },
  }
}

const ordersOf = (waiting: readonly WaitingEvent[]) => [...new Set(waiting.flatMap(({ orderId }) => orderId ?? []))]

/** What came since the locks waits for the next step. What is `out` goes without a new number. */
function part(
  waiting: readonly WaitingEvent[],
  locked: readonly LockedOrder[],
  brakes: Brakes,
  out: ReadonlyMap<string, number>,
) {
  const lockedIds = new Set(locked.map(({ order }) => order.id))
  const ours = waiting.filter(({ orderId }) => orderId === null || lockedIds.has(orderId))
  const news = out.size === 0 ? ours : ours.filter(({ eventId }) => !out.has(eventId))
  const { go, wait } = keepBack(news, brakes, ({ behind }) => behind ?? undefined)
  const moved = wait.filter(({ event, brakeId }) => brakeId !== event.brakeId)
  const gone = out.size === 0 ? go : [...go, ...ours.filter(({ eventId }) => out.has(eventId))]
  return { gone, go, moved: moved.map(({ event, brakeId }) => ({ id: event.id, brakeId })) }
}
