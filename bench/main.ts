// npm run bench: every figure of docs/benchmarks.md, as ratios within this run, and the document itself.
import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import Table from 'cli-table3'
import { up } from '../dev/stack.ts'
import { say } from '../dev/parts/progress.ts'
import { endAtHelp } from '../dev/parts/usage.ts'
import { endToEnd, type EndToEnd } from './end-to-end.ts'
import { gatewayCpu } from './gateway-cpu.ts'
import { providerCosts } from './provider-cost.ts'
import { steady } from './steady.ts'

const ROUNDS = 3
const CALLBACKS = 20_000
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
const spread = (values: readonly number[]) => `${Math.min(...values)}–${Math.max(...values)}`

endAtHelp(
  'usage: npm run bench\n\nMeasures every figure of docs/benchmarks.md in about 6 minutes, and writes them there.',
)
await up()
say(`about 6 minutes; ${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}`)

say('1/4 verification per provider ÷ its bare crypto operation')
const costs = providerCosts()

say('2/4 gateway CPU per accepted callback ÷ CPU of the bare RSA-2048 verification')
const gateway = await gatewayCpu({ rounds: ROUNDS })

say('3/4 end to end ÷ one Postgres transaction per callback')
const rounds: EndToEnd[] = []
for (let round = 0; round < ROUNDS; round++)
  for (const duplicates of [0, 0.9]) {
    const result = await endToEnd({ callbacks: CALLBACKS, duplicates, round })
    say(`  ${JSON.stringify(result)}`)
    rounds.push(result)
  }

say('4/4 the machine at a steady 1,000 callbacks/s, with and without the linger')
const calm = [
  await steady({ lingerMs: 20, perSecond: 1_000, seconds: 20 }),
  await steady({ lingerMs: 0, perSecond: 1_000, seconds: 20 }),
]

const lines = new Table({ head: ['question', 'median', 'rounds', 'goal'], style: { head: [], border: [] } })
const rows: [string, string, string, string][] = [
  ...costs.map(({ name, operation, verifyMicros, bareMicros, share }): [string, string, string, string] => [
    `${name}: rate of a verification ÷ rate of bare ${operation}`,
    `${share}`,
    `${verifyMicros} against ${bareMicros} µs`,
    operation === 'RSA-2048 and AES-256-GCM' ? '≥ 0.6' : '',
  ]),
  [
    'gateway CPU per accepted callback ÷ bare RSA-2048 verification',
    `${gateway.ratio}`,
    spread(gateway.rounds.map(({ ratio }) => ratio)),
    '≤ 4',
  ],
  ...[0, 0.9].map((share): [string, string, string, string] => {
    const of = rounds.filter(({ duplicates }) => duplicates === share)
    const ratios = of.map(({ ratio }) => ratio)
    const rates = `${median(of.map((one) => one.oursPerSec))} against ${median(of.map((one) => one.baselinePerSec))}/s`
    return [
      `end to end rate ÷ synchronous baseline, ${share * 100} % duplicates (${rates})`,
      `${median(ratios)}`,
      spread(ratios),
      '≥ 4',
    ]
  }),
  ...calm.map((one): [string, string, string, string] => [
    `machine at ${one.perSecond}/s, linger ${one.lingerMs} ms (idle: ${one.idlePercent} %)`,
    `${one.machinePercent} %`,
    `${one.kafkaTransactionsPerSec} Kafka transactions/s`,
    one.lingerMs > 0 ? '≤ 40 %' : '',
  ]),
]
lines.push(...rows)
console.log(lines.toString())

const file = join(import.meta.dirname, 'results.md')
const markdown = [
  '| question | median | rounds | goal |',
  '|---|---|---|---|',
  ...rows.map((row) => `| ${row.join(' | ')} |`),
]
writeFileSync(file, `${markdown.join('\n')}\n`)
say('written to bench/results.md; what holds each figure back is said in docs/benchmarks.md')
