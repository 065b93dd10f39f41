import { createServer, type AddressInfo } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi } from '../../src/api/start.ts'
import { readGatewayConfig } from '../../src/gateway/config.ts'
import { startGateway } from '../../src/gateway/start.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import type { Running } from '../../src/runtime/lifecycle.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createKeys } from '../../src/simulator/create-keys.ts'
import { pointQueriesAt } from '../../src/simulator/create-query-keys.ts'
import { STORIES, type StoryShares } from '../../src/simulator/stories.ts'
import { planOf } from '../../src/simulator/plan.ts'
import { runSimulation } from '../../src/simulator/start.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { startChild, type Child } from '../helpers/child.ts'
import { createInstallation, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { QUICK } from '../helpers/reconciler.ts'
import { printedRandom } from '../helpers/seed.ts'
import { until } from '../helpers/until.ts'

const ORDERS = 300
const PARTITIONS = 3
/** A minute of the schedule: nearly all are paid by then, as in life, and never asked about. */
const FIRST_MS = 10_000
/** What two loaded cores take from due to heard; the provider's whole seconds are in it. */
const ASKING_MS_MAX = 5_000
const PROVIDERS = { wechatpay: 0.4, 'wechatpay-v2': 0.15, alipay: 0.3, stripe: 0.15 }
const PAID_ONLY = Object.fromEntries(STORIES.map((story) => [story, 0])) as unknown as StoryShares
const { seed } = printedRandom('silent orders')

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const RECONCILER = new URL('../helpers/reconciler-child.ts', import.meta.url).pathname

let it: Installation
const running: Running[] = []
const reconcilers: Child[] = []
const directory = mkdtempSync(join(tmpdir(), 'silent-'))
const where = {
  ...{ merchantsDir: join(directory, 'merchants'), sendersDir: join(directory, 'senders') },
  queriesDir: join(directory, 'queries'),
}
beforeAll(async () => {
  it = await createInstallation({ partitions: PARTITIONS })
})
afterAll(async () => {
  await Promise.all([...running.map((one) => one.stop()), ...reconcilers.map((one) => one.kill())])
  await it.drop()
  rmSync(directory, { recursive: true, force: true })
})

test(
  'callbacks of 5 % of orders are lost: each is paid by query, once and in time; come late, all are duplicates',
  {
    timeout: 300_000,
  },
  async () => {
    const { pool } = it.database
    const keys = await createKeys(where, ['shop'], new Date())
    const { token, hash } = mintToken()
    await insertApiToken(pool, { name: 'simulator', tokenHash: hash, merchant: null, role: 'admin', expiresAtMs: null })
    const env = it.env({ MERCHANTS_DIR: where.merchantsDir })
    const log = createLog('test', 'error')
    const processor = await startTestProcessor(it)
    const api = await startApi(readApiConfig(env), { log })
    const gateway = await startGateway(readGatewayConfig(env), { log })
    running.push(processor, api, gateway)
    await untilSettled([processor], PARTITIONS)
    await until('all are ready', async () => {
      const probes = [api, gateway].map(({ metricsPort }) => fetch(`http://127.0.0.1:${metricsPort}/readyz`))
      return (await Promise.all(probes)).every(({ ok }) => ok)
    })
    const orders = planOf({
      ...{
        seed,
        runId: 'Q',
        merchants: ['shop'],
        orders: ORDERS,
        deliveriesPerOrder: 3,
        spreadMs: 6_000,
        againMs: 1_000,
      },
      ...{ stories: PAID_ONLY, providers: PROVIDERS, silentShare: 0.05, reportShare: 0, slowShare: 0, cutOffShare: 0 },
    })
    const silent = orders.filter(({ isSilent }) => isSilent === true).map(({ outTradeNo }) => outTradeNo)
    expect(silent.length).toBeGreaterThan(3)

    const port = await freePort()
    pointQueriesAt(where.queriesDir, `http://127.0.0.1:${port}`, { requestsPerSec: 1_000 })
    const schedule = { ...QUICK, QUERY_FIRST_MS: String(FIRST_MS), QUERY_SPREAD_MS: '500' }
    const of = { ...schedule, MERCHANTS_DIR: where.merchantsDir, QUERY_KEYS_DIR: where.queriesDir, METRICS_PORT: '0' }
    reconcilers.push(startChild(RECONCILER, it.env(of)), startChild(RECONCILER, it.env(of)))
    for (const one of reconcilers) await one.said('reconciler asks', ({ msg }) => msg === 'reconciler asks', 60_000)
    const [late, over] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    const playing = runSimulation({
      ...{ orders, keys, gateways: [`http://127.0.0.1:${gateway.port}`], timeScale: 0.001, late: late.promise },
      ...{ api: { url: `http://127.0.0.1:${api.port}`, token }, logFile: join(directory, 'run.jsonl') },
      queries: { port, until: over.promise },
    })
    let broken: unknown
    playing.catch((error: unknown) => (broken = error)) // Awaited in the end.

    const countOf = async (text: string) => Number((await pool.query<{ count: string }>(text)).rows[0]?.count)
    await until(
      'every order is paid',
      async () => {
        if (broken !== undefined) throw broken as Error
        const paid = await countOf(`select count(*) from orders where status = 'paid'`)
        if (paid < ORDERS) throw new Error(`${paid} of ${await countOf('select count(*) from orders')} are paid`)
        return true
      },
      150_000,
    )
    const { rows: learnt } = await pool.query<{ order: string; paidAgeMs: number; learntAgeMs: number }>(
      `select o.out_trade_no as order, extract(epoch from o.paid_at - o.created_at)::float8 * 1000 as "paidAgeMs",
       extract(epoch from d.received_at - o.created_at)::float8 * 1000 as "learntAgeMs"
     from orders o join deliveries d on d.order_id = o.id and d.source = 'query' and d.outcome = 'applied'
     where o.out_trade_no = any($1)`,
      [silent],
    )
    expect(learnt.map(({ order }) => order).sort()).toEqual([...silent].sort())
    console.log(`${silent.length} of ${ORDERS} silent; age when paid, and when that was learnt, in ms:`)
    console.log(learnt.map((one) => `${Math.round(one.paidAgeMs)} ${Math.round(one.learntAgeMs)}`).join(', '))
    // The last question before the payment was at most at its age, and the next comes at most two and a half times as late.
    const overdueMs = learnt.map(({ paidAgeMs, learntAgeMs }) => learntAgeMs - 2.5 * Math.max(FIRST_MS, paidAgeMs))
    expect(Math.max(...overdueMs)).toBeLessThan(ASKING_MS_MAX)

    late.resolve(undefined)
    await until(
      'the late callbacks are met, and all are duplicates',
      async () => {
        const { rows } = await pool.query<{ order: string }>(
          `select distinct o.out_trade_no as order from deliveries d join orders o on o.id = d.order_id
         where d.source = 'callback' and d.outcome = 'duplicate' and o.out_trade_no = any($1)`,
          [silent],
        )
        return rows.length === silent.length
      },
      60_000,
    )
    over.resolve(undefined)
    await playing
    for (const one of reconcilers) expect(await one.stop()).toMatchObject({ code: 0 })
    const news = await pool.query(
      `select from deliveries d join orders o on o.id = d.order_id
     where d.source = 'callback' and d.outcome <> 'duplicate' and o.out_trade_no = any($1)`,
      [silent],
    )
    expect(news.rows).toEqual([])
    expect(await countOf('select count(*) from anomalies')).toBe(0)
    expect(await countOf('select count(*) from dead_letters')).toBe(0)
    const paid = orders.map(({ outTradeNo }) => outTradeNo)
    const events = await readEvents(it.topics, { atLeast: 3 * paid.length })
    expect(checkExactlyOnce(paid, events, { inOrder: false })).toEqual(nothingWrong(paid))
  },
)
