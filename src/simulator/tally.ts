import type { Heard, LogLine } from './log.ts'
import { DEFECTS, type Defect } from './planned.ts'

/** What was sent and heard, counted. Latencies are those of answers, in milliseconds. */
export interface Tally {
  readonly orders: number
  readonly closes: number
  /** Of payments' callbacks; of all others, and of a worker's reports, apart. */
  readonly deliveries: number
  readonly notices: number
  readonly reports: number
  readonly heard: Readonly<Record<Heard, number>>
  /** What was not answered with success, by HTTP status, or `no answer`. */
  readonly refused: Readonly<Record<string, number>>
  /** The same, by what had been done to the delivery; `none`: nothing, so that it comes again. */
  readonly refusedByDefect: Readonly<Record<Defect, number>>
  readonly answerMs: { readonly p50: number; readonly p99: number; readonly max: number }
}

export function createTally(): { readonly add: (line: LogLine) => void; readonly read: () => Tally } {
  const heard = { success: 0, failure: 0, wrong_form: 0, no_answer: 0 }
  const refusedByDefect = Object.fromEntries(DEFECTS.map((defect) => [defect, 0])) as Record<Defect, number>
  const refused: Record<string, number> = {}
  const latencies: number[] = []
  const lines = { order: 0, close: 0, delivery: 0, notice: 0, report: 0, query: 0 }
  return {
    add: (line) => {
      lines[line.line]++
      if (line.line === 'order' || line.line === 'close' || line.line === 'query') return
      heard[line.heard]++
      if (line.heard !== 'no_answer' && line.isSlow !== true) latencies.push(line.latencyMs)
      if (line.heard === 'success') return
      const status = line.status === null ? 'no answer' : String(line.status)
      refused[status] = (refused[status] ?? 0) + 1
      refusedByDefect[line.defect]++
    },
    read: () => ({
      ...{ orders: lines.order, closes: lines.close, deliveries: lines.delivery },
      ...{ notices: lines.notice, reports: lines.report },
      ...{ heard: { ...heard }, refused: { ...refused }, refusedByDefect: { ...refusedByDefect } },
      get answerMs() {
        const sorted = latencies.toSorted((a, b) => a - b)
        const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
        return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 }
      },
    }),
  }
}
