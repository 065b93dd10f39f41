// Question: how soon after the answer to the merchant's POST /v1/orders do workers see the event of a payment that came
// before its order, on idle lanes and beside other callbacks?
// node bench/early.ts [orders] [callbacks per second of the busy run]
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { javaFollow } from '../dev/parts/java-topics.ts'
import { SHIPMENT_TOPIC } from '../src/schemas/topics.ts'
import { stackEnv } from '../test/helpers/stack.ts'
import { until } from '../test/helpers/until.ts'
import { startWholeSystem, type WholeSystem } from '../test/helpers/whole-system.ts'
import { writeRequests } from './requests.ts'

const [orders = '400', perSecond = '200'] = process.argv.slice(2)
const ORDERS = Number(orders)
/** One at a time, with a pause: a lane is back at rest before the next, on idle ones. */
const PAUSE_MS = 50
const run = promisify(execFile)

const system = await startWholeSystem({ partitions: 6, processors: 1, env: { LOG_LEVEL: 'error' } })
const { topics } = system
/** When a read_committed Java consumer had an order's event in its hands, by this machine's clock. */
const seenMs = new Map<string, number>()
const follower = await javaFollow(stackEnv().KAFKA_BROKERS, [topics.name(SHIPMENT_TOPIC)], (record) =>
  seenMs.set(record.key ?? '', record.seenMs),
)
try {
  await measure('warm-up', 'W')
  console.log('idle lanes', await measure('idle', 'I'))
  console.log(`beside ${perSecond} callbacks/s`, await besideLoad(() => measure('busy', 'B')))
} finally {
  await follower.stop()
  await system.stop()
}

/** @returns in milliseconds, from the answer to the event in a worker's hands */
async function measure(what: string, prefix: string) {
  const names = Array.from({ length: ORDERS }, (_, i) => `${prefix}${String(i).padStart(6, '0')}`)
  await system.post(names.map((name) => system.merchant.wechatpay(name)))
  await until(`${what}: all are held`, async () => (await awaited(system)) >= ORDERS, 60_000)
  const answeredMs = new Map<string, number>()
  for (const name of names) {
    await create(system, [name], 201)
    answeredMs.set(name, Date.now())
    await delay(PAUSE_MS)
  }
  await until(`${what}: all are seen`, () => names.every((name) => seenMs.has(name)), 60_000)
  const latenciesMs = names.map((name) => (seenMs.get(name) ?? NaN) - (answeredMs.get(name) ?? NaN))
  const sorted = latenciesMs.toSorted((a, b) => a - b)
  const quantile = (share: number) => sorted[Math.min(ORDERS - 1, Math.floor(ORDERS * share))]
  return { orders: ORDERS, p50Ms: quantile(0.5), p99Ms: quantile(0.99), maxMs: sorted.at(-1) }
}

/** Payments of other orders, which exist, at an even rate on every lane while `work` runs. */
async function besideLoad<T>(work: () => Promise<T>): Promise<T> {
  const seconds = Math.ceil((ORDERS * (PAUSE_MS + 50)) / 1_000) + 10
  const others = Array.from({ length: Number(perSecond) * seconds }, (_, i) => `L${String(i).padStart(7, '0')}`)
  for (let from = 0; from < others.length; from += 500) await create(system, others.slice(from, from + 500))
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-bench-'))
  try {
    const file = join(dir, 'requests')
    writeRequests(
      file,
      others.map((name) => system.merchant.wechatpay(name)),
    )
    const load = run(process.execPath, [
      join(import.meta.dirname, 'paced-load.ts'),
      file,
      String(system.gateway.port),
      perSecond,
    ])
    const over = load.then(
      () => Promise.reject(new Error('the load ended before the measurement did')),
      (error: unknown) => Promise.reject(new Error('the load broke off', { cause: error })),
    )
    over.catch(() => undefined) // It is killed in the end.
    const result = await Promise.race([work(), over])
    load.child.kill()
    return result
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function create({ call, merchant }: WholeSystem, names: readonly string[], status = 200): Promise<void> {
  const bodies = names.map((out_trade_no) => ({
    ...{
      merchant: merchant.name,
      out_trade_no,
      amount_minor: 100,
      currency: 'CNY',
      expires_at: '2036-11-11T12:30:00Z',
    },
  }))
  const answer = await call('POST', '/v1/orders', names.length === 1 ? bodies[0] : { orders: bodies })
  if (answer.status !== status) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`)
}
async function awaited({ database }: WholeSystem): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>(
    `select count(*)::int as n from orders where status = 'awaited' and held_count > 0`,
  )
  return rows[0]?.n ?? 0
}
