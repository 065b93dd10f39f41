import type { Brakes } from '../orders/brake.ts'
import { decideBatch } from '../orders/decide-batch.ts'
import type { Item, Outcome } from '../orders/decision.ts'
import { RolledBack, type Transaction } from '../runtime/postgres.ts'
import { lockOrders } from '../store/lock-orders.ts'
import { notifyCommands } from '../store/notify.ts'
import { readWork, stillWaiting, type LaneWork } from '../store/read-work.ts'
import { readViews } from '../store/read-views.ts'
import { settleLane } from '../store/settle-lane.ts'
import type { FinishedCommand } from '../store/write-batch.ts'
import { applyRelease } from './apply-release.ts'
import { brakesOf } from './brakes-of.ts'
import type { Reach } from './crash-points.ts'
import type { ExpiryGate } from './expiry-gate.ts'
import { fateOf } from './fate.ts'
import type { LaneSession, Work } from './lane-session.ts'
import type { Applied, ApplyOptions, MustFence, NothingToDo, Position } from './lane-types.ts'
import { actionsOf, itemOf, resultOf, type Task } from './wake-items.ts'
import { whyRefused } from './why-refused.ts'
import { eventRowsOf, writeDecision, writesOf } from './write-decision.ts'

export interface WakeOptions extends ApplyOptions {
  /** How long after `expires_at` an order is closed. */
  readonly expiryGraceMs: number
  /** How much longer it is kept open at most, until a provider was asked about it for the last time; 0: not at all. */
  readonly expiryAskMs?: number
  /** The incarnation's. */
  readonly expiryGate: ExpiryGate
}

const RERUNS_MAX = 100
type Rerun = 'refused' | 'not_the_truth' | 'nothing_left'

/** Whose last step let waiting events go: tasks have the next turn. On a busy day there is always one more of either. */
const hasReleased = new WeakSet<LaneSession>()

/**
 * Step 1 without records: one Postgres transaction for the orders that appeared, the commands and the timers that are
 * due, or for events that waited for a brake: in turns, where there are both. A task that Postgres refuses is found by
 * halving, and put away: a command fails, a timer or release becomes an anomaly.
 * @returns when applied: emit, and call again
 */
export async function applyWake(
  session: LaneSession,
  position: Position,
  options: WakeOptions,
  reach: Reach,
): Promise<Applied | MustFence | NothingToDo> {
  await session.freshenPlans(options.clock.elapsedMs())
  const { topic, lane } = position
  const nowMs = options.clock.now().getTime()
  const expiryMs = options.expiryGate.askedMs(nowMs - options.expiryGraceMs, position.next)
  const { expiryAskMs = 0 } = options
  const unaskedMs = expiryMs === null || expiryAskMs === 0 ? null : expiryMs - expiryAskMs
  const work = await readWork(session, topic, lane, { heldLimitMs: nowMs, expiryMs, unaskedMs })
  await reach('wake_after_work')
  if (work.lane === undefined) return { kind: 'fence', reason: 'lane_row_missing' }
  const refusal = refusalOf(work.lane, position)
  if (refusal !== undefined) return { kind: 'fence', reason: refusal }
  const at = { ...position, brakeVersion: work.lane.brakeVersion }
  if (work.isUnsettled && work.lane.nextSeq === position.ledger) await settleLane(session, position)
  const nothing: NothingToDo = { kind: 'nothing', nextSeq: work.lane.nextSeq }
  const release = async () => {
    const released = await applyRelease(session, at, options, reach)
    if (released?.kind === 'applied') hasReleased.add(session)
    return released
  }
  const isTasksTurn = hasReleased.delete(session)
  if (work.isReleasing && !isTasksTurn) {
    const released = await release()
    if (released !== undefined) return released
  }
  const isAny = work.items.some(({ kind }) => kind === 'expiry')
  const mayExpire = await options.expiryGate.opens({ isAny, askedMs: expiryMs }, position.next)
  let tasks: readonly Task[] = work.items
    .filter(({ kind }) => kind !== 'expiry' || mayExpire)
    .map((item) => ({ ...item, guilty: undefined }))
  for (let reruns = 0; tasks.length > 0;) {
    try {
      const applied = await applyTasks(session, at, tasks, options, reach)
      if (applied !== undefined) return applied
      break
    } catch (error) {
      const fate = fateOf(error)
      if (fate.kind !== 'bisect' || session.lost() !== undefined || ++reruns > RERUNS_MAX) throw error
      const [first, second] = tasks
      if (first === undefined || first.guilty !== undefined) throw error
      tasks = second === undefined ? [{ ...first, guilty: fate.detail }] : tasks.slice(0, Math.ceil(tasks.length / 2))
    }
  }
  return work.isReleasing && isTasksTurn ? ((await release()) ?? nothing) : nothing
}

function refusalOf(row: NonNullable<LaneWork['lane']>, { next, ledger }: Position): MustFence['reason'] | undefined {
  if (row.isHalted) return 'halted'
  if (row.nextSeq < ledger) return 'counter_behind_ledger'
  if (row.appliedOffset < next) return 'applied_behind_next'
  return undefined
}

/** @returns undefined: somebody else did them meanwhile */
async function applyTasks(
  session: LaneSession,
  position: Position,
  tasks: readonly Task[],
  options: WakeOptions,
  reach: Reach,
): Promise<Applied | MustFence | undefined> {
  let at = position
  for (let reruns = 0; reruns <= RERUNS_MAX; reruns++) {
    await reach('wake_before_begin')
    const [attempt, brakes] = [at, await brakesOf(session, at)]
    const result = await session.transaction<Applied | Rerun>(
      (tx) => run(tx, session.appId, attempt, { tasks, brakes }, options, reach),
      () => reach('wake_commit_sent'),
    )
    if (typeof result === 'object') {
      await reach('wake_after_commit')
      return { ...result, reruns }
    }
    if (result === 'nothing_left') return undefined
    if (result === 'not_the_truth') throw new Error('what was read under the locks was not what D found')
    const why = await whyRefused(session, at)
    if (why.kind === 'fence') return why
    at = { ...at, brakeVersion: why.brakeVersion }
    await reach('brake_changed')
  }
  throw new RolledBack(`the wake ran ${RERUNS_MAX} times in vain`)
}

async function run(
  tx: Transaction,
  appId: string,
  position: Position,
  { tasks: asked, brakes }: { readonly tasks: readonly Task[]; readonly brakes: Brakes },
  options: WakeOptions,
  reach: Reach,
): Promise<Work<Applied | Rerun>> {
  const locked = await lockOrders(tx, [...new Set(asked.map(({ orderId }) => orderId))])
  await reach('wake_after_lock')
  const { views } = await readViews(tx, locked)
  const tasks = await stillWaiting(tx, asked)
  if (tasks.length === 0) return { commit: false, value: 'nothing_left' }
  await reach('wake_after_read')

  const items: Item[] = []
  const itemOfTask = new Map<Task, number>()
  for (const task of tasks) {
    const item = views.has(task.orderId) ? itemOf(task) : undefined
    if (item !== undefined) itemOfTask.set(task, items.push(item) - 1)
  }
  const { clock, ...given } = options
  const decision = decideBatch(views, items, { ...given, now: clock.now() })
  const outcomeOf = (task: Task): Outcome | undefined => decision.outcomes[itemOfTask.get(task) ?? -1]
  const filed = tasks.filter(({ kind }) => kind === 'close' || kind === 'resolve')
  const finishedCommands: FinishedCommand[] = filed.map((task) => resultOf(task, outcomeOf(task)))
  const spent = (kinds: readonly Task['kind'][]) => tasks.filter(({ kind }) => kinds.includes(kind)).map(({ id }) => id)

  await reach('wake_before_lane_row')
  const written = await writeDecision(
    tx,
    position,
    {
      ...writesOf(decision, position.next, clock.now().getTime()),
      events: eventRowsOf(decision, () => null),
      finishedCommands,
      operatorActions: actionsOf(tasks, decision),
      spentCommandIds: spent(['wake']),
      spentTimerIds: spent(['expiry', 'held_limit']),
    },
    locked,
    brakes,
  )
  if (written === undefined) return { commit: false, value: 'refused' }
  if (!written.isWhole) return { commit: false, value: 'not_the_truth' }
  await notifyCommands(
    tx,
    appId,
    finishedCommands.map(({ id }) => id),
  )
  await reach('wake_before_commit')
  const { baseSeq, nextSeq, events, payloadOrders } = written
  const { next, brakeVersion } = position
  const nothing = { outcomes: {}, newDeadLetters: [], hintsLeftOut: 0, flooded: false, reruns: 0 }
  return {
    commit: true,
    value: { kind: 'applied', next, brakeVersion, baseSeq, nextSeq, events, payloadOrders, ...nothing },
  }
}
