// npm run bench:patterns -- --help
// Question: "why not just …?" Each usual way to act once on a repeated callback, beside ours, on the same callbacks, with
// real Postgres, Redis and Kafka: what is shipped twice, and what is never shipped?
import { availableParallelism, loadavg } from 'node:os'
import { commitNow } from '../../chaos/commit-now.ts'
import { dieTogether } from '../../dev/parts/process.ts'
import { say } from '../../dev/parts/progress.ts'
import { usageMistake } from '../../dev/parts/usage.ts'
import { up } from '../../dev/stack.ts'
import { ownRedis } from '../../test/helpers/redis.ts'
import { randomOf } from '../../test/helpers/seed.ts'
import { readOptions, USAGE, type PatternOptions } from './options.ts'
import { OURS } from './our-system.ts'
import type { Played } from './play.ts'
import { runPattern } from './run.ts'
import { tableOf, writeTable } from './table.ts'

function wanted(): PatternOptions {
  const refuse = (mistake: string): never => {
    say(`${mistake}\n${USAGE}`)
    process.exit(2)
  }
  try {
    const options = readOptions(process.argv.slice(2))
    if (options === 'help') {
      process.stdout.write(`${USAGE}\n`)
      process.exit(0)
    }
    return 'mistake' in options ? refuse(options.mistake) : options
  } catch (error) {
    const mistake = usageMistake(error)
    if (mistake === undefined) throw error
    return refuse(mistake)
  }
}

const options = wanted()
const { seed, orders, kills, failovers } = options
// Read before it begins: a rate on a machine that did other work is to be known as such.
const load = (loadavg()[0] ?? 0).toFixed(1)
const origin =
  `Seed ${seed}, ${orders} orders, ${kills} kills, commit ${commitNow()}; ` +
  `${availableParallelism()} cores, load ${load} when it began.`
await up()
dieTogether()
say(origin)
const redis = await ownRedis()
const played: Played[] = []
try {
  for (const name of options.names) {
    const one = await runPattern(name, redis, { orders, kills, failovers, random: randomOf(seed).next })
    say(JSON.stringify(one))
    played.push(one)
  }
} finally {
  await redis.stop()
}

const table = tableOf(played, options)
console.log(table)
if (options.write) writeTable(table, origin)
const ours = played.find(({ name }) => name === OURS)
const leaks = ours === undefined ? [] : [ours.concurrency, ours.crash, ours.failover]
process.exit(leaks.some(({ doubled, lost }) => doubled + lost > 0) ? 1 : 0)
