// npm run bench:patterns -- [--orders 500] [--kills 10] [--failovers 10] [--seed n] [--only name] [--write]
// Question: "why not just …?" Each usual way to act once on a repeated callback, beside ours, on the same callbacks, with
// real Postgres, Redis and Kafka: what is shipped twice, and what is never shipped?
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { dieTogether } from '../../dev/parts/process.ts'
import { say } from '../../dev/parts/progress.ts'
import { endAtHelp } from '../../dev/parts/usage.ts'
import { up } from '../../dev/stack.ts'
import { ownRedis } from '../../test/helpers/redis.ts'
import { randomOf } from '../../test/helpers/seed.ts'
import { FORMS } from './forms/all.ts'
import { OURS } from './our-system.ts'
import type { Leak, Played } from './play.ts'
import { runPattern } from './run.ts'

endAtHelp(`usage: npm run bench:patterns [-- --orders 500] [--kills 10] [--failovers 10] [--seed N] [--only NAME] [--write]

Plays the usual ways to act once on a repeated callback, and ours; --write puts the table into docs/patterns.md.`)
const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '500' },
    kills: { type: 'string', default: '10' },
    failovers: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
const DOCUMENT = join(import.meta.dirname, '../../docs/patterns.md')
const [BEGIN, END] = ['<!-- table: npm run bench:patterns -- --write -->', '<!-- end of table -->']

await up()
dieTogether()
say(`seed ${values.seed}`)
const redis = await ownRedis()
const played: Played[] = []
try {
  for (const name of [...Object.keys(FORMS), OURS]) {
    if (values.only !== undefined && values.only !== name) continue
    const counts = { orders: Number(values.orders), kills: Number(values.kills), failovers: Number(values.failovers) }
    const one = await runPattern(name, redis, { ...counts, random: randomOf(Number(values.seed)).next })
    say(JSON.stringify(one))
    played.push(one)
  }
} finally {
  await redis.stop()
}

const leak = ({ orders, doubled, lost }: Leak) => `${doubled} · ${lost} of ${orders}`
const lines = [
  `| | five at once | workers killed (${values.kills} times) | Redis fails over (${values.failovers} times) | callbacks/s |`,
  '|---|---|---|---|---|',
  ...played.map(
    ({ name, concurrency, crash, failover }) =>
      `| ${name === OURS ? `**${name}**` : name} | ${leak(concurrency)} | ${leak(crash)} | ${leak(failover)} | ${concurrency.callbacksPerSec} |`,
  ),
]
console.log(lines.join('\n'))
if (values.write) {
  const text = readFileSync(DOCUMENT, 'utf8')
  const [before, after] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (before < 0 || after < before) throw new Error(`${DOCUMENT} has no place for the table`)
  const table = `${BEGIN}\n\n${lines.join('\n')}\n\nSeed ${values.seed}.\n\n`
  writeFileSync(DOCUMENT, text.slice(0, before) + table + text.slice(after))
}
const ours = played.find(({ name }) => name === OURS)
const leaks = ours === undefined ? [] : [ours.concurrency, ours.crash, ours.failover]
process.exit(leaks.some(({ doubled, lost }) => doubled + lost > 0) ? 1 : 0)
