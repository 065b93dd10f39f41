import { otherInput, type InputMark } from '../schemas/input-mark.ts'
import { madeAnew, type OutputMarks } from '../schemas/output-marks.ts'
import { ledgerMark } from '../schemas/topics.ts'
import type { OffsetRange } from '../store/lane-row.ts'
import type { HaltReason } from '../store/halt.ts'

/** Everything that decides where a lane goes on, read after its fence. */
export interface FenceReading {
  /** Committed for the consumer group; undefined: none. */
  readonly groupOffset: number | undefined
  /** Committed for the ledger group, with the metadata that should repeat it (the mark). */
  readonly ledger: { readonly offset: number; readonly metadata: string } | undefined
  readonly row: {
    readonly startOffset: number
    readonly nextSeq: number
    readonly appliedOffset: number
    readonly settledSeq: number
    readonly halted: { readonly reason: string; readonly detail: string } | undefined
    readonly skips?: readonly OffsetRange[]
    readonly logId?: string | undefined
  }
  /** First offset of the log and its high watermark. */
  readonly log: { readonly start: number; readonly end: number }
  /** The log that the group offset is about. */
  readonly input: InputMark | undefined
  /** The id of the input topic now. */
  readonly inputId: string
  /** Where the lane's events went, committed with the group offset. */
  readonly outputs: OutputMarks
  /** The ids of the output topics now, by their names without prefix. */
  readonly outputIds: ReadonlyMap<string, string>
}

export type Judgement =
  /** Read on from `next`; events below `ledger` are emitted. */
  | { readonly kind: 'start'; readonly next: number; readonly ledger: number }
  /** No ledger yet and nothing done yet: write it before the first batch. */
  | { readonly kind: 'fresh'; readonly next: number; readonly ledger: 0 }
  | { readonly kind: 'halt'; readonly reason: HaltReason; readonly detail: string }
  /** Somebody must say `paidonce lane resume` first. */
  | { readonly kind: 'still_halted'; readonly reason: string; readonly detail: string }

const halt = (reason: HaltReason, detail: string): Judgement => ({ kind: 'halt', reason, detail })

/** Says where a lane starts, or why it must not. A lane never jumps: what does not fit stops it. */
export function judgeFence({
  groupOffset,
  ledger,
  row,
  log,
  input,
  inputId,
  outputs,
  outputIds,
}: FenceReading): Judgement {
  if (row.halted !== undefined) return { kind: 'still_halted', ...row.halted }
  // First, as applied_offset says nothing of another log.
  const other = otherInput(input, { id: inputId, log: row.logId ?? '' })
  if (other !== undefined) return halt('input_made_anew', other)
  const at = `applied_offset is ${row.appliedOffset}, the log holds ${log.start} to ${log.end}`
  if (log.start > row.appliedOffset) return halt('log_trimmed', at)
  if (row.appliedOffset > log.end) return halt('applied_above_log', at)

  const isFresh = row.nextSeq === 0 && row.appliedOffset === row.startOffset
  const asked = Math.min(Math.max(groupOffset ?? 0, log.start), row.appliedOffset)
  // Never above applied_offset: the fence has moved that behind the range in which it stood.
  const within = row.skips?.find(({ from, to }) => from <= asked && asked < to)
  const next = Math.min(within?.to ?? asked, row.appliedOffset)
  if (ledger === undefined) {
    if (isFresh) return { kind: 'fresh', next, ledger: 0 }
    const numbers = `next_seq is ${row.nextSeq}, settled_seq ${row.settledSeq}`
    return groupOffset === undefined ? halt('offsets_missing', numbers) : halt('ledger_missing', numbers)
  }
  const numbers = `the ledger is ${ledger.offset}, next_seq ${row.nextSeq}, settled_seq ${row.settledSeq}`
  if (ledger.metadata !== ledgerMark(ledger.offset)) {
    // On a fresh lane nothing can have been emitted, so whatever stands there is replaced.
    return isFresh ? { kind: 'fresh', next, ledger: 0 } : halt('ledger_without_mark', numbers)
  }
  if (ledger.offset > row.nextSeq) return halt('ledger_above_counter', numbers)
  if (ledger.offset < row.settledSeq) return halt('ledger_below_settled', numbers)
  const anew = madeAnew(outputs, outputIds)
  if (anew.length > 0) return halt('output_made_anew', anew.join('; '))
  return { kind: 'start', next, ledger: ledger.offset }
}
