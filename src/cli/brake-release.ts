import type { Command } from 'commander'
import { listBrakes } from '../store/list-brakes.ts'
import { releaseBrake } from '../store/release-brake.ts'
import { assertOurs } from './assert-ours.ts'
import { describeScope, installationOf } from './brake-scope.ts'
import { withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { integer, shortText, userName } from './options.ts'
import type { Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options {
  readonly reason: string
  readonly actor: string
}

export const addBrakeRelease = (noun: Command, run: Run) =>
  noun
    .command('release')
    .description('let the events go that wait for a brake, in order, unless another one keeps them')
    .argument('<brake>', 'its number, as in brake list', integer(1, Number.MAX_SAFE_INTEGER))
    .requiredOption('--reason <text>', 'why; it is kept', shortText)
    .option('--actor <name>', 'who does it; it is kept', shortText, userName())
    .option('--dry-run', 'say what waits, change nothing')
    .option('--yes', 'do not ask')
    .action((id: number, options: Options, command: Command) =>
      run((context) => release(context, id, options), command),
    )

function release({ env, dryRun, confirm }: CliContext, id: number, { reason, actor }: Options): Promise<Output> {
  const { appId, topicPrefix, topic } = installationOf(env)
  return withDatabase(env, async (pool) => {
    await assertOurs(pool, appId, topicPrefix)
    const brake = (await listBrakes(pool, null)).find((one) => one.id === id)
    if (brake === undefined)
      throw new CliFailure(EXIT.findings, `There is no brake ${id}, or it is done.`, 'See: paidonce brake list')
    const what = `${describeScope(brake)}; ${brake.waiting} events wait for it`
    if (dryRun) return { json: { id, result: 'would_release', waiting: brake.waiting }, text: `would release ${what}` }
    await confirm(`Brake ${id} keeps back ${what}.\nRelease it?`)
    const released = await releaseBrake(pool, appId, topic, { id, merchant: null, actor, reason })
    if (released.kind === 'unknown_brake') throw new CliFailure(EXIT.findings, `There is no brake ${id}.`)
    const { kind, waiting, untold } = released
    const text = [
      kind === 'released' ? `brake ${id} is released` : `brake ${id} was released before`,
      `${waiting} events waited for it; the lanes send them in order. What is left: paidonce brake list`,
      ...untold.map((lane) => `Lane ${lane} is busy and has not been told yet; a processor tells it within seconds.`),
    ]
    return { json: { id, result: kind, waiting, untold }, text: text.join('\n'), undecided: untold.length > 0 }
  })
}
