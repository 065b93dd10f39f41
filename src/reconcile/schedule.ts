/** When a provider is asked. All in milliseconds. */
export interface Schedule {
  /** After an order's creation; from then on each gap is as long as the order is old, so that they double. */
  readonly firstMs: number
  /** Over which what would be due at one moment is spread: all that expires at once, all that waited for a start. */
  readonly spreadMs: number
  /** How long after an order's expiry the last question is tried, if nobody answers it. */
  readonly lastMs: number
  /** Questions about a held fact that are answered, and about a refund of which only a hint has told. */
  readonly heldTriesMax: number
  readonly hintTriesMax: number
  /** How often a question that is done is looked at, whether its order needs it still. */
  readonly lookMs: number
}

export interface Timed {
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
}

/** `learnt`: facts are published. `nothing`: every provider answered, with none. `failed`: one of them did not. */
export type Outcome = 'learnt' | 'nothing' | 'failed'

export interface Asked {
  /** This one included. */
  readonly attempts: number
  readonly outcome: Outcome
  /** When it was asked: an answer that comes after the expiry may be older than that. */
  readonly sinceMs: number
  readonly nowMs: number
  /** Not before that, as a provider said. */
  readonly afterMs?: number
}

export type Next =
  | { readonly kind: 'again'; readonly dueAtMs: number }
  /** Asked often enough; `gaveUp`: without an answer. */
  | { readonly kind: 'done'; readonly dueAtMs: number; readonly gaveUp: boolean }

const GAP_MS_MAX = 7 * 86_400_000

/** From a gap to one and a half of it: what was created in one second is spread more and more. */
const spread = (gapMs: number, random: number) => Math.min(gapMs, GAP_MS_MAX) * (1 + random / 2)
/** For what has no age of its own. */
const nthGap = ({ firstMs }: Schedule, n: number, random: number) => spread(firstMs * 2 ** Math.min(n, 40), random)
const soon = ({ spreadMs }: Schedule, fromMs: number, random: number) => Math.round(fromMs + random * spreadMs)

function beforeExpiry(schedule: Schedule, dueAtMs: number, { expiresAtMs }: Timed, random: number): number {
  return expiresAtMs === null || dueAtMs < expiresAtMs ? Math.round(dueAtMs) : soon(schedule, expiresAtMs, random)
}

/**
 * When an order is asked about first: after its first gap, or at its expiry if that comes before.
 * @param random from 0 to 1, here and below
 */
export function firstDue(schedule: Schedule, order: Timed, nowMs: number, random: number): number {
  const due = beforeExpiry(schedule, order.createdAtMs + spread(schedule.firstMs, random), order, random)
  return due >= nowMs ? due : soon(schedule, nowMs, random)
}

/** A held fact is filed when its limit is near, so that it is asked about now. */
export const heldDue = soon

/**
 * What follows on an answer about an order's payment: the next gap, or the expiry if that comes before, and then once.
 * By the order's age and not by how often it was asked about, so that whoever asks at once puts nothing off for long.
 * @param order not pending: facts of it are held
 */
export function afterPayment(
  schedule: Schedule,
  order: Timed & { readonly isPending: boolean },
  asked: Asked,
  random: number,
): Next {
  const { attempts, outcome, sinceMs, nowMs, afterMs = 0 } = asked
  const { createdAtMs, expiresAtMs, isPending } = order
  const share = outcome === 'failed' ? 0.5 : 1
  const again = (waitMs: number) => ({ kind: 'again', dueAtMs: Math.round(nowMs + Math.max(waitMs, afterMs)) }) as const
  const done = (gaveUp: boolean) => ({ kind: 'done', dueAtMs: Math.round(nowMs + schedule.lookMs), gaveUp }) as const
  // A provider that is down for an hour has told nothing in three tries: then as many count as of a hint.
  const heldTriesMax = Math.max(schedule.heldTriesMax, outcome === 'failed' ? schedule.hintTriesMax : 0)
  if (!isPending || expiresAtMs === null)
    return attempts < heldTriesMax ? again(share * nthGap(schedule, attempts - 1, random)) : done(outcome === 'failed')
  if (sinceMs < expiresAtMs) {
    const next = again(share * spread(Math.max(schedule.firstMs, nowMs - createdAtMs), random))
    return { kind: 'again', dueAtMs: beforeExpiry(schedule, next.dueAtMs, order, random) }
  }
  if (outcome !== 'failed') return done(false)
  // Each pause as long as the time since the expiry, so that these double too.
  const next = again(spread(Math.max(schedule.firstMs / 4, nowMs - expiresAtMs), random))
  return next.dueAtMs > expiresAtMs + schedule.lastMs ? done(true) : next
}

/** What follows on an answer about a refund of which only a hint told; null: what it says is known now. */
export function afterHint(schedule: Schedule, asked: Asked, random: number): Next | null {
  const { attempts, outcome, nowMs, afterMs = 0 } = asked
  if (outcome === 'learnt') return null
  if (attempts >= schedule.hintTriesMax) return { kind: 'done', dueAtMs: nowMs, gaveUp: true }
  const waitMs = Math.max(nthGap(schedule, attempts - 1, random), afterMs)
  return { kind: 'again', dueAtMs: Math.round(nowMs + waitMs) }
}
