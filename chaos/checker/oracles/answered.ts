import type { FaultLine, SentLine } from '../capture.ts'
import { nameOf, type Oracle, type Violation } from '../reading.ts'

/** O10: answers are in time and in form. */
export const answered: Oracle = {
  id: 'O10',
  about:
    'no success later than allowed, no hanging answer, where nothing stopped the gateway; the exact form of a success',
  clauses: ['late_success', 'unanswered', 'wrong_form'],
  check: ({ sent, faults, about }) => {
    const violations: Violation[] = []
    const { answerMsMax } = about.limits
    for (const line of sent) {
      const what = `${line.provider} ${nameOf(line)} at ${line.atMs} by ${line.gateway}: ${Math.round(line.latencyMs)} ms`
      if (line.heard === 'wrong_form') violations.push({ clause: 'wrong_form', what })
      if (line.latencyMs <= answerMsMax || line.isSlow === true || line.defect === 'cut_off') continue
      if (line.heard === 'failure' || faults.some((fault) => overlaps(fault, line))) continue
      violations.push({ clause: line.heard === 'success' ? 'late_success' : 'unanswered', what })
    }
    return { examined: sent.length, violations }
  },
}

/** Whoever was stopped still has to answer what came meanwhile. */
const AFTERWARDS_MS = 1_000

const overlaps = ({ fromMs, untilMs, hinders = [] }: FaultLine, { gateway, atMs, latencyMs }: SentLine) =>
  hinders.includes(gateway) && fromMs <= atMs + latencyMs && untilMs + AFTERWARDS_MS >= atMs
