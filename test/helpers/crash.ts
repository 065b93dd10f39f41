import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { LOCAL_DIR } from '../../dev/parts/state.ts'
import type { ApiCrashPoint } from '../../src/api/crash-points.ts'
import type { CrashPoint } from '../../src/processor/crash-points.ts'
import type { AuditCrashPoint } from '../../src/reconcile/audit/crash-points.ts'
import type { RebuildCrashPoint } from '../../src/cli/crash-points.ts'
import { portOf, startApiChild, startCliChild, startProcessorChild, type Child } from './child.ts'
import type { Installation } from './installation.ts'
import { until } from './until.ts'

const MARKERS = join(LOCAL_DIR, 'faults', 'reached')

export interface CrashingChild extends Child {
  /** Waits until the point was reached: the marker is written before anything happens there. */
  readonly reached: (deadlineMs?: number) => Promise<void>
}

/** A processor in a process of its own that dies (`kill`) or freezes (`stop`) at a point. */
export const startCrashing = (
  installation: Installation,
  point: CrashPoint | 'in_mutant',
  action: 'kill' | 'stop',
  more: Readonly<Record<string, string>> = {},
): CrashingChild => crashing(startProcessorChild, installation, point, action, more)

/** An api in a process of its own that does so; `port` once it listens. */
export async function startCrashingApi(
  installation: Installation,
  point: ApiCrashPoint,
  action: 'kill' | 'stop',
  more: Readonly<Record<string, string>> = {},
): Promise<CrashingChild & { readonly port: number }> {
  const child = crashing(startApiChild, installation, point, action, more)
  try {
    const port = await portOf(child)
    // Until then it refuses to create orders, and a point of creating is never reached.
    await child.said('lanes are known', ({ msg }) => msg === 'lanes known')
    return { ...child, port }
  } catch (error) {
    await child.kill() // Nobody else could.
    throw error
  }
}

/** The command line in a process of its own that does so, on the `passage`-th passage. */
export const startCrashingCli = (
  installation: Installation,
  args: readonly string[],
  point: AuditCrashPoint | RebuildCrashPoint,
  action: 'kill' | 'stop',
  passage = 1,
): CrashingChild =>
  crashing((env) => startCliChild(env, args), installation, point, action, {
    ...{ CRASH_PASSAGE: String(passage), LOG_LEVEL: 'silent' },
  })

/** Of a process that was killed: what it had sent is decided upon then. No other process of ours may be connected. */
export const untilPostgresNoticed = ({ database }: Installation): Promise<unknown> =>
  until('Postgres has noticed the death', async () => {
    const { rowCount } = await database.pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name like 'paidonce-%'`,
    )
    return rowCount === 0
  })

function crashing(
  start: (env: NodeJS.ProcessEnv) => Child,
  installation: Installation,
  point: string,
  action: 'kill' | 'stop',
  more: Readonly<Record<string, string>>,
): CrashingChild {
  mkdirSync(MARKERS, { recursive: true })
  const marker = join(MARKERS, randomUUID())
  const env = installation.env({
    ...{ CRASH_AT: point, CRASH_ACTION: action, CRASH_MARKER: marker, LOG_LEVEL: 'info' },
    ...more,
  })
  const child = start(env)
  let seen = false
  return {
    ...child,
    reached: async (deadlineMs = 30_000) => {
      await until(
        `it reaches ${point}`,
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
