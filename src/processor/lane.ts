import { withDeadline } from '../runtime/kafka/deadline.ts'
import type { BatchControl, InputBatch } from '../runtime/kafka/port.ts'
import { conclude } from './conclude.ts'
import { lingerMs } from './linger.ts'
import { createMutex } from './mutex.ts'
import { createOwnership, type OwnershipOptions } from './ownership.ts'
import { runBatch } from './run-batch.ts'
import { GuardRefused } from './steps.ts'
import { takeTurn } from './take-turn.ts'

export interface LaneOptions extends Omit<OwnershipOptions, 'fenceSoon'> {
  readonly lingerMs: number
  /** Whether the lane's row still says so; asked when a halted lane is woken. */
  readonly isHalted: () => Promise<boolean>
}

export interface LaneView {
  readonly lane: number
  readonly state: 'fencing' | 'running' | 'halted'
  readonly haltReason: string | undefined
  /** Where it stands; where it stood last, while it fences or is halted. */
  readonly next: number | undefined
  readonly ledger: number | undefined
  readonly lag: number
}

const SCHEMA_PAUSE_MS = 1_000
const SUSPECT_PAUSE_MS = 50
/**
 * How long a batch waits for its turn and for a fence. kafkajs fetches for no lane while one waits inside its call: the
 * lane is paused instead, and its records come again. A fence that nothing holds up takes about 50 ms.
 */
const TURN_MS_MAX = 300
/** Kafka lets group offsets expire 7 days after the last commit; a quiet lane's ledger must not. */
const REFRESH_MS = 12 * 3_600_000
/** What is more waits for another wake, so that records come in between. */
const WAKE_ROUNDS_MAX = 20
const CLOSE_MS_MAX = 2_000
const OUTLIVE_MS_MAX = 1_000

/** One partition of the input topic: everything that happens on it happens under one mutex. */
export function createLane(options: LaneOptions) {
  const { lane, consumer, log } = options
  const locked = createMutex()
  let isOwned = false
  let wakeAsked: Promise<void> | undefined
  let wasMisplaced = false
  let lag = 0

  const fenceSoon = () => {
    locked(async () => {
      if (!isOwned || own.halt() !== undefined || own.waitMs() > 0) return
      await own.current().catch((error: unknown) => own.failed('fence', error))
    }).catch(() => undefined)
  }
  const own = createOwnership({ ...options, fenceSoon })
  /** Under the mutex, which is not held until the old connections have closed. */
  const dropSoon = () => {
    let ending: Promise<void> = Promise.resolve()
    const dropped = locked(() => {
      ending = own.drop()
      return Promise.resolve()
    })
    return withDeadline(
      dropped.then(() => ending),
      CLOSE_MS_MAX,
      'Closing the lane',
    )
  }

  /** Leaves the lane: drops what there is, and says that it lives if it could not let go. */
  const leave = async () => {
    let ending: Promise<void> = Promise.resolve()
    let outlive = () => Promise.resolve()
    await locked(() => {
      ending = own.drop()
      outlive = own.left()
      return Promise.resolve()
    })
    await ending.catch(() => undefined)
    await outlive()
  }

  /**
   * @param begin false: the batch's call has returned
   * @returns how many records were done
   */
  const handle = async (batch: InputBatch, control: BatchControl, begin: () => boolean): Promise<number> => {
    if (!control.isCurrent() || !isOwned) return 0
    // Also of a lane that stands still, which is when it grows.
    lag = Math.max(0, batch.highWatermark - (own.position()?.next ?? batch.fetchedOffset))
    if (own.halt() !== undefined) {
      consumer.pause(lane)
      return 0
    }
    if (own.waitMs() > 0) {
      control.pause(own.waitMs())
      return 0
    }
    const now = await own.current()
    if (now === undefined) return 0
    if (!begin()) {
      consumer.resume(lane)
      return 0
    }
    // The fetch began behind our position: a reset, or a batch of an older generation. Never jump.
    if (batch.fetchedOffset > now.position.next) {
      log.warn({ lane, fetchedOffset: batch.fetchedOffset, next: now.position.next, wasMisplaced }, 'seeking back')
      if (wasMisplaced) void own.drop()
      wasMisplaced = !wasMisplaced
      own.place.doubt()
      const again = await own.current()
      if (again !== undefined) own.place.moveTo(again.position.next)
      return 0
    }
    wasMisplaced = false
    if (batch.endOffset <= now.position.next) {
      control.resolve(now.position.next)
      own.place.resolved(now.position.next)
      return 0
    }
    const outcome = await runBatch(now, batch, control, options)
    own.place.resolved(Math.max(now.position.next, batch.fetchedOffset))
    own.committed()
    lag = Math.max(0, batch.highWatermark - now.position.next)
    if (outcome.kind === 'halt') await own.haltAt(now, outcome.reason, outcome.detail)
    if (outcome.kind === 'waiting_for_schema') control.pause(SCHEMA_PAUSE_MS)
    if (outcome.kind === 'waiting_for_turn') control.pause(SUSPECT_PAUSE_MS)
    if (outcome.kind !== 'done') return 0
    own.recovered()
    return outcome.records
  }

  /** @returns true: there may be more to do at once */
  const lookAround = async (): Promise<boolean> => {
    if (!isOwned || own.waitMs() > 0) return false
    const isRefreshDue = own.sinceCommitMs() >= REFRESH_MS
    // The fence of a lane that stays halted commits its offsets once more.
    if (own.halt() !== undefined && !isRefreshDue && (await options.isHalted())) return false
    const now = await own.current()
    if (now === undefined) return false
    let nextSeq = now.position.ledger
    let round = 0
    for (; round < WAKE_ROUNDS_MAX; round++) {
      const applied = await options.steps.applyWake(now.session, now.position)
      if (applied.kind === 'fence') throw new GuardRefused(applied.reason)
      nextSeq = applied.nextSeq
      if (applied.kind === 'nothing') break
      await conclude(now, applied, nextSeq, options)
      own.committed()
      own.recovered()
    }
    if (isRefreshDue || nextSeq > now.position.ledger) {
      await conclude(now, undefined, nextSeq, options)
      own.committed()
      own.recovered()
    }
    return round === WAKE_ROUNDS_MAX
  }

  const wake = (): Promise<void> =>
    (wakeAsked ??= locked(async () => {
      wakeAsked = undefined
      const isMore = await lookAround().catch(async (error: unknown) => {
        await own.failed('wake', error)
        return false
      })
      if (isMore) void wake()
    }))

  return {
    /**
     * At every group join that leaves the lane with us. Fences at once, as a dead owner's transaction blocks readers,
     * and looks for what was filed while nobody owned the lane.
     */
    assigned: () => {
      isOwned = true
      wasMisplaced = false
      own.joined()
      fenceSoon()
      void wake()
    },
    revoked: () => {
      isOwned = false
      leave().catch(() => undefined)
    },
    /** Lingers after a small batch, when nothing of it is held any more. */
    onBatch: async (batch: InputBatch, control: BatchControl): Promise<void> => {
      const turn = (begin: () => boolean) =>
        locked(() =>
          handle(batch, control, begin).catch(async (error: unknown) => {
            const waitMs = await own.failed('batch', error)
            if (waitMs > 0) control.pause(waitMs)
            return 0
          }),
        )
      // Until its turn has come, or the fence is done that failed in it; a lane that is halted then stays paused.
      const records = (await takeTurn(TURN_MS_MAX, turn, () => consumer.pause(lane))) ?? 0
      const waitMs = lingerMs(records, Math.max(0, batch.highWatermark - batch.endOffset), options.lingerMs)
      if (records > 0 && waitMs > 0 && control.isCurrent())
        await new Promise<void>((resolve) => setTimeout(resolve, waitMs))
    },
    /** The broker has no record where the consumer reads: the fence finds out where the lane stands. */
    onOutOfRange: () => {
      own.place.doubt()
      dropSoon().catch(() => undefined)
      fenceSoon()
    },
    /** Looks for held facts, commands, timers, and events that nobody emitted. Never rejects. */
    wake,
    view: (): LaneView => {
      const position = own.position()
      const state = own.halt() !== undefined ? 'halted' : own.incarnation() === undefined ? 'fencing' : 'running'
      return { lane, state, haltReason: own.halt()?.reason, next: position?.next, ledger: position?.ledger, lag }
    },
    /** To be called before the group is left: a successor ends our connections, and must not be fenced for it. */
    retire: own.retire,
    stop: async () => {
      isOwned = false
      own.retire()
      // What holds the mutex may wait for a broker that is away: its connections are closed under it.
      await withDeadline(leave(), CLOSE_MS_MAX, 'Closing the lane').catch(async () => {
        void own.drop()
        await withDeadline(own.left()(), OUTLIVE_MS_MAX, 'Taking back a death').catch(() => undefined)
      })
    },
  }
}
export type Lane = ReturnType<typeof createLane>
