import type { Command } from 'commander'
import { discardDeadLetters, DISCARDS_MAX } from '../store/discard-dead-letters.ts'
import { withDatabase } from './connect.ts'
import { chosen, letterIds, noteOf, takesAct, type ActOptions } from './dlq-filter.ts'
import { table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

export const addDlqDiscard = (noun: Command, run: Run) =>
  takesAct(
    noun
      .command('discard')
      .description('close dead letters for good; their bytes stay')
      .argument('[ids...]', 'which ones', letterIds),
  )
    .option('--dry-run', 'count them by reason, change nothing')
    .option('--yes', 'do not ask')
    .action((ids: number[], options: ActOptions, command: Command) =>
      run((context) => discard(context, ids, options), command),
    )

async function discard(
  { env, dryRun, confirm }: CliContext,
  ids: readonly number[],
  options: ActOptions,
): Promise<Output> {
  const filter = chosen(env, ids, options)
  const { actor } = options
  const reason = noteOf(options)
  return withDatabase(env, async (pool) => {
    const plan = await discardDeadLetters(pool, filter, { actor, reason, dryRun: true })
    const total = (byReason: Readonly<Record<string, number>>) => Object.values(byReason).reduce((a, b) => a + b, 0)
    const planned = total(plan.byReason)
    if (!dryRun && planned > 0) await confirm(`Discard ${planned} dead letters?`)
    const done = dryRun || planned === 0 ? plan : await discardDeadLetters(pool, filter, { actor, reason, dryRun })
    const count = total(done.byReason)
    const missing = filter.ids === undefined ? 0 : filter.ids.length - count
    const said = [
      table(['reason', 'count'], Object.entries(done.byReason)),
      `${count} ${dryRun ? 'would be' : 'are'} discarded.`,
      ...(missing > 0 ? [`${missing} are not open, or not there.`] : []),
      ...(done.more ? [`More than ${DISCARDS_MAX} are there: run it again.`] : []),
    ]
    return {
      json: { dry_run: dryRun, discarded: count, by_reason: done.byReason, not_open: missing, more: done.more },
      text: said.join('\n'),
      findings: missing > 0,
    }
  })
}
