import type { AuditWindow } from './begin.ts'
import type { AuditCrashPoint } from './crash-points.ts'

export interface AuditRequest {
  readonly actor: string
  /** The window; left out: the run that was stopped goes on. */
  readonly window: AuditWindow | undefined
  /** Told after each lane, and of the orders now and then. */
  readonly onProgress: (what: string) => void
  /** Called at each crash point. Does nothing in production. */
  readonly reach?: (point: AuditCrashPoint) => void | Promise<void>
}

export const reachNothing = () => undefined
