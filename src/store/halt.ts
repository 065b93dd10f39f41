/**
 * Why a lane may stop; `flood` and `unexpected_error` arise at work, `skip` by an operator, `output_made_anew` at work or
 * at a fence, the others at a fence.
 */
export const HALT_REASONS = [
  'ledger_above_counter',
  'ledger_below_settled',
  'ledger_missing',
  'ledger_without_mark',
  'offsets_missing',
  'applied_above_log',
  'log_trimmed',
  'input_made_anew',
  'output_made_anew',
  'flood',
  'unexpected_error',
  'skip',
] as const
export type HaltReason = (typeof HALT_REASONS)[number]

const RESUME = 'then run: paidonce lane resume'
const REBUILD = 'or let it be told from the output topics: paidonce lane rebuild'

/** What a person does about it; printed by `paidonce lane status` and logged when the lane halts. */
export const REMEDIES: Record<HaltReason, string> = {
  ledger_above_counter: `Postgres is older than what Kafka has seen emitted (a backup, a lagging standby): bring back the newer database, ${RESUME}; ${REBUILD}`,
  ledger_below_settled: `the ledger group was set back: set it to settled_seq or more with its value as metadata, ${RESUME}; ${REBUILD}`,
  ledger_missing: `the ledger group was deleted or expired: restore it, ${RESUME}; ${REBUILD}`,
  ledger_without_mark: `the ledger group was set by a tool, not by a lane: restore it, ${RESUME}; ${REBUILD}`,
  offsets_missing: `both groups are gone (another APP_ID, another cluster, expired offsets): check APP_ID and KAFKA_BROKERS, ${RESUME}; ${REBUILD}`,
  applied_above_log: `the input topic ends before what Postgres has applied (recreated, truncated, or the wrong cluster): bring back the topic, ${RESUME}; or, if it was made anew for good, read it from its first record: paidonce lane rebuild --from-start`,
  log_trimmed: `retention removed records that were never applied: bring them back, or reconcile their orders by hand and run paidonce lane skip from applied_offset to the log's start, ${RESUME}`,
  input_made_anew: `the input topic is not the one that was read, or Postgres is of before it was made anew: bring back the newer database, ${RESUME}; or read the topic from its first record: paidonce lane rebuild --from-start`,
  output_made_anew: `an output topic is not the one that the lane wrote to, or has lost its end: what was in it is gone. Let the lane send it again, or say how much of it the workers lack: paidonce lane rebuild --send-again all|2h|none; if the topic itself can be brought back, do that, ${RESUME}`,
  flood: `more than 20 dead letters in the last 1,000 records: look at them (paidonce dlq list), mend what sends or decodes them, ${RESUME}; then: paidonce dlq replay`,
  skip: `a person has named records that the lane must not process, and it has to start anew to leave them out: run: paidonce lane resume`,
  unexpected_error: `an error that is no record's fault and does not pass by itself: read the detail and the log, mend it, ${RESUME}`,
}

/** The remedy of a halt as its row tells it; a reason that a newer version wrote has none here. */
export const remedyOf = (reason: string): string =>
  (REMEDIES as Readonly<Record<string, string | undefined>>)[reason] ?? `see the log, ${RESUME}`
