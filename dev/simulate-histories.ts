import { parseArgs } from 'node:util'
import { baseSeed } from '../test/simulation/base-seed.ts'
import { runHistory } from '../test/simulation/history/run-history.ts'
import { runSeeds, summaryOf } from '../test/simulation/run-seeds.ts'

const USAGE = `usage: npm run simulate:histories -- [--seeds N] [--seed S] [--threads T] [--trace]

Runs N histories (1,000) of the product's own code on a simulated Kafka, Postgres and clock, from seed S on (by default
one that follows from the commit). With --trace it prints every step of one seed.`

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    threads: { type: 'string', default: '2' },
    trace: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  const [first, count, threads] = [
    Number(values.seed ?? baseSeed().first),
    Number(values.seeds),
    Number(values.threads),
  ]
  if (values.help || ![first, count, threads].every((value) => Number.isSafeInteger(value) && value >= 0)) {
    process.stdout.write(`${USAGE}\n`)
    return values.help ? 0 : 2
  }
  if (values.trace) {
    const result = await runHistory(first, { say: (line) => process.stdout.write(`${line}\n`) })
    process.stdout.write(`${JSON.stringify(result)}\n`)
    return result.failure === undefined ? 0 : 1
  }
  const report = await runSeeds({ first, count, threads: Math.max(1, threads) })
  for (const { seed, kinds, failure } of report.failures)
    process.stdout.write(`seed ${seed} [${kinds.join(' ')}] ${failure?.detail.slice(0, 300) ?? ''}\n`)
  process.stdout.write(`from seed ${first}: ${summaryOf(report)}\n`)
  return report.failures.length === 0 ? 0 : 1
}

process.exitCode = await main()
