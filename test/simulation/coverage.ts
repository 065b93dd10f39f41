import { API_CRASH_POINTS } from '../../src/api/crash-points.ts'
import { GATEWAY_CRASH_POINTS } from '../../src/gateway/crash-points.ts'
import { CRASH_POINTS } from '../../src/processor/crash-points.ts'
import { cellOf, POINT_FAULTS, type PointFault, type Process } from './history/aim.ts'
import { FAULTS } from './history/faults.ts'

const POINTS: Readonly<Record<Process, readonly string[]>> = {
  processor: CRASH_POINTS,
  gateway: GATEWAY_CRASH_POINTS,
  api: API_CRASH_POINTS,
}

/** Points that no history can reach, and why. `test/faults/` reaches all of them, on real parts. */
const BEYOND: readonly (readonly [RegExp, string])[] = [
  [/^(?:request_begun|body_read|answer_written|before_answer|command_waiting)$/, 'HTTP is left out'],
  [/^claim_/, 'nobody claims an anomaly: it changes nothing that follows'],
  [/^discard_/, 'nobody discards a dead letter: it changes nothing that follows'],
]
/** Cells that mean nothing, and why. */
const MEANINGLESS: readonly (readonly [RegExp, readonly PointFault[], string])[] = [
  [/^emit_after_resolve$/, ['late', 'lost'], 'nothing is asked from there: the batch is done'],
  [/_after_commit$|^brake_told$/, ['late', 'lost'], 'it is the last step: nothing is asked after it'],
]

const isLastOfApi = (process: Process, pattern: RegExp) => process === 'api' || !pattern.source.includes('brake_told')

/** Why a cell is not asked for; undefined: it is. */
function whyNot(process: Process, point: string, fault: PointFault): string | undefined {
  const beyond = BEYOND.find(([pattern]) => pattern.test(point))?.[1]
  if (beyond !== undefined) return beyond
  const found = MEANINGLESS.find(
    ([pattern, faults]) => pattern.test(point) && faults.includes(fault) && isLastOfApi(process, pattern),
  )
  return found?.[2]
}

type Tally = Readonly<Record<string, number>>

/** Faults that did nothing, and cells that nobody has hit, though both could be. */
export function missedBy(tally: Tally): string[] {
  const cells = Object.entries(POINTS).flatMap(([process, points]) =>
    points.flatMap((point) =>
      POINT_FAULTS.filter((fault) => whyNot(process as Process, point, fault) === undefined).map((fault) =>
        cellOf(process as Process, point, fault),
      ),
    ),
  )
  return [...FAULTS, ...cells].filter((what) => (tally[what] ?? 0) === 0)
}

/** For people: how often each fault did something, and each point was hit by each. */
export function coverageTable(tally: Tally): string {
  const lines = [`what faults did: ${FAULTS.map((fault) => `${fault} ${tally[fault] ?? 0}`).join(', ')}`]
  for (const [process, points] of Object.entries(POINTS) as [Process, readonly string[]][])
    for (const point of points) {
      const says = POINT_FAULTS.map((fault) => {
        const why = whyNot(process, point, fault)
        return `${fault} ${why === undefined ? (tally[cellOf(process, point, fault)] ?? 0) : '–'}`
      })
      const reasons = new Set(POINT_FAULTS.flatMap((fault) => whyNot(process, point, fault) ?? []))
      lines.push(`${process} ${point}: ${says.join(', ')}${reasons.size > 0 ? ` (${[...reasons].join('; ')})` : ''}`)
    }
  return lines.join('\n')
}
