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
  }
  /** First offset of the log and its high watermark. */
  readonly log: { readonly start: number; readonly end: number }
}

/** Why a lane may stop; `flood` and `unexpected_error` arise at work, the others at a fence. */
export const HALT_REASONS = [
  'ledger_above_counter',
  'ledger_below_settled',
  'ledger_missing',
  'ledger_without_mark',
  'offsets_missing',
  'applied_above_log',
  'log_trimmed',
  'flood',
  'unexpected_error',
] as const
export type HaltReason = (typeof HALT_REASONS)[number]

export type Judgement =
  /** Read on from `next`; events below `ledger` are emitted. */
  | { readonly kind: 'start'; readonly next: number; readonly ledger: number }
  /** No ledger yet and nothing done yet: write it before the first batch. */
  | { readonly kind: 'fresh'; readonly next: number; readonly ledger: 0 }
  | { readonly kind: 'halt'; readonly reason: HaltReason; readonly detail: string }
  /** Somebody must say `paidonce lane resume` first. */
  | { readonly kind: 'still_halted'; readonly reason: string; readonly detail: string }

const halt = (reason: HaltReason, detail: string): Judgement => ({ kind: 'halt', reason, detail })

/** An offset that is not repeated in its metadata was set by someone else: a reset tool, a restored backup. */
export const markOf = (ledger: number) => String(ledger)

/** Says where a lane starts, or why it must not. A lane never jumps: what does not fit stops it. */
export function judgeFence({ groupOffset, ledger, row, log }: FenceReading): Judgement {
  if (row.halted !== undefined) return { kind: 'still_halted', ...row.halted }
  const at = `applied_offset is ${row.appliedOffset}, the log holds ${log.start} to ${log.end}`
  if (log.start > row.appliedOffset) return halt('log_trimmed', at)
  if (row.appliedOffset > log.end) return halt('applied_above_log', at)

  const isFresh = row.nextSeq === 0 && row.appliedOffset === row.startOffset
  const next = Math.min(Math.max(groupOffset ?? 0, log.start), row.appliedOffset)
  if (ledger === undefined) {
    if (isFresh) return { kind: 'fresh', next, ledger: 0 }
    const numbers = `next_seq is ${row.nextSeq}, settled_seq ${row.settledSeq}`
    return groupOffset === undefined ? halt('offsets_missing', numbers) : halt('ledger_missing', numbers)
  }
  const numbers = `the ledger is ${ledger.offset}, next_seq ${row.nextSeq}, settled_seq ${row.settledSeq}`
  if (ledger.metadata !== markOf(ledger.offset)) {
    // On a fresh lane nothing can have been emitted, so whatever stands there is replaced.
    return isFresh ? { kind: 'fresh', next, ledger: 0 } : halt('ledger_without_mark', numbers)
  }
  if (ledger.offset > row.nextSeq) return halt('ledger_above_counter', numbers)
  if (ledger.offset < row.settledSeq) return halt('ledger_below_settled', numbers)
  return { kind: 'start', next, ledger: ledger.offset }
}

const RESUME = 'then run: paidonce lane resume'
const NO_REBUILD = 'rebuilding a ledger from the output topics is described in ARCHITECTURE.md'

/** What a person does about it; printed by `paidonce lane status` and logged when the lane halts. */
export const REMEDIES: Record<HaltReason, string> = {
  ledger_above_counter: `Postgres is older than what Kafka has seen emitted (a backup, a lagging standby): bring back the newer database, ${RESUME}; ${NO_REBUILD}`,
  ledger_below_settled: `the ledger group was set back: set it to settled_seq or more with its value as metadata, ${RESUME}; ${NO_REBUILD}`,
  ledger_missing: `the ledger group was deleted or expired: restore it, ${RESUME}; ${NO_REBUILD}`,
  ledger_without_mark: `the ledger group was set by a tool, not by a lane: restore it, ${RESUME}; ${NO_REBUILD}`,
  offsets_missing: `both groups are gone (another APP_ID, another cluster, expired offsets): check APP_ID and KAFKA_BROKERS, ${RESUME}; ${NO_REBUILD}`,
  applied_above_log: `the input topic ends before what Postgres has applied (recreated, truncated, or the wrong cluster): bring back the topic, ${RESUME}`,
  log_trimmed: `retention removed records that were never applied: bring them back or reconcile the orders by hand and set applied_offset, ${RESUME}`,
  flood: `more than 20 dead letters in the last 1,000 records: look at them (paidonce dlq list), mend what sends or decodes them, ${RESUME}`,
  unexpected_error: `an error that is no record's fault and does not pass by itself: read the detail and the log, mend it, ${RESUME}`,
}

/** The remedy of a halt as its row tells it; a reason from a newer version has none here. */
export const remedyOf = (reason: string): string =>
  (REMEDIES as Readonly<Record<string, string | undefined>>)[reason] ?? `see the log, ${RESUME}`
