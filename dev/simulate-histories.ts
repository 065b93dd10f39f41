import { parseArgs } from 'node:util'
import { usageMistake } from './parts/usage.ts'
import { baseSeed } from '../test/simulation/base-seed.ts'
import { runSeeds, summaryOf } from '../test/simulation/run-seeds.ts'

const USAGE = `usage: npm run simulate:histories -- [--seeds N] [--seed S] [--threads T] [--trace]

Runs N histories (1,000) of the product's own code on a simulated Kafka, Postgres and clock, from seed S on (by default
one that follows from the commit), on T threads (2, at most 64). The same seeds have the same digest. With --trace it
prints every step of one seed: the time in ms, who moves (· is a server) and what, and the result as JSON at the end.
Exit 0: no history has failed; 1: the seeds of those that have are printed.`

const THREADS_MAX = 64

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1000' },
      seed: { type: 'string' },
      threads: { type: 'string', default: '2' },
      trace: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const first = integer(values.seed ?? String(baseSeed().first), 0, Number.MAX_SAFE_INTEGER)
  // None at all would pass, and have shown nothing.
  const count = integer(values.seeds, 1, Number.MAX_SAFE_INTEGER)
  const threads = integer(values.threads, 1, THREADS_MAX)
  const isSound = first !== undefined && count !== undefined && threads !== undefined
  if (values.help || !isSound || first > Number.MAX_SAFE_INTEGER - count) {
    process.stdout.write(`${USAGE}\n`)
    return values.help ? 0 : 2
  }
  if (values.trace) {
    const { runHistory } = await import('../test/simulation/history/run-history.ts') // all of the product
    const result = await runHistory(first, { say: (line) => process.stdout.write(`${line}\n`) })
    process.stdout.write(`${JSON.stringify(result)}\n`)
    return result.failure === undefined ? 0 : 1
  }
  const report = await runSeeds({ first, count, threads: Math.min(threads, count) })
  for (const { seed, kinds, failure } of report.failures)
    process.stdout.write(`seed ${seed} [${kinds.join(' ')}] ${failure?.detail.slice(0, 300) ?? ''}\n`)
  const again = report.failures[0]?.seed
  if (again !== undefined)
    process.stdout.write(`step by step: npm run -s simulate:histories -- --seed ${again} --trace\n`)
  process.stdout.write(`from seed ${first}: ${summaryOf(report)}\n`)
  return report.failures.length === 0 ? 0 : 1
}

function integer(text: string, least: number, most: number): number | undefined {
  const value = Number(text)
  return /^\d{1,16}$/.test(text) && value >= least && value <= most ? value : undefined
}

try {
  process.exitCode = await main()
} catch (error) {
  const mistake = usageMistake(error)
  if (mistake === undefined) throw error
  process.stderr.write(`${mistake}\n${USAGE}\n`)
  process.exitCode = 2
}
