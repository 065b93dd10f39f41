import type { Output } from './render.ts'
import type { RebuildResult } from './rebuild-ledger.ts'

/** What became of one lane. */
export function sayRebuilt(lane: number, result: RebuildResult): Output {
  switch (result.kind) {
    case 'unproven': {
      const topics = result.topics.join(', ')
      const text =
        `The ledger of lane ${lane} is at least ${result.atLeast}, and not proven: the end of what it emitted to ${topics} ` +
        `is gone. The lane stays halted. If Postgres was never set back to an older state, add --not-restored.`
      return {
        json: { lane, result: 'unproven', at_least: result.atLeast, topics: result.topics },
        text,
        undecided: true,
      }
    }
    case 'incomplete': {
      const { found, wanted } = result
      const text = `Postgres lacks ${wanted} events that are out, and the topics still have ${found} of them. The lane stays halted: bring back a newer database.`
      return { json: { lane, result: 'incomplete', found, wanted }, text, undecided: true }
    }
    case 'lacking': {
      const { topics } = result
      const text =
        `Lost: ${countsIn(topics)}. The lane stays halted. Say what is to be sent again, with the numbers and ids that they had: ` +
        `--send-again all, or what was written since a time (--send-again 2h), or none.`
      return { json: { lane, result: 'lacking', topics }, text, undecided: true }
    }
    case 'foreign': {
      const text = `${result.detail}\nThe lane stays halted: only its owner may write to its partition of the output topics.`
      return { json: { lane, result: 'foreign', detail: result.detail }, text, undecided: true }
    }
    case 'hidden': {
      const text =
        `${result.detail}. The lane stays halted. A lane's own transaction ends when the command runs without --dry-run, another's ` +
        'with its timeout, or by kafka-transactions.sh (find-hanging, abort).'
      return { json: { lane, result: 'hidden', detail: result.detail }, text, undecided: true }
    }
    case 'other_log': {
      const text = `${result.detail}. The lane stays halted. If the input topic was made anew, add --from-start: the lane reads it from its first record.`
      return { json: { lane, result: 'other_log', detail: result.detail }, text, undecided: true }
    }
    case 'changed': {
      const text = `Somebody else changed lane ${lane} meanwhile. See: paidonce lane status`
      return { json: { lane, result: 'changed' }, text, undecided: true }
    }
    case 'fenced': {
      const text = `An owner took lane ${lane} meanwhile, as a processor was started. Its ledger is not written: run the command again.`
      return { json: { lane, result: 'fenced' }, text, undecided: true }
    }
    case 'would_rebuild':
    case 'rebuilt': {
      const { ledger, imported, before, sentAgain } = result
      const isSent = Object.keys(sentAgain).length > 0
      const verb = result.kind === 'rebuilt' ? 'is' : 'would be'
      const lacking =
        imported === 0 ? '' : ` Postgres learns of ${imported} events that it lacks; none of them goes out again.`
      const sent = isSent ? ` Sent again: ${countsIn(sentAgain)}.` : ''
      const text = `The ledger of lane ${lane} ${verb} ${ledger} (${before === undefined ? 'it had none' : `it was ${before}`}).${lacking}${sent}${result.kind === 'rebuilt' ? ' The lane goes on.' : ''}`
      const json = { lane, result: result.kind, ledger, imported, before: before ?? null }
      return { json: isSent ? { ...json, sent_again: sentAgain } : json, text }
    }
  }
}

const countsIn = (topics: Readonly<Record<string, number>>) =>
  Object.entries(topics)
    .map(([topic, events]) => `${topic} ${events} events`)
    .join(', ')
