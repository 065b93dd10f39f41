import type { InputConsumer } from '../runtime/kafka/port.ts'
import { describeError, type Log } from '../runtime/log.ts'
import { OutputMoved } from '../schemas/output-marks.ts'
import { remedyOf } from '../store/halt.ts'
import { conclude } from './conclude.ts'
import { createConsumerPlace } from './consumer-place.ts'
import { EmissionFailed } from './emit.ts'
import { backoffMs, fateOf } from './fate.ts'
import type { FenceHooks, Fenced } from './fence.ts'
import type { Survived } from '../store/lane-row.ts'
import { endIncarnation, isAlive, type Incarnation } from './incarnation.ts'
import type { BatchOptions } from './run-batch.ts'
import { GuardRefused } from './steps.ts'

/** A failure so long ago says nothing about the next one. It is longer than any wait between two tries. */
const FORGET_MS = 60_000

/** The incarnation ended while nothing was done with it, as when another process has fenced the lane. */
class IncarnationLost extends Error {
  override readonly name = 'IncarnationLost'
}

export interface OwnershipOptions extends BatchOptions {
  readonly lane: number
  /** Group joins so far; an incarnation ends with the next one. */
  readonly joins: () => number
  /** The process has left the lane, alive, and could not let go of its last incarnation. */
  readonly outlive: (incarnation: number, aloneOffset: number | null) => Promise<void>
  /** @param before this process's last incarnation of the lane, which died without the process */
  readonly fence: (joins: number, hooks: FenceHooks, before: Survived | undefined) => Promise<Fenced>
  readonly consumer: Pick<InputConsumer, 'pause' | 'resume' | 'seek'>
  readonly log: Log
  /** Calls `current` when nobody waits for it: under the lane's mutex, if the lane is still owned. */
  readonly fenceSoon: () => void
}

/**
 * Who acts on a lane now, how it ends, and what stands in its way. What fences, drops, halts or retreats is called under
 * the lane's mutex, except a drop at a stop that no longer waits for it; `joined`, `left`, `retire`, `place.doubt` and
 * what only reads (`incarnation`, `position`, `halt`, `waitMs`) are called at any time, and are synchronous.
 */
export function createOwnership(options: OwnershipOptions) {
  const { lane, consumer, clock, metrics, log } = options
  const place = createConsumerPlace(lane, consumer)
  let incarnation: Incarnation | undefined
  /** The last one of this ownership, alive or not: where the lane stood is worth the most while it stands still. */
  let latest: Incarnation | undefined
  /** Of the last fence that this ownership has counted in the lane's row, though it may have failed then. */
  let counted: number | undefined
  /** Of the last fence whose owner has let go, as the lane's row says. */
  let letGo: number | undefined
  let halt: { readonly reason: string; readonly detail: string } | undefined
  let failures = 0
  let failedAtMs = 0
  let retryAtMs = 0
  let retryTimer: NodeJS.Timeout | undefined
  let committedAtMs = clock.elapsedMs()
  let isRetired = false

  const retired = () => isRetired // It may change while a fence is in work.
  const drop = (): Promise<void> => {
    const ended = incarnation
    incarnation = undefined
    return ended === undefined ? Promise.resolve() : endIncarnation(ended)
  }
  /** The outcome is unknown: nothing is repaired, a fence will tell. */
  const retreat = (step: string, error: unknown): number => {
    void drop()
    const nowMs = clock.elapsedMs()
    failures = nowMs - failedAtMs < FORGET_MS ? failures + 1 : 1
    failedAtMs = nowMs
    const delayMs = backoffMs(failures, Math.random())
    retryAtMs = nowMs + delayMs
    clearTimeout(retryTimer)
    if (!isRetired) retryTimer = setTimeout(options.fenceSoon, delayMs + 1)
    metrics.errors.inc({ step })
    log.warn({ lane, step, delayMs, failures, error: describeError(error) }, 'the lane waits and fences anew')
    return delayMs
  }
  const stand = (reason: string, detail: string, isNews: boolean) => {
    void drop()
    halt = { reason, detail }
    consumer.pause(lane)
    if (isNews) log.error({ lane, reason, detail, remedy: remedyOf(reason, lane) }, 'the lane is halted')
  }
  const haltAt = async (now: Incarnation, reason: string, detail: string): Promise<number> => {
    try {
      await options.steps.haltLane(now.session, now.position, reason, detail)
    } catch (error) {
      return retreat('halt', error) // Whatever it is, it will come again.
    }
    stand(reason, detail, true)
    return 0
  }

  return {
    place,
    drop,
    incarnation: () => incarnation,
    /** The last position known, also while the lane waits or is halted; undefined: not fenced since it is ours. */
    position: () => latest?.position,
    halt: () => halt,
    /** Milliseconds until the lane may try again; 0 or less: now. */
    waitMs: () => retryAtMs - clock.elapsedMs(),
    sinceCommitMs: () => clock.elapsedMs() - committedAtMs,
    committed: () => (committedAtMs = clock.elapsedMs()),
    /** The lane has got on. A fence alone is no progress: two processes could end each other's for ever. */
    recovered: () => (failures = 0),
    haltAt,

    /**
     * The incarnation that may act, fenced anew when a join has ended the last one; what an earlier one left unemitted is
     * emitted. Undefined: the lane is halted or retired.
     * @throws IncarnationLost: a failure as others are, so that the lane waits before it fences
     */
    current: async (): Promise<Incarnation | undefined> => {
      const joins = options.joins()
      if (incarnation?.joins === joins && isAlive(incarnation)) return incarnation
      if (retired()) return undefined
      if (incarnation?.joins === joins)
        throw new IncarnationLost(incarnation.session.lost()?.message ?? 'its producer is dead')
      void drop()
      const onLost = () => {
        if (incarnation !== undefined && !isAlive(incarnation)) options.fenceSoon()
      }
      let mine: number | undefined
      const hooks: FenceHooks = {
        onLost,
        onCounted: (fences) => (counted = mine = fences),
        onLetGo: () => (letGo = mine),
      }
      const before =
        counted === undefined || counted === letGo
          ? undefined
          : { incarnation: counted, wasAlone: aloneAt(counted, latest) !== null }
      const fenced = await options.fence(joins, hooks, before)
      metrics.fences.inc({ outcome: fenced.kind })
      if (retired() && fenced.kind === 'running') {
        void endIncarnation(fenced.incarnation)
        return undefined
      }
      committedAtMs = clock.elapsedMs()
      if (fenced.kind === 'halted') {
        stand(fenced.reason, fenced.detail, fenced.isNew || halt === undefined)
        return undefined
      }
      halt = undefined
      incarnation = latest = fenced.incarnation
      const { next, ledger } = incarnation.position
      const { nextSeq } = fenced
      log.info({ lane, next, ledger, nextSeq, incarnation: incarnation.session.incarnation }, 'the lane is fenced')
      const { suspectUntil } = incarnation
      if (suspectUntil !== undefined)
        log.warn({ lane, next, suspectUntil }, 'owners died here: records are taken one at a time')
      if (nextSeq > ledger) {
        metrics.takeovers.inc()
        log.info({ lane, ledger, nextSeq }, 'an earlier owner left events unemitted')
        await conclude(incarnation, undefined, nextSeq, options)
      }
      place.moveTo(next)
      return incarnation
    },

    /** What becomes of the lane after an error; a surprise halts it. @returns how long to wait, in milliseconds */
    failed: async (step: string, error: unknown): Promise<number> => {
      const now = incarnation
      if (error instanceof IncarnationLost) return retreat('connection', error)
      const isUnknown = error instanceof EmissionFailed || error instanceof GuardRefused
      if (now === undefined || now.session.lost() !== undefined || isUnknown) return retreat(step, error)
      if (error instanceof OutputMoved) return haltAt(now, 'output_made_anew', error.message)
      const fate = fateOf(error)
      if (fate.kind === 'retry') return retreat(step, error)
      const stack = error instanceof Error ? error.stack : undefined
      log.error({ lane, step, error: describeError(error), stack }, 'a surprise, which halts the lane')
      return haltAt(now, 'unexpected_error', fate.detail)
    },

    /** Another member may have owned the lane, and a person resumed it, meanwhile: everything is read anew. */
    joined: () => {
      halt = undefined
      retryAtMs = 0
      place.doubt()
      consumer.resume(lane)
    },
    /** A stop begins: the incarnation goes on with what is in work, and no other begins. */
    retire: () => {
      isRetired = true
      clearTimeout(retryTimer)
    },
    /** Under the mutex, as a fence in work counts itself first. @returns to be called when the last incarnation has closed */
    left: (): (() => Promise<void>) => {
      const [last, lastCounted] = [latest, counted]
      latest = counted = undefined
      clearTimeout(retryTimer)
      return async () => {
        if (lastCounted === undefined || lastCounted === letGo) return
        // Best effort: the next owner has counted a death that nobody died.
        await options.outlive(lastCounted, aloneAt(lastCounted, last)).catch((error: unknown) => {
          log.warn({ lane, error: describeError(error) }, 'another owner may take this one for dead')
        })
      }
    },
  }
}
export type Ownership = ReturnType<typeof createOwnership>

/** The record that is alone in flight, if this fence began the incarnation: each later fence has taken its mark back. */
const aloneAt = (fences: number, latest: Incarnation | undefined): number | null =>
  latest?.session.incarnation === fences ? (latest.alone?.offset ?? null) : null
