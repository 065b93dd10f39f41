import { InvalidArgumentError, type Command } from 'commander'
import { KAFKA, REGISTRY } from '../runtime/config.ts'
import { listLanes, type LaneRow } from '../store/lane-row.ts'
import { CliFailure, EXIT } from './failure.ts'
import { integer, shortText, timeOrAgo, userName } from './options.ts'
import { rebuildLanes, refusalOf } from './rebuild-lanes.ts'
import { rebuildLedger } from './rebuild-ledger.ts'
import type { Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'
import { sayRebuilt } from './say-rebuilt.ts'
import { withLanes } from './with-lanes.ts'

interface Options {
  readonly lanes?: readonly number[] | 'all'
  readonly reason: string
  readonly actor: string
  readonly notRestored?: true
  readonly fromStart?: boolean
  readonly sendAgain?: Date
  readonly yes?: true
}
const laneNumber = integer(0, 32_767)

export const addLaneRebuild = (noun: Command, run: Run) =>
  noun
    .command('rebuild')
    .description(
      'write a halted lane’s ledger anew, from the output topics, and let it go on; 3 if they do not prove it',
    )
    .argument('[lane]', 'its number, as in lane status', laneNumber)
    .option('--lanes <lanes>', 'several, one after another: 0,1,2, or all that are halted for their ledger', lanesIn)
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
    .action((lane: number | undefined, options: Options, command: Command) =>
      run((context) => rebuild(context, lane, options), command),
    )

const sendAgainSince = (text: string): Date =>
  text === 'all' ? new Date(0) : text === 'none' ? new Date('9999-12-31') : timeOrAgo(text)

function lanesIn(text: string, before: Options['lanes']): readonly number[] | 'all' {
  if (text === 'all' && before === undefined) return 'all'
  if (text === 'all' || before === 'all') throw new InvalidArgumentError('It is all, or numbers.')
  return [...new Set([...(before ?? []), ...text.split(',').map((number) => laneNumber(number.trim()))])]
}

async function rebuild(
  { env, dryRun, confirm, reach }: CliContext,
  lane: number | undefined,
  options: Options,
): Promise<Output> {
  const { lanes } = options
  if ((lane === undefined) === (lanes === undefined))
    throw new CliFailure(EXIT.usage, 'Give a lane or --lanes, and not both.', 'See: paidonce lane status')
  const { reason, actor, notRestored: isVouched = false, fromStart = false, sendAgain } = options
  return withLanes(env, { ...KAFKA, ...REGISTRY }, async (pool, { config, appId, topic, laneOf }) => {
    const one = (row: LaneRow, isDry: boolean) => {
      const request = { row, reason, actor, isVouched, fromStart, sendAgainSince: sendAgain, dryRun: isDry, reach }
      return rebuildLedger(pool, env, { APP_ID: appId, ...config }, request)
    }
    if (lane === undefined) {
      const isAll = lanes === 'all'
      const wanted = lanes === 'all' ? (await listLanes(pool, topic)).map((row) => row.lane) : (lanes ?? [])
      const isAsked = options.yes !== true
      return rebuildLanes(wanted, { one, laneOf, fromStart, isAll, dryRun, ...(isAsked ? { confirm } : {}) })
    }
    const row = await laneOf(lane)
    const refusal = refusalOf(row, fromStart)
    if (refusal !== undefined) throw refusal
    const why = `${row.halted?.reason ?? ''}: ${row.halted?.detail ?? ''}`
    if (!dryRun)
      await confirm(`Lane ${lane} is halted by ${why}\nWrite its ledger anew, from the output topics, and resume it?`)
    return sayRebuilt(lane, await one(row, dryRun))
  })
}
