import type { Command } from 'commander'
import { listQueries, type FiledQuery } from '../store/list-queries.ts'
import { withDatabase } from './connect.ts'
import { integer } from './options.ts'
import { isoOf, table } from './render.ts'
import type { Run } from './run-cli.ts'

const SHOWN_MAX = 10_000

export const addQueryList = (noun: Command, run: Run) =>
  noun
    .command('list')
    .description('what providers are to be asked about, the first to be due first')
    .option('--limit <count>', 'at most so many', integer(1, SHOWN_MAX), 100)
    .action(({ limit }: { limit: number }, command: Command) =>
      run(async ({ env }) => {
        const nowMs = Date.now()
        const found = await withDatabase(env, (pool) => listQueries(pool, limit + 1))
        const queries = found.slice(0, limit).map((query) => ({
          merchant: query.merchant,
          out_trade_no: query.outTradeNo,
          ref: query.ref,
          state: stateOf(query, nowMs),
          due_at: isoOf(query.dueAtMs),
          attempts: query.attempts,
          lane: query.lane,
        }))
        const more = found.length > limit
        const rows = queries.map((q) => [q.merchant ?? '(gone)', q.out_trade_no, q.ref, q.state, q.due_at, q.attempts])
        const shown = table(['merchant', 'out_trade_no', 'about', 'state', 'due', 'attempts'], rows)
        const rest = `\nThere are more than these ${limit}: see --limit, and paidonce_queries_filed.`
        return { json: { queries, more }, text: more ? `${shown}${rest}` : shown }
      }, command),
    )

const stateOf = ({ dueAtMs, leasedUntilMs }: FiledQuery, nowMs: number) => {
  if (leasedUntilMs !== null && leasedUntilMs > nowMs) return 'being asked'
  return dueAtMs <= nowMs ? 'due' : 'later'
}
