import { isoOf } from './order-view.ts'
import type { ReplayRecord, ReplayRun } from './replay-runs.ts'

/** `stopped`: a person must resume it. `sent`: its lanes have not met all of it. `done`: every record has its result. */
export const REPLAY_STATES = ['sending', 'stopped', 'sent', 'done'] as const

export function stateOf({ counts, stoppedAtMs }: ReplayRun): (typeof REPLAY_STATES)[number] {
  if (counts.not_sent > 0) return stoppedAtMs === null ? 'sending' : 'stopped'
  return counts.not_met > 0 ? 'sent' : 'done'
}

/** What the api shows of a run. */
export const replayRunView = (run: ReplayRun) => ({
  id: run.id,
  state: stateOf(run),
  actor: run.actor,
  reason: run.reason,
  merchant: run.merchant,
  filter: run.filter,
  created_at: isoOf(run.createdAtMs),
  results: run.counts,
  trouble: run.trouble,
  stopped_at: isoOf(run.stoppedAtMs),
})

export const replayRecordView = ({ id, letterId, lane, offset, word, detail }: ReplayRecord) => ({
  ...{ id, dead_letter: letterId, lane, offset, result: word, detail },
})
