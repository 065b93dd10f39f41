import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LOCAL_DIR } from '../../dev/parts/state.ts'
import { commitNow } from '../../chaos/commit-now.ts'
import { notePower } from '../../chaos/power.ts'
import { writeSection } from '../../chaos/write-report.ts'
import { CRASH_ACTIONS, type Armed, type CrashAction } from './crash-here.ts'
import { until } from './until.ts'

/** What is told to a running child, one crash after another. */
export interface Trigger {
  readonly env: Readonly<Record<string, string>>
  /** @returns waits until the point was reached */
  readonly arm: (point: string, action: CrashAction, delayMs?: number) => () => Promise<void>
  /** Whether what was armed last has been reached. */
  readonly isMet: () => boolean
}

export function createTrigger(): Trigger {
  const parent = join(LOCAL_DIR, 'faults')
  mkdirSync(parent, { recursive: true })
  const dir = mkdtempSync(join(parent, 'control-'))
  const control = join(dir, 'control.json')
  let last = ''
  return {
    isMet: () => existsSync(last),
    env: { CRASH_CONTROL: control },
    arm: (point, action, delayMs = 0) => {
      const marker = join(dir, randomUUID())
      last = marker
      const armed: Armed = { point, action, marker, delayMs }
      writeFileSync(`${control}.new`, JSON.stringify(armed))
      renameSync(`${control}.new`, control) // never half of it
      return () => until(`it reaches ${point}`, () => existsSync(marker), 60_000).then(() => undefined)
    },
  }
}

/** A folder in which a child with `CRASH_EACH` leaves the name of every point that it was held up at. */
export function createMarkers(delayMs: number) {
  const parent = join(LOCAL_DIR, 'faults')
  mkdirSync(parent, { recursive: true })
  const dir = mkdtempSync(join(parent, 'each-'))
  return {
    env: { CRASH_EACH: dir, CRASH_DELAY_MS: String(delayMs) },
    isMarked: (point: string) => existsSync(join(dir, point)),
  }
}

/** What became of one point under one action. */
export interface Cell {
  readonly point: string
  readonly action: CrashAction
  /** `✓`, or why the cell has no meaning. */
  readonly says: string
}

const NOT_RUN = '✖ not run'

/** Notes how many cells were met, for the reports of chaos; with WRITE_TABLES=1 puts them into docs/reliability.md. */
export function writeTable(
  name: 'gateway' | 'processor' | 'paths' | 'api',
  points: readonly string[],
  cells: readonly Cell[],
): void {
  // Several kinds of request may meet one point.
  const of = (point: string, action: CrashAction) =>
    cells.find((cell) => cell.point === point && cell.action === action)?.says ?? NOT_RUN
  const all = points.flatMap((point) => CRASH_ACTIONS.map((action) => of(point, action)))
  // Only a whole run says something; a cell that has no meaning is none that could be met.
  if (!all.includes(NOT_RUN)) {
    const able = all.filter((says) => !says.startsWith('—'))
    const caught = able.filter((says) => says.startsWith('✓')).length
    notePower(`crash-${name}`, { commit: commitNow(), caught, of: able.length })
  }
  if (process.env['WRITE_TABLES'] !== '1') return
  const rows = points.map(
    (point) => `| \`${point}\` | ${of(point, 'kill')} | ${of(point, 'stop')} | ${of(point, 'delay')} |`,
  )
  const head = ['| point | kill -9 | stop, and go on | delay |', '| --- | --- | --- | --- |']
  writeSection(`crash-${name}`, [...head, ...rows].join('\n'))
}
