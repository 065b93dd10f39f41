import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LOCAL_DIR } from '../../dev/parts/state.ts'
import { writeSection } from '../../chaos/write-report.ts'
import type { Armed, CrashAction } from './crash-here.ts'
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

/** With WRITE_TABLES=1: puts what was run into docs/reliability.md. */
export function writeTable(name: string, points: readonly string[], cells: readonly Cell[]): void {
  if (process.env['WRITE_TABLES'] !== '1') return
  const of = (point: string, action: CrashAction) =>
    cells.find((cell) => cell.point === point && cell.action === action)?.says ?? '✖ not run'
  const rows = points.map(
    (point) => `| \`${point}\` | ${of(point, 'kill')} | ${of(point, 'stop')} | ${of(point, 'delay')} |`,
  )
  const head = ['| point | kill -9 | stop, and go on | delay |', '| --- | --- | --- | --- |']
  writeSection(`crash-${name}`, [...head, ...rows].join('\n'))
}
