import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { LOCAL_DIR } from '../../dev/parts/state.ts'
import type { CrashPoint } from '../../src/processor/crash-points.ts'
import { startProcessorChild, type Child } from './child.ts'
import type { Installation } from './installation.ts'
import { until } from './until.ts'

const MARKERS = join(LOCAL_DIR, 'faults', 'reached')

export interface CrashingChild extends Child {
  /** Waits until the point was reached: the marker is written before anything happens there. */
  readonly reached: (deadlineMs?: number) => Promise<void>
}

/** A processor in a process of its own that dies (`kill`) or freezes (`stop`) at a point. */
export function startCrashing(
  installation: Installation,
  point: CrashPoint | 'in_mutant',
  action: 'kill' | 'stop',
  more: Readonly<Record<string, string>> = {},
): CrashingChild {
  mkdirSync(MARKERS, { recursive: true })
  const marker = join(MARKERS, randomUUID())
  const env = installation.env({
    ...{ CRASH_AT: point, CRASH_ACTION: action, CRASH_MARKER: marker, LOG_LEVEL: 'info' },
    ...more,
  })
  const child = startProcessorChild(env)
  let seen = false
  return {
    ...child,
    reached: async (deadlineMs = 30_000) => {
      await until(
        `the processor reaches ${point}`,
        () => {
          if (seen) return true
          if (existsSync(marker)) {
            rmSync(marker)
            return (seen = true)
          }
          if (child.exit() !== undefined) throw new Error(`it ended before: ${JSON.stringify(child.lines.slice(-5))}`)
          return false
        },
        deadlineMs,
      )
    },
  }
}
