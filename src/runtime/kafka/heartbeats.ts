import { kafkaErrorType } from './error-type.ts'

type Heartbeat = () => Promise<void>

/** Errors after which the group wants this member to join again. */
const REBALANCE = new Set([
  'REBALANCE_IN_PROGRESS',
  'ILLEGAL_GENERATION',
  'UNKNOWN_MEMBER_ID',
  'NOT_COORDINATOR_FOR_GROUP',
])

export interface Heartbeats {
  /** Keeps the member alive while `work` runs; rethrows a rebalance error after it, when the work is safe. */
  readonly during: (beat: Heartbeat, work: () => Promise<void>) => Promise<void>
  /** The member has joined again: what was remembered is over. */
  readonly joined: () => void
}

/**
 * kafkajs sends heartbeats between fetches only, so a batch that waits for Postgres would cost the membership. One
 * timer serves all batches in work; other errors are left to kafkajs' own heartbeat after the batch.
 */
export function createHeartbeats(everyMs: number): Heartbeats {
  let rebalance: unknown
  let latest: Heartbeat | undefined
  let working = 0
  let timer: NodeJS.Timeout | undefined

  const tick = () => {
    latest?.().catch((error: unknown) => {
      if (REBALANCE.has(kafkaErrorType(error) ?? '')) rebalance ??= error
    })
  }
  return {
    during: async (beat, work) => {
      latest = beat
      working += 1
      timer ??= setInterval(tick, everyMs)
      try {
        await work()
      } finally {
        working -= 1
        if (working === 0) {
          clearInterval(timer)
          timer = undefined
        }
      }
      if (rebalance !== undefined) throw rebalance as Error
    },
    joined: () => (rebalance = undefined),
  }
}
