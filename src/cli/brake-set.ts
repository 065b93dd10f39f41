import type { Command } from 'commander'
import { setBrake, BRAKES_MAX } from '../store/set-brake.ts'
import { assertOurs } from './assert-ours.ts'
import { describeScope, eventType, installationOf, scopeOf, type ScopeOptions } from './brake-scope.ts'
import { withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { merchantName, orderNumber, shortText, userName } from './options.ts'
import { table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options extends ScopeOptions {
  readonly reason: string
  readonly actor: string
}

export const addBrakeSet = (noun: Command, run: Run) =>
  noun
    .command('set')
    .description('keep matching events back; callbacks are taken and applied as before')
    .option('--merchant <merchant>', 'of this merchant', merchantName)
    .option('--order <out_trade_no>', 'of this order of the merchant', orderNumber)
    .option('--event-type <type>', 'of this type: ship, deduct, …; notices only so', eventType)
    .requiredOption('--reason <text>', 'why; it is kept', shortText)
    .option('--actor <name>', 'who does it; it is kept', shortText, userName())
    .option('--dry-run', 'say what would be kept back, change nothing')
    .action((options: Options, command: Command) => run((context) => set(context, options), command))

async function set({ env, dryRun }: CliContext, options: Options): Promise<Output> {
  const scope = scopeOf(options)
  const { appId, topicPrefix, topic } = installationOf(env)
  const what = describeScope(scope)
  if (dryRun) return { json: { result: 'would_set' }, text: `would keep back ${what}` }
  const { actor, reason } = options
  const brake = await withDatabase(env, async (pool) => {
    // Of topics that it does not know no lane would be told, and it would keep back nothing.
    await assertOurs(pool, appId, topicPrefix)
    return setBrake(pool, appId, topic, { ...scope, actor, reason })
  })
  if (brake.kind === 'too_many')
    throw new CliFailure(EXIT.findings, `${BRAKES_MAX} brakes are set already.`, 'Release some: paidonce brake list')
  const { kind, id, stops, untold } = brake
  const rows = stops.map(({ lane, stopSeq }) => [lane, stopSeq])
  return {
    json: { id, result: kind, stops: stops.map(({ lane, stopSeq }) => ({ lane, lane_seq: stopSeq })), untold },
    text: [
      `brake ${id} ${kind === 'set' ? 'keeps' : 'was set already and keeps'} back ${what}`,
      'Events with a number below this still go out:',
      table(['lane', 'lane_seq'], rows),
      ...untold.map((lane) => `Lane ${lane} is busy and has not been told yet; a processor tells it within seconds.`),
    ].join('\n'),
    undecided: untold.length > 0,
  }
}
