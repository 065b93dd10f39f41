import { Option, type Command } from 'commander'
import { anomalyView } from '../store/anomaly-view.ts'
import { listAnomalies, type Anomaly, type AnomalyFilter } from '../store/list-anomalies.ts'
import { anomalyId, filterOf, takesFilter, type AnomalyOptions } from './anomaly-filter.ts'
import { withDatabase } from './connect.ts'
import { integer } from './options.ts'
import { isoOf, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options extends AnomalyOptions {
  readonly state: AnomalyFilter['state']
  readonly limit: number
  readonly after?: number
}

export const addAnomalyList = (noun: Command, run: Run) =>
  takesFilter(noun.command('list').description('open anomalies, oldest first; or resolved ones, newest first'))
    .addOption(new Option('--state <state>', 'which ones').choices(['open', 'resolved', 'all']).default('open'))
    .option('--limit <count>', 'how many at most', integer(1, 10_000), 100)
    .option('--after <id>', 'go on after the last one of the page before', anomalyId)
    .action((options: Options, command: Command) => run((context) => list(context, options), command))

async function list({ env }: CliContext, { state, limit, after, ...options }: Options): Promise<Output> {
  const filter = { state, ...filterOf(options, Date.now()) }
  const found = await withDatabase(env, (pool) => listAnomalies(pool, filter, { after, limit: limit + 1 }))
  const page = found.slice(0, limit)
  const next = found.length > limit ? (page.at(-1)?.id ?? null) : null
  const head = ['id', 'opened', 'kind', 'merchant', 'out_trade_no', 'order', 'owner', 'resolution']
  const more = next === null ? '' : `\nThere are more: --after ${next}`
  return {
    json: { anomalies: page.map(anomalyView), next },
    text: table(head, page.map(rowOf)) + more,
  }
}

const rowOf = (anomaly: Anomaly) => [
  ...[anomaly.id, isoOf(anomaly.openedAtMs), anomaly.kind, anomaly.merchant, anomaly.outTradeNo],
  ...[anomaly.orderStatus, anomaly.owner, anomaly.resolution],
]
