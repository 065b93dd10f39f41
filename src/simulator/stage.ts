import type { Clock } from '../runtime/clock.ts'
import type { CloseLine, LogLine } from './log.ts'
import type { PlannedOrder } from './planned.ts'
import type { Sender } from './send.ts'

/** What the play needs of the world around it; times are milliseconds since the run began. */
export interface Stage {
  readonly sender: Sender
  readonly record: (line: LogLine) => void
  readonly clock: Clock
  readonly timeScale: number
  /** A time of the plan as a date, in whole seconds, as providers write them. */
  readonly dateOf: (atMs: number) => Date
  readonly create: (order: PlannedOrder) => Promise<void>
  readonly close: (order: PlannedOrder) => Promise<CloseLine>
  readonly until: (atMs: number) => Promise<void>
  /** Whether what was lost comes late, once that is known. */
  readonly late: () => Promise<boolean>
  readonly elapsedMs: () => number
  readonly isStopped: () => boolean
}
