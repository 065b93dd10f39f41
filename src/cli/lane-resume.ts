import type { Command } from 'commander'
import { remedyOf } from '../store/halt.ts'
import { resumeLane } from '../store/resume-lane.ts'
import { integer, shortText, userName } from './options.ts'
import type { Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'
import { withLanes } from './with-lanes.ts'

interface Options {
  readonly reason: string
  readonly actor: string
}

export const addLaneResume = (noun: Command, run: Run) =>
  noun
    .command('resume')
    .description('clear a halt; the lane fences, looks again, and halts again if the cause stands')
    .argument('<lane>', 'its number, as in lane status', integer(0, 32_767))
    .requiredOption('--reason <text>', 'what was done about the cause; it is kept', shortText)
    .option('--actor <name>', 'who does it; it is kept', shortText, userName())
    .option('--dry-run', 'say what would be cleared, change nothing')
    .option('--yes', 'do not ask')
    .action((lane: number, options: Options, command: Command) =>
      run((context) => resume(context, lane, options), command),
    )

function resume({ env, dryRun, confirm }: CliContext, lane: number, { reason, actor }: Options): Promise<Output> {
  return withLanes(env, {}, async (pool, { appId, topic, laneOf }): Promise<Output> => {
    const { halted } = await laneOf(lane)
    if (halted === undefined) return { json: { lane, result: 'not_halted' }, text: `Lane ${lane} is not halted.` }
    const why = `${halted.reason}: ${halted.detail}`
    if (dryRun) return { json: { lane, result: 'would_resume', halted: halted.reason }, text: `would clear ${why}` }
    await confirm(`Lane ${lane} is halted by ${why}\nRemedy: ${remedyOf(halted.reason, lane)}\nResume it?`)
    const resumed = await resumeLane(pool, appId, { topic, lane, actor, reason })
    const text =
      resumed.kind === 'resumed'
        ? `Lane ${lane} goes on, and halts again if the cause stands: paidonce lane status`
        : `Lane ${lane} is not halted any more.`
    return { json: { lane, result: resumed.kind, halted: halted.reason }, text }
  })
}
