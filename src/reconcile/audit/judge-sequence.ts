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
  for (let number = 1; number <= sequence; number++)
    if (!seen.has(number)) findings.push(say('missing', {}, `event number ${number} of the order's ${sequence}`))
  return findings
}
