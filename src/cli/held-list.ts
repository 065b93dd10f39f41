import type { Command } from 'commander'
import { heldView } from '../store/held-view.ts'
import { listHeld, type HeldFact } from '../store/list-held.ts'
import { withDatabase } from './connect.ts'
import { durationSec, integer, merchantName, timeOrAgo } from './options.ts'
import { isoOf, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options {
  readonly merchant?: string
  readonly olderThan?: number
  readonly since?: Date
  readonly until?: Date
  readonly limit: number
}

export const addHeldList = (noun: Command, run: Run) =>
  noun
    .command('list')
    .description('facts whose order or payment is not known yet, the longest first')
    .option('--merchant <merchant>', 'of this merchant', merchantName)
    .option('--older-than <duration>', 'held for at least that long, such as 15m', durationSec)
    .option('--since <time>', 'held since then: a time, or how long ago, as 2h', timeOrAgo)
    .option('--until <time>', 'and before then', timeOrAgo)
    .option('--limit <count>', 'at most so many', integer(1, 10_000), 100)
    .action((options: Options, command: Command) => run((context) => list(context, options), command))

async function list({ env }: CliContext, { merchant, olderThan, since, until, limit }: Options): Promise<Output> {
  const untilMs = Math.min(until?.getTime() ?? Infinity, Date.now() - (olderThan ?? -Infinity) * 1_000)
  const filter = { merchant, sinceMs: since?.getTime(), untilMs: untilMs === Infinity ? undefined : untilMs }
  const found = await withDatabase(env, (pool) => listHeld(pool, filter, limit + 1))
  const held = found.slice(0, limit)
  const more = found.length > limit
  const head = [
    'held since',
    'merchant',
    'out_trade_no',
    'fact',
    'reference',
    'amount_minor',
    'waits for',
    'anomaly at',
  ]
  const rest = more ? `\nThere are more than these ${limit}: see --limit, and paidonce_held_facts.` : ''
  return { json: { held: held.map(heldView), more }, text: table(head, held.map(rowOf)) + rest }
}

const rowOf = (fact: HeldFact) => [
  ...[isoOf(fact.heldSinceMs), fact.merchant, fact.outTradeNo, fact.eventType, fact.providerRef],
  ...[`${fact.amountMinor} ${fact.currency}`, waitsFor(fact), isoOf(fact.limitAtMs)],
]
const waitsFor = ({ waitsFor, paymentRef }: HeldFact) =>
  waitsFor === 'order' ? 'its order' : `payment ${paymentRef ?? ''}`.trim()
