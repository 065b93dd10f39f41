// node bench/filter.ts [callbacks a second] [seconds] [rounds] [ms between the repeats of one order, default 1000]
// Question: of a storm of 90 % repeats that come 100 ms or more apart, what does Redis at the gateway keep out of Kafka,
// and what does a callback then cost in CPU: gateway, broker, processor, Postgres and Redis together?
// On the local stack: what others do there counts as the broker's and Postgres's, so run it on a quiet machine.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { family, type ProcessId } from '../dev/parts/process.ts'
import { say } from '../dev/parts/progress.ts'
import { LOCAL_DIR, readState } from '../dev/parts/state.ts'
import { partitionFor } from '../src/runtime/kafka/partition.ts'
import { createDatabase } from '../test/helpers/database.ts'
import { createMerchant, type SignedCallback } from '../test/helpers/merchant.ts'
import { ownRedis } from '../test/helpers/redis.ts'
import { createTopics } from '../test/helpers/topics.ts'
import { counter, cpuMicros, startMeasured, type Measured } from './processes.ts'
import { writeRequests } from './requests.ts'

const [perSecond = 500, seconds = 20, rounds = 2, apartMs = 1_000] = process.argv.slice(2).map(Number)
const PARTITIONS = 6
/** More where the machine is busy with other work, or the filter is given up for lateness that is not Redis's. */
const answerMsMax = process.env['REDIS_ANSWER_MS_MAX'] ?? '20'
const REPEATS = 10
/** Of orders whose repeats take turns. */
const group = Math.max(1, Math.round((perSecond * apartMs) / 1_000))
const groups = Math.max(1, Math.round((perSecond * seconds) / REPEATS / group))
const PARTS = ['gateway', 'broker', 'processor', 'postgres', 'redis'] as const
type Micros = Record<(typeof PARTS)[number], number>
interface Result {
  readonly records: number
  readonly filtered: number
  /** Of CPU, per callback. */
  readonly micros: Micros
}

const run = promisify(execFile)
const cpuOfPart = (prefix: string) =>
  parts.filter(({ name }) => name.startsWith(prefix)).reduce((sum, { id }) => sum + cpuOf(id), 0)
const cpuOf = (id: ProcessId) => family(id).reduce((sum, { pid }) => sum + cpuMicros(pid), 0)

const merchant = createMerchant()
const dir = mkdtempSync(join(tmpdir(), 'paidonce-bench-'))
const redis = await ownRedis()
const parts = readState(LOCAL_DIR)?.parts ?? []
try {
  const results: { without: Result; with: Result }[] = []
  for (let round = 0; round < rounds; round++) {
    const result = { without: await storm(`N${round}`), with: await storm(`R${round}`, redis.url) }
    say(JSON.stringify(result))
    results.push(result)
  }
  report(results)
} finally {
  await redis.stop()
  merchant.remove()
  rmSync(dir, { recursive: true, force: true })
}

async function storm(name: string, redisUrl?: string): Promise<Result> {
  const orders = Array.from({ length: groups * group }, (_, i) => `${name}-${i}`)
  const topics = await createTopics({ partitions: PARTITIONS })
  const database = await createDatabase()
  await database.pool.query(
    `insert into orders (merchant, out_trade_no, lane, status, amount_minor, currency)
     select $1, o, l, 'pending', 100, 'CNY' from unnest($2::text[], $3::smallint[]) as t (o, l)`,
    [merchant.name, orders, orders.map((order) => partitionFor(order, PARTITIONS))],
  )
  const env = {
    ...{ DATABASE_URL: database.url, MERCHANTS_DIR: merchant.dir },
    ...{ TOPIC_PREFIX: topics.prefix, APP_ID: topics.appId },
  }
  const started: Measured[] = []
  const start = async (main: string, more: Readonly<Record<string, string>> = {}) => {
    const process = await startMeasured(main, { ...env, ...more })
    started.push(process)
    return process
  }
  try {
    const processor = await start('src/processor/main.ts')
    const withRedis = redisUrl === undefined ? {} : { REDIS_URL: redisUrl, REDIS_ANSWER_MS_MAX: answerMsMax }
    const gateway = await start('src/gateway/main.ts', withRedis)
    const file = join(dir, name)
    const callbacks = spread(orders.map((order) => merchant.wechatpay(order)))
    writeRequests(file, callbacks)
    const cpu = (): Micros => ({
      ...{ gateway: cpuMicros(gateway.pid), processor: cpuMicros(processor.pid), redis: cpuOf(redis.id) },
      ...{ broker: cpuOfPart('kafka'), postgres: cpuOfPart('postgres') },
    })
    const before = cpu()
    const script = join(import.meta.dirname, 'paced-load.ts')
    const { stdout } = await run(process.execPath, [
      script,
      file,
      ...[gateway.port, perSecond, group, apartMs].map(String),
    ])
    const { answers, success } = JSON.parse(stdout) as { answers: number; success: number }
    if (success !== callbacks.length) throw new Error(`${answers - success} answers were no success`)
    const after = cpu()
    const micros = Object.fromEntries(
      PARTS.map((part) => [part, Math.round((after[part] - before[part]) / callbacks.length)]),
    ) as Micros
    const records = await counter(gateway.metricsPort, 'paidonce_gateway_publish_batch_records_sum')
    return { records, filtered: await counter(gateway.metricsPort, 'paidonce_callbacks_filtered_total'), micros }
  } finally {
    for (const process of started.reverse()) await process.stop()
    await topics.drop()
    await database.drop()
  }
}

/** Each order of a group in turn, ten times over, then the next group: the same order comes again a group later. */
function spread(callbacks: readonly SignedCallback[]): SignedCallback[] {
  const stream: SignedCallback[] = []
  for (let from = 0; from < callbacks.length; from += group)
    for (let repeat = 0; repeat < REPEATS; repeat++) stream.push(...callbacks.slice(from, from + group))
  return stream
}

function report(results: readonly { without: Result; with: Result }[]): void {
  const total = ({ micros }: Result) => PARTS.reduce((sum, part) => sum + micros[part], 0)
  const middle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
  const rows = [...PARTS.map((part) => [part, ({ micros }: Result) => micros[part]] as const), ['all', total] as const]
  console.log(`| CPU per callback, µs | without | with Redis |\n|---|---|---|`)
  for (const [name, of] of rows)
    console.log(
      `| ${name} | ${middle(results.map((r) => of(r.without)))} | ${middle(results.map((r) => of(r.with)))} |`,
    )
  const share = results.map((r) => Math.round((1 - r.with.records / r.without.records) * 1_000) / 10)
  const ratio = results.map((r) => Math.round((total(r.with) / total(r.without)) * 100) / 100)
  console.log(`records that fell away: ${share.join(', ')} %; CPU per callback with ÷ without: ${ratio.join(', ')}`)
}
