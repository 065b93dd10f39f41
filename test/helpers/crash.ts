import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CrashPoint } from '../../src/processor/crash-points.ts'
import { startProcessorChild, type Child } from './child.ts'
import type { Installation } from './installation.ts'
import { until } from './until.ts'

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
  const marker = join(mkdtempSync(join(tmpdir(), 'paidonce-crash-')), 'reached')
  const env = installation.env({
    ...{ CRASH_AT: point, CRASH_ACTION: action, CRASH_MARKER: marker, LOG_LEVEL: 'info' },
    ...more,
  })
  const child = startProcessorChild(env)
  return {
    ...child,
    reached: async (deadlineMs = 30_000) => {
      await until(
        `the processor reaches ${point}`,
        () => {
          if (existsSync(marker)) return true
          if (child.exit() !== undefined) throw new Error(`it ended before: ${JSON.stringify(child.lines.slice(-5))}`)
          return false
        },
        deadlineMs,
      )
    },
  }
}
