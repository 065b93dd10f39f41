import fc from 'fast-check'
import { arrive, history, type History } from '../orders/history.ts'
import { EXPIRES_MS } from '../orders/build.ts'
import type { Step } from '../orders/shop.ts'
import type { Random } from '../helpers/seed.ts'

/** One of the sampled histories, with orders of its own. */
export interface RealHistory {
  readonly of: Required<History>
  /** In which order it is tried to happen; timers and other orders may have it otherwise. */
  readonly steps: readonly Step[]
}

/** Time enough for what comes before, most of the time; either way is a history. */
const UNTIL_EXPIRY_MS = 2_500
const NEVER_MS = 3_600_000

export function sampleHistories(count: number, random: Random, startMs: number): RealHistory[] {
  return fc.sample(history, { numRuns: count, seed: random.seed }).map((sampled, index) => {
    const expires = new Set(sampled.parts.flatMap(({ kind, orderId }) => (kind === 'expire' ? [orderId] : [])))
    const expiresAtMsOf = (orderId: number) => startMs + (expires.has(orderId) ? UNTIL_EXPIRY_MS : NEVER_MS)
    const parts = sampled.parts.map((step) => moved(step, expiresAtMsOf(step.orderId) - EXPIRES_MS))
    const nameOf = (orderId: number) => `H${index}-${orderId}`
    const of = { ...sampled, parts, real: { nameOf, expiresAtMsOf } }
    return { of, steps: arrive(of, random.shuffle(parts)).steps }
  })
}

/** The same moment, seen from the order's expiry. */
const moved = (step: Step, byMs: number): Step =>
  step.kind === 'fact' ? { ...step, fact: { ...step.fact, eventTimeMs: step.fact.eventTimeMs + byMs } } : step
