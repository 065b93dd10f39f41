import { Option, type Command } from 'commander'
import { DEAD_LETTER_STATUSES, type DeadLetterStatus } from '../store/dead-letter.ts'
import { deadLetterView } from '../store/dead-letter-view.ts'
import { listDeadLetters } from '../store/read-dead-letters.ts'
import { withDatabase } from './connect.ts'
import { filterOf, letterId, takesFilter, type FilterOptions } from './dlq-filter.ts'
import { integer } from './options.ts'
import { isoOf, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options extends FilterOptions {
  readonly status: DeadLetterStatus | 'any'
  readonly limit: number
  readonly before?: number
}

export const addDlqList = (noun: Command, run: Run) =>
  takesFilter(noun.command('list').description('records that could not be processed, the newest first'))
    .addOption(
      new Option('--status <status>', 'where they stand').choices([...DEAD_LETTER_STATUSES, 'any']).default('open'),
    )
    .option('--limit <count>', 'at most so many', integer(1, 1_000), 100)
    .option('--before <id>', 'the next page: what the page before named', letterId)
    .action((options: Options, command: Command) => run((context) => list(context, options), command))

async function list({ env }: CliContext, { status, limit, before, ...options }: Options): Promise<Output> {
  const filter = { ...filterOf(env, options), statuses: status === 'any' ? undefined : [status] }
  const { letters, next } = await withDatabase(env, (pool) => listDeadLetters(pool, filter, { before, limit }))
  const head = ['id', 'since', 'status', 'reason', 'merchant', 'out_trade_no', 'message', 'lane', 'offset', 'replays']
  const rows = letters.map((letter) => [
    ...[letter.id, isoOf(letter.createdAtMs), letter.status, letter.reason, letter.merchant, letter.outTradeNo],
    ...[letter.messageType, letter.lane, letter.offset, letter.replayCount],
  ])
  const more = next === undefined ? '' : `\nMore: --before ${next}`
  return { json: { dead_letters: letters.map(deadLetterView), next: next ?? null }, text: table(head, rows) + more }
}
