import type { AuditedOrder } from './audited-order.ts'
import type { Finding } from './finding.ts'
import type { Say } from './judge-order.ts'

/** An order's events count 1, 2, 3… up to the number in its row: a hole says that one is gone whose cause is gone, too. */
export function judgeSequence({ events, sequence }: AuditedOrder, say: Say): Finding[] {
  const seen = new Set<number>()
  const findings: Finding[] = []
  for (const event of events) {
    if (event.sequence === null) continue
    if (seen.has(event.sequence))
      findings.push(say('duplicate', event, `two events of the order are number ${event.sequence}`))
    if (event.sequence > sequence) findings.push(say('extra', event, `it is number ${event.sequence} of ${sequence}`))
    seen.add(event.sequence)
  }
  // A hole is one finding, however wide: its width is what one row says.
  let next = 1
  for (const number of [...[...seen].sort((a, b) => a - b), sequence + 1]) {
    const last = Math.min(number - 1, sequence)
    if (last === next) findings.push(say('missing', {}, `event number ${next} of the order's ${sequence}`))
    if (last > next) findings.push(say('missing', {}, `event numbers ${next} to ${last} of the order's ${sequence}`))
    next = Math.max(next, number + 1)
  }
  return findings
}
