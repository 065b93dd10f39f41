import type { Command } from 'commander'
import { listBillRuns, readBillFindings, readBillRun, type BillFilter, type BillRun } from '../store/bill-runs.ts'
import type { BillFinding } from '../reconcile/bill/start.ts'
import { day, providerOption } from './bill-options.ts'
import { showBill, type ShownBill } from './bill-view.ts'
import { withDatabase } from './connect.ts'
import { csv } from './csv.ts'
import { CliFailure, EXIT } from './failure.ts'
import { integer, merchantName } from './options.ts'
import { isoOf, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options {
  readonly merchant?: string
  readonly provider?: string
  readonly date?: string
  readonly run?: number
  readonly limit: number
}
const FINDINGS_MAX = 100_000

export const addBillReport = (noun: Command, run: Run) =>
  noun
    .command('report')
    .description('what imported bills came to, the latest first; of one, all findings. 1 if there are any')
    .option('--run <number>', 'this one, with its findings', integer(1, Number.MAX_SAFE_INTEGER))
    .option('--merchant <merchant>', 'of this merchant', merchantName)
    .addOption(providerOption())
    .option('--date <date>', 'of this day in China; with merchant and provider: its findings', day)
    .option('--limit <count>', 'at most so many', integer(1, 1_000), 20)
    .action((options: Options, command: Command) => run((context) => report(context, options), command, { csv: true }))

async function report({ env }: CliContext, { run: id, limit, merchant, provider, date }: Options): Promise<Output> {
  return withDatabase(env, async (pool) => {
    const filter: BillFilter = {
      ...(merchant === undefined ? {} : { merchant }),
      ...(provider === undefined ? {} : { provider }),
      ...(date === undefined ? {} : { day: date }),
    }
    const isOne = id !== undefined || Object.keys(filter).length === 3
    if (!isOne) return listed(await listBillRuns(pool, filter, limit))
    const run = id === undefined ? standing(await listBillRuns(pool, filter, 100)) : await readBillRun(pool, id)
    if (run === undefined)
      throw new CliFailure(EXIT.undecided, 'No such bill was imported.', 'See: paidonce bill report')
    return showBill({
      ...shownOf(run),
      findings: (await readBillFindings(pool, run.id, FINDINGS_MAX)) as BillFinding[],
    })
  })
}

/** The findings of an import stand, whatever a later one could not decide. */
function standing(runs: readonly BillRun[]): BillRun | undefined {
  const ended = runs.filter(({ supersededBy, result }) => supersededBy === null && result !== null)
  return ended.find(({ result }) => result !== 'undecided') ?? ended[0]
}

type Kept = Pick<ShownBill, 'sums' | 'counts' | 'notJudged' | 'undecided'>
const NOTHING = { sums: null, counts: {}, notJudged: 0, undecided: [] } as unknown as Kept

const shownOf = ({ id, provider, merchant, day: of, filesSha256, result, digest, report: kept }: BillRun) => ({
  ...{ run: id, provider, merchant, day: of, filesSha256, result: result ?? 'undecided', digest },
  ...((kept as Kept | null) ?? NOTHING),
})

function listed(runs: readonly BillRun[]): Output {
  const rows = runs.map((run) => {
    const { counts } = (run.report as Kept | null) ?? NOTHING
    const found = Object.values(counts).reduce((sum, count) => sum + count, 0)
    const state = run.result ?? 'not finished'
    return [
      ...[run.id, isoOf(run.startedAtMs), run.actor, run.provider, run.merchant, run.day],
      ...[
        run.supersededBy === null ? state : `${state}, then run ${run.supersededBy}`,
        found,
        run.digest?.slice(0, 12) ?? null,
      ],
    ]
  })
  const head = ['run', 'started', 'by', 'provider', 'merchant', 'date', 'result', 'findings', 'digest']
  const isFound = runs.some(({ result, supersededBy }) => result === 'findings' && supersededBy === null)
  return {
    json: {
      bills: runs.map((run) => ({
        ...{ run: run.id, actor: run.actor, provider: run.provider, merchant: run.merchant, date: run.day },
        ...{ started_at: isoOf(run.startedAtMs), finished_at: isoOf(run.finishedAtMs), result: run.result },
        ...{ digest: run.digest, files_sha256: run.filesSha256, superseded_by: run.supersededBy, report: run.report },
      })),
    },
    text: table(head, rows),
    csv: csv(head, rows),
    findings: isFound,
  }
}
