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

const resume = (lane: number) => `paidonce lane resume ${lane} --reason '…'`
/** It resumes by itself. */
const rebuild = (lane: number, how = '') => `paidonce lane rebuild ${lane}${how} --reason '…'`
// A number that is too low sends events again: `settled_seq` is behind what is out, and looks sound.
const TOLD = 'Never set it by hand: let it be told from the output topics'

/**
 * What a person does about it; printed by `paidonce lane status` and logged when the lane halts. Its commands are to be
 * run as they stand, with a reason.
 */
export const REMEDIES: Record<HaltReason, (lane: number) => string> = {
  ledger_above_counter: (lane) =>
    `Postgres is older than what Kafka has seen emitted (a backup, a lagging standby): bring back the newer database, then run: ${resume(lane)}; if there is none, let Postgres learn from the output topics what is out: ${rebuild(lane)}`,
  ledger_below_settled: (lane) => `the ledger group was set back. ${TOLD}: ${rebuild(lane)}`,
  ledger_missing: (lane) => `the ledger group was deleted, or has expired. ${TOLD}: ${rebuild(lane)}`,
  ledger_without_mark: (lane) => `the ledger group was set by a tool, not by a lane. ${TOLD}: ${rebuild(lane)}`,
  offsets_missing: (lane) =>
    `both groups are gone. With another APP_ID or KAFKA_BROKERS than before, correct it, then run: ${resume(lane)}; if they were deleted, have expired, or the input topic was made anew: ${rebuild(lane)}, which says if it needs --from-start`,
  applied_above_log: (lane) =>
    `the input topic ends before what Postgres has applied (recreated, truncated, or the wrong cluster): bring back the topic, then run: ${resume(lane)}; or, if it was made anew for good, read it from its first record: ${rebuild(lane, ' --from-start')}`,
  log_trimmed: (lane) =>
    `retention removed records that were never applied: bring them back; or reconcile their orders by hand and leave them out, from the applied offset to the log's start: paidonce lane skip ${lane} --from … --to … --reason '…'; then run: ${resume(lane)}`,
  input_made_anew: (lane) =>
    `the input topic is not the one that was read, or Postgres is of before it was made anew: bring back the newer database, then run: ${resume(lane)}; or read the topic from its first record: ${rebuild(lane, ' --from-start')}`,
  output_made_anew: (lane) =>
    `an output topic is not the one that the lane wrote to, or has lost its end: what was in it is gone. If the topic itself can be brought back, do that, then run: ${resume(lane)}; otherwise let the lane send it again (all, or what is younger than 2h, or none, by what the workers lack): ${rebuild(lane, ' --send-again all')}`,
  flood: (lane) =>
    `more than 20 dead letters in the last 1,000 records: look at them (paidonce dlq list), mend what sends or decodes them, then run: ${resume(lane)}; then replay them: paidonce dlq replay --reason …`,
  skip: (lane) =>
    `a person has named records that the lane must not process, and it has to start anew to leave them out: run: ${resume(lane)}`,
  unexpected_error: (lane) =>
    `an error that is no record's fault and does not pass by itself: read the detail and the log, mend it, then run: ${resume(lane)}`,
}

/** The remedy of a lane's halt as its row tells it; a reason that a newer version wrote has none here. */
export const remedyOf = (reason: string, lane: number): string => {
  const remedy = (REMEDIES as Readonly<Record<string, ((lane: number) => string) | undefined>>)[reason]
  return remedy?.(lane) ?? `see the log, then run: ${resume(lane)}`
}
