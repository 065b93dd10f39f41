import type { Command } from 'commander'
import { COMMON, KAFKA, POSTGRES, readConfig, REGISTRY } from '../runtime/config.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { REBUILT_REASONS } from '../store/judge-rebuild.ts'
import { readLane, type LaneRow } from '../store/lane-row.ts'
import { assertOurs } from './assert-ours.ts'
import { ANSWERING, withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { integer, shortText, timeOrAgo, userName } from './options.ts'
import { rebuildLedger, type RebuildResult } from './rebuild-ledger.ts'
import type { Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options {
  readonly reason: string
  readonly actor: string
  readonly notRestored?: true
  readonly fromStart?: boolean
  readonly sendAgain?: Date
}

export const addLaneRebuild = (noun: Command, run: Run) =>
  noun
    .command('rebuild')
    .description(
      'write a halted lane’s ledger anew, from the output topics, and let it go on; 3 if they do not prove it',
    )
    .argument('<lane>', 'its number, as in lane status', integer(0, 32_767))
    .requiredOption('--reason <text>', 'what happened; it is kept', shortText)
    .option('--not-restored', 'you vouch that Postgres was never set back: needed where retention has emptied a topic')
    .option(
      '--from-start',
      'the input topic was made anew: read it from its first record; what is known is a duplicate',
    )
    .option(
      '--send-again <what>',
      'an output topic was made anew: send what it has lost: all, none, or what was written since a time, as 2h',
      sendAgainSince,
    )
    .option('--actor <name>', 'who does it; it is kept', shortText, userName())
    .option('--dry-run', 'say what would be written, change nothing')
    .option('--yes', 'do not ask')
    .action((lane: number, options: Options, command: Command) =>
      run((context) => rebuild(context, lane, options), command),
    )

const sendAgainSince = (text: string): Date =>
  text === 'all' ? new Date(0) : text === 'none' ? new Date('9999-12-31') : timeOrAgo(text)

async function rebuild({ env, dryRun, confirm, reach }: CliContext, lane: number, options: Options): Promise<Output> {
  const config = readConfig({ APP_ID: COMMON.APP_ID, ...KAFKA, ...POSTGRES, ...REGISTRY }, env)
  const topic = config.TOPIC_PREFIX + INPUT_TOPIC
  return withDatabase(
    env,
    async (pool) => {
      await assertOurs(pool, config.APP_ID, config.TOPIC_PREFIX)
      const row = await readLane(pool, topic, lane)
      if (row === undefined)
        throw new CliFailure(EXIT.findings, `There is no lane ${lane} of ${topic}.`, 'See: paidonce lane status')
      assertRebuildable(row, options)
      const why = `${row.halted?.reason ?? ''}: ${row.halted?.detail ?? ''}`
      if (!dryRun)
        await confirm(`Lane ${lane} is halted by ${why}\nWrite its ledger anew, from the output topics, and resume it?`)
      const { reason, actor, notRestored: isVouched = false, fromStart = false, sendAgain } = options
      const request = { row, reason, actor, isVouched, fromStart, sendAgainSince: sendAgain, dryRun, reach }
      return shown(lane, await rebuildLedger(pool, env, config, request))
    },
    ANSWERING,
  )
}

function assertRebuildable({ lane, halted }: LaneRow, { fromStart = false }: Options): void {
  if (halted === undefined)
    throw new CliFailure(
      EXIT.findings,
      `Lane ${lane} is not halted.`,
      'A lane without traffic looks when its processor starts: restart that, and rebuild the lane if it halts.',
    )
  const reasons: readonly string[] = fromStart ? [...REBUILT_REASONS, 'applied_above_log'] : REBUILT_REASONS
  if (!reasons.includes(halted.reason))
    throw new CliFailure(
      EXIT.findings,
      `Lane ${lane} is halted by ${halted.reason}, which is not about its ledger.`,
      'Its remedy: paidonce lane status',
    )
}

function shown(lane: number, result: RebuildResult): Output {
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
