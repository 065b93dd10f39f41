import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { z } from 'zod'
import type { BillProvider } from '../providers/bill.ts'
import { systemClock } from '../runtime/clock.ts'
import { GROWTH, POSTGRES, readConfig } from '../runtime/config.ts'
import { day, providerOption } from './bill-options.ts'
import { showBill } from './bill-view.ts'
import { cliLog, withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { merchantName, shortText, userName } from './options.ts'
import { createStages } from './progress.ts'
import type { OnProgress } from '../reconcile/bill/start.ts'
import type { Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options {
  readonly provider: BillProvider
  readonly merchant: string
  readonly date: string
  readonly dryRun?: true
  readonly publish?: true
  readonly fetch?: true
  readonly actor: string
}

const FILES_MAX = 20
const ENV = { ...POSTGRES, MERCHANTS_DIR: z.string().min(1), ARCHIVE_AFTER_DAYS: GROWTH.ARCHIVE_AFTER_DAYS }
const FETCH_ENV = { MERCHANTS_DIR: ENV.MERCHANTS_DIR, QUERY_KEYS_DIR: z.string().min(1) }
/** About what a row takes: the bar needs no more. */
const ROW_BYTES = 300

export const addBillImport = (noun: Command, run: Run) =>
  noun
    .command('import')
    .description(
      "match a provider's bill of a day with what is known here; 1 if they differ, 3 if it cannot be trusted",
    )
    .argument('[files...]', 'the bill: as it came, plain, gzipped or zipped; several accounts of one day together')
    .addOption(providerOption().makeOptionMandatory())
    .requiredOption('--merchant <merchant>', 'whose bill', merchantName)
    .requiredOption('--date <date>', 'the day in China that it is of', day)
    .option('--fetch', 'fetch it from the provider, instead of files')
    .option('--publish', 'ask the provider about each difference, and publish what it confirms')
    .option('--dry-run', 'match and say, write nothing down and ask nobody')
    .option('--actor <name>', 'who does it; it is kept', shortText, userName())
    .action((files: string[], options: Options, command: Command) =>
      run((context) => importBills(context, files, options), command, { csv: true }),
    )

async function importBills(context: CliContext, files: readonly string[], options: Options): Promise<Output> {
  if ((files.length === 0) !== (options.fetch === true))
    throw new CliFailure(EXIT.usage, 'Which bill?', 'Name its files, or have it fetched with --fetch.')
  if (options.fetch !== true) return importFiles(context, files, options)
  const dir = await mkdtemp(join(tmpdir(), 'paidonce-bill-'))
  try {
    return await importFiles(context, [await fetched(context, dir, options)], options)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function fetched({ env }: CliContext, dir: string, { provider, merchant, date }: Options): Promise<string> {
  const config = readConfig(FETCH_ENV, env)
  const { billFormatOf } = await import('../providers/bill-formats.ts')
  const { fetchBill } = await import('../reconcile/bill/fetch/start.ts')
  const { asked } = billFormatOf(config.MERCHANTS_DIR, merchant, provider)
  const [queryKeysDir, merchantsDir] = [config.QUERY_KEYS_DIR, config.MERCHANTS_DIR]
  const end = await fetchBill({ merchant, asked, day: date, dir, queryKeysDir, merchantsDir })
  if (end.kind === 'fetched') return end.path
  if (end.kind === 'no_keys') throw new CliFailure(EXIT.usage, end.detail, 'Write it, or name the files of the bill.')
  const remedy = 'A bill is made from about ten in China on, the day after. Try again, or name its files.'
  throw new CliFailure(EXIT.undecided, `There is no bill of ${date}: ${end.detail}.`, remedy)
}

async function importFiles({ env, dryRun }: CliContext, paths: readonly string[], options: Options): Promise<Output> {
  if (paths.length > FILES_MAX) throw new CliFailure(EXIT.usage, `At most ${FILES_MAX} files make a day.`)
  if (dryRun && options.publish === true)
    throw new CliFailure(EXIT.usage, '--dry-run publishes nothing.', 'Leave out --publish.')
  const bytes = await sizeOf(paths)
  const config = readConfig(ENV, env)
  const { billFormatOf } = await import('../providers/bill-formats.ts')
  const { importBill } = await import('../reconcile/bill/start.ts')
  const { startSettling } = await import('../reconcile/bill/settle/start.ts')
  const { provider, merchant, date, actor } = options
  const format = billFormatOf(config.MERCHANTS_DIR, merchant, provider)
  const progress = createStages(Math.ceil(bytes / ROW_BYTES))
  const request = { provider, merchant, day: date, actor, paths, format, dryRun }
  try {
    const end = await withDatabase(env, async (pool) => {
      const settling =
        options.publish === true
          ? await startSettling(env, {
              ...{ provider, merchant, day: date, asked: format.asked, pool, clock: systemClock, log: cliLog(env) },
              onProgress: (done, total) => progress.at('findings asked about', done, total),
            })
          : undefined
      const onProgress: OnProgress = (stage, done, total) => progress.at(`rows ${stage}`, done, total)
      const deps = { databaseUrl: config.DATABASE_URL, pool, clock: systemClock, onProgress }
      try {
        return await importBill(
          { ...request, archiveAfterDays: config.ARCHIVE_AFTER_DAYS },
          settling === undefined ? deps : { ...deps, settle: settling.settle },
        )
      } finally {
        await settling?.close()
      }
    })
    return end.kind === 'busy' ? BUSY : showBill(end.report)
  } finally {
    progress.stop()
  }
}

const BUSY: Output = {
  ...{ json: { result: 'busy' }, text: 'Another import of this bill runs: wait for it.', csv: '', undecided: true },
}

async function sizeOf(paths: readonly string[]): Promise<number> {
  let bytes = 0
  for (const path of paths) {
    const stats = await stat(path).catch((error: unknown) => {
      throw new CliFailure(EXIT.usage, `${path} cannot be read.`, 'Name the file of the bill.', error)
    })
    // It is read more than once: a pipe can be read once.
    if (!stats.isFile()) throw new CliFailure(EXIT.usage, `${path} is no file.`, 'Save the bill to a file.')
    bytes += stats.size
  }
  return bytes
}
