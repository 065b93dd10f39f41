// Question: how many callbacks a second go the whole way (HTTP, verification, Kafka, Postgres, three events in Kafka) on
// this machine, as a multiple of the usual way (verify, one Postgres transaction per callback, answer)?
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type pg from 'pg'
import { createOffsetReader } from '../src/runtime/kafka/offset-reader.ts'
import { createLog } from '../src/runtime/log.ts'
import { INPUT_TOPIC, ledgerGroup } from '../src/schemas/topics.ts'
import { createDatabase } from '../test/helpers/database.ts'
import { createMerchant, type TestMerchant } from '../test/helpers/merchant.ts'
import { processEnv, stackEnv } from '../test/helpers/stack.ts'
import { createTopics } from '../test/helpers/topics.ts'
import { until } from '../test/helpers/until.ts'
import { partitionFor } from '../src/runtime/kafka/partition.ts'
import { end, startMeasured } from './processes.ts'
import { withDuplicates, writeRequests } from './requests.ts'
import type { LoadResult } from './http-load.ts'

export interface EndToEnd {
  readonly duplicates: number
  readonly callbacks: number
  readonly oursPerSec: number
  readonly baselinePerSec: number
  readonly ratio: number
}

const PARTITIONS = 6
const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 256)
/** Sent before the clock starts: both have compiled their hot code and filled their pools by then. */
const WARM_UP = 4_000
const run = promisify(execFile)

/** One round: the same signed callbacks through both, one after the other. */
export async function endToEnd(options: { callbacks: number; duplicates: number; round: number }): Promise<EndToEnd> {
  const { callbacks, duplicates, round } = options
  const orders = Array.from(
    { length: Math.round(callbacks * (1 - duplicates)) },
    (_, i) => `E${duplicates * 100}R${round}N${String(i).padStart(7, '0')}`,
  )
  const warmUp = Array.from(
    { length: WARM_UP },
    (_, i) => `W${duplicates * 100}R${round}N${String(i).padStart(7, '0')}`,
  )
  const merchant = createMerchant()
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-bench-'))
  const file = join(dir, 'requests')
  try {
    writeRequests(`${file}-warm`, withDuplicates(warmUp, WARM_UP, merchant.wechatpay))
    writeRequests(file, withDuplicates(orders, callbacks, merchant.wechatpay))
    const all = [...warmUp, ...orders]
    const baselinePerSec = callbacks / (await throughBaseline(merchant, all, file))
    const oursPerSec = callbacks / (await throughOurs(merchant, all, file))
    const ratio = Math.round((oursPerSec / baselinePerSec) * 100) / 100
    return {
      duplicates,
      callbacks,
      oursPerSec: Math.round(oursPerSec),
      baselinePerSec: Math.round(baselinePerSec),
      ratio,
    }
  } finally {
    merchant.remove()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** @returns seconds until the last event is committed in Kafka */
async function throughOurs(merchant: TestMerchant, orders: readonly string[], file: string): Promise<number> {
  const topics = await createTopics({ partitions: PARTITIONS })
  const database = await createDatabase()
  const offsets = await createOffsetReader(
    { brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false },
    createLog('bench', 'silent'),
  )
  const env = {
    DATABASE_URL: database.url,
    MERCHANTS_DIR: merchant.dir,
    TOPIC_PREFIX: topics.prefix,
    APP_ID: topics.appId,
  }
  await database.pool.query(
    `insert into orders (merchant, out_trade_no, lane, status, amount_minor, currency)
     select $1, o, l, 'pending', 100, 'CNY' from unnest($2::text[], $3::smallint[]) as t (o, l)`,
    [merchant.name, orders, orders.map((order) => partitionFor(order, PARTITIONS))],
  )
  await database.pool.query('vacuum analyze orders')
  const processor = await startMeasured('src/processor/main.ts', env)
  const gateway = await startMeasured('src/gateway/main.ts', env)
  try {
    const lanes = Array.from({ length: PARTITIONS }, (_, lane) => lane)
    const emitted = async () => {
      const ledgers = lanes.map((lane) => offsets.committed(ledgerGroup(topics.appId), topics.name(INPUT_TOPIC), lane))
      return (await Promise.all(ledgers)).reduce((sum, ledger) => sum + (ledger?.offset ?? 0), 0)
    }
    await load(`${file}-warm`, gateway.port)
    await until('the first events are in Kafka', async () => (await emitted()) === 3 * WARM_UP, 120_000)
    const startedMs = performance.now()
    const sent = await load(file, gateway.port)
    if (process.env['VERBOSE'] === '1') console.log(sent)
    await until('every event is in Kafka', async () => (await emitted()) === 3 * orders.length, 120_000)
    return (performance.now() - startedMs) / 1_000
  } finally {
    await gateway.stop()
    await processor.stop()
    await offsets.close()
    await topics.drop()
    await database.drop()
  }
}

/** @returns seconds until the last callback is answered, which is after its commit */
async function throughBaseline(merchant: TestMerchant, orders: readonly string[], file: string): Promise<number> {
  const database = await createDatabase()
  await prepareBaseline(database.pool, merchant.name, orders)
  const child = spawn(process.execPath, [join(import.meta.dirname, 'baseline-server.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: processEnv({ DATABASE_URL: database.url, MERCHANTS_DIR: merchant.dir }),
  })
  try {
    const line = await new Promise<string>((resolve, reject) => {
      child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()))
      child.once('exit', () => reject(new Error('the baseline server ended')))
    })
    const { port } = JSON.parse(line) as { port: number }
    await load(`${file}-warm`, port)
    return (await load(file, port)).seconds
  } finally {
    await end(child)
    await database.drop()
  }
}

async function prepareBaseline(pool: pg.Pool, merchant: string, orders: readonly string[]): Promise<void> {
  await pool.query(readFileSync(join(import.meta.dirname, 'baseline.sql'), 'utf8'))
  await pool.query(
    `insert into purchases (merchant, out_trade_no, status, amount_minor)
     select $1, o, 'pending', 100 from unnest($2::text[]) as o`,
    [merchant, orders],
  )
  await pool.query('vacuum analyze purchases')
}

/** Sends each request of the file once. @throws Error if one was not answered with success */
async function load(file: string, port: number): Promise<LoadResult> {
  const args = [join(import.meta.dirname, 'http-load.ts'), file, String(port), String(CONNECTIONS), 'once']
  const result = JSON.parse((await run(process.execPath, args)).stdout) as LoadResult
  if (result.success !== result.answers) throw new Error(`${result.answers - result.success} answers were no success`)
  return result
}
