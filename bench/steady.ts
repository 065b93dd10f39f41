// Question: what share of this machine does a steady rate take, load and brokers included, and what does the linger save?
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { partitionFor } from '../src/runtime/kafka/partition.ts'
import { createDatabase } from '../test/helpers/database.ts'
import { createMerchant } from '../test/helpers/merchant.ts'
import { createTopics } from '../test/helpers/topics.ts'
import { counter, machineTicks, startMeasured } from './processes.ts'
import { withDuplicates, writeRequests } from './requests.ts'

export interface Steady {
  readonly lingerMs: number
  readonly perSecond: number
  /** Of all cores, while the load ran. */
  readonly machinePercent: number
  /** The machine's own unrest before the load came, everything already started. */
  readonly idlePercent: number
  readonly kafkaTransactionsPerSec: number
}

const PARTITIONS = 6
const run = promisify(execFile)

export async function steady(options: { lingerMs: number; perSecond: number; seconds: number }): Promise<Steady> {
  const { lingerMs, perSecond, seconds } = options
  const merchant = createMerchant()
  const topics = await createTopics({ partitions: PARTITIONS })
  const database = await createDatabase()
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-bench-'))
  const orders = Array.from({ length: perSecond * seconds }, (_, i) => `S${lingerMs}N${String(i).padStart(7, '0')}`)
  await database.pool.query(
    `insert into orders (merchant, out_trade_no, lane, status, amount_minor, currency)
     select $1, o, l, 'pending', 100, 'CNY' from unnest($2::text[], $3::smallint[]) as t (o, l)`,
    [merchant.name, orders, orders.map((order) => partitionFor(order, PARTITIONS))],
  )
  const env = {
    DATABASE_URL: database.url,
    MERCHANTS_DIR: merchant.dir,
    TOPIC_PREFIX: topics.prefix,
    APP_ID: topics.appId,
  }
  const processor = await startMeasured('src/processor/main.ts', { ...env, LINGER_MS: String(lingerMs) })
  const gateway = await startMeasured('src/gateway/main.ts', env)
  try {
    const file = join(dir, 'requests')
    writeRequests(file, withDuplicates(orders, orders.length, merchant.wechatpay))
    const idlePercent = await busyPercent(() => run('sleep', ['3']))
    const transactions = () => counter(processor.metricsPort, 'paidonce_transactions_total', 'step="kafka"')
    const before = await transactions()
    const script = join(import.meta.dirname, 'paced-load.ts')
    let kafkaTransactions = 0
    const machinePercent = await busyPercent(async () => {
      const { stdout } = await run(process.execPath, [script, file, String(gateway.port), String(perSecond)])
      kafkaTransactions = (await transactions()) - before
      const result = JSON.parse(stdout) as { answers: number; success: number; seconds: number }
      if (result.success !== result.answers) throw new Error('not every callback was accepted')
      if (result.seconds > seconds * 1.1) throw new Error(`the machine is too slow for ${perSecond} a second`)
    })
    const kafkaTransactionsPerSec = Math.round(kafkaTransactions / seconds)
    return { lingerMs, perSecond, machinePercent, idlePercent, kafkaTransactionsPerSec }
  } finally {
    await gateway.stop()
    await processor.stop()
    await topics.drop()
    await database.drop()
    merchant.remove()
    rmSync(dir, { recursive: true, force: true })
  }
}

async function busyPercent(work: () => Promise<unknown>): Promise<number> {
  const before = machineTicks()
  await work()
  const after = machineTicks()
  return Math.round(((after.busy - before.busy) / (after.all - before.all)) * 1_000) / 10
}
