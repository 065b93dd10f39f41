import { INPUT } from '../capture.ts'
import type { Oracle, Violation } from '../reading.ts'

/** O8: everything is read, applied and emitted, no lane stands, and it did not take long. */
export const settled: Oracle = {
  id: 'O8',
  about: 'group offset, applied offset and end are one; ledger and counter are one; no lane halted; heals are quick',
  clauses: ['left_behind', 'halted', 'slow_recovery'],
  check: ({ tables, places, ends, faults, about }) => {
    const violations: Violation[] = []
    const endOf = new Map(
      ends.filter(({ topic }) => topic === about.topicPrefix + INPUT).map(({ partition, end }) => [partition, end]),
    )
    const rows = new Map(tables.lanes.map((row) => [Number(row['lane']), row]))
    for (const { partition, input, ledger } of places) {
      const row = rows.get(partition)
      const end = endOf.get(partition)
      const says = `lane ${partition}: end ${end ?? '?'}, group ${input ?? '?'}, applied ${String(row?.['applied_offset'])}, ledger ${ledger ?? '?'}, next ${String(row?.['next_seq'])}`
      if (input !== end || Number(row?.['applied_offset']) !== end || Number(row?.['next_seq']) !== ledger)
        violations.push({ clause: 'left_behind', what: says })
      if (row !== undefined && row['halted_reason'] !== null)
        violations.push({ clause: 'halted', what: `lane ${partition}: ${JSON.stringify(row['halted_reason'])}` })
    }
    const recoveries = faults
      .flatMap(({ recoveryMs }) => (typeof recoveryMs === 'number' ? [recoveryMs] : []))
      .sort((a, b) => a - b)
    const p95 = recoveries[Math.max(0, Math.ceil(recoveries.length * 0.95) - 1)] ?? 0
    const never = faults.filter(({ recoveryMs, observed }) => recoveryMs === null && observed !== null)
    if (p95 > about.limits.recoveryMsP95)
      violations.push({ clause: 'slow_recovery', what: `p95 of ${recoveries.length} heals: ${p95} ms` })
    for (const { kind, target } of never)
      violations.push({ clause: 'slow_recovery', what: `${kind} of ${target}: lag never came to 0` })
    return { examined: places.length + recoveries.length, violations }
  },
}
