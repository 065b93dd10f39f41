import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi } from '../../src/api/start.ts'
import { readGatewayConfig } from '../../src/gateway/config.ts'
import { startGateway } from '../../src/gateway/start.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import type { Running } from '../../src/runtime/lifecycle.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createKeys } from '../../src/simulator/create-keys.ts'
import { expectedOf, type Expected } from '../../src/simulator/expected.ts'
import { rotationFrom } from '../../src/simulator/key-ring.ts'
import type { End } from '../../src/simulator/life-state.ts'
import { readLog } from '../../src/simulator/log.ts'
import { planOf } from '../../src/simulator/plan.ts'
import type { PlannedOrder } from '../../src/simulator/planned.ts'
import { runSimulation } from '../../src/simulator/start.ts'
import type { StoryShares } from '../../src/simulator/stories.ts'
import type { Tally } from '../../src/simulator/tally.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, type Installation } from '../helpers/installation.ts'
import { endsIn, eventsByOrder } from '../helpers/order-ends.ts'
import { startTestProcessor } from '../helpers/processor.ts'
import { printedRandom } from '../helpers/seed.ts'
import { until } from '../helpers/until.ts'

const MERCHANTS = ['shop', 'books'] as const
/** Everything that may happen, often enough to happen. */
const STORIES: Partial<StoryShares> = {
  ...{ created_late: 0.06, unknown: 0.04, wrong_amount: 0.04, second_payment: 0.05, forged: 0.04, stale: 0.03 },
  ...{ stranger: 0.03, retired_key: 0.05, probed: 0.03, refunded_partly: 0.08, refunded_fully: 0.08 },
  ...{
    refund_first: 0.06,
    refund_failed: 0.04,
    closed: 0.05,
    late_success: 0.05,
    payment_failed: 0.03,
    disputed: 0.03,
  },
  ...{ waiting: 0.02, finished: 0.02, combined: 0.04 },
}

/** Keys change while it runs: the old ones have their end before the last callbacks are sent. */
const KEYS_CHANGE_SEC = 4

test('every order ends as what was sent and heard says, while all keys change', { timeout: 180_000 }, async () => {
  const { seed } = printedRandom('simulation')
  await withSystem(async ({ installation, play }) => {
    const orders = planOf({
      ...{ seed, runId: 'S', merchants: MERCHANTS, orders: 400, deliveriesPerOrder: 3 },
      ...{ spreadMs: 8_000, againMs: 2_000, reportShare: 0.4, stories: STORIES, slowShare: 0.03, cutOffShare: 0.03 },
    })
    const { tally, expected } = await play(orders)
    expect(expected.wronglyAccepted).toEqual([])
    expect(expected.genuineRefused).toEqual([])
    expect(tally.heard.wrong_form).toBe(0)
    expect(tally.refusedByDefect.retired_key).toBeGreaterThan(0)
    expect(tally.refusedByDefect.cut_off).toBeGreaterThan(0)
    // Far more than half of them can end in one way only.
    expect(expected.orders.filter(({ ends }) => ends?.length !== 1).length).toBeLessThan(orders.length / 4)
    await endsAsExpected(installation, expected)
  })
})

/** Holds the tables, and what a Java consumer sees, against every order's ends. */
async function endsAsExpected({ database, topics }: Installation, { orders }: Expected): Promise<void> {
  const isOne = (end: object, ends: readonly object[]) =>
    ends.some((one) => JSON.stringify(one) === JSON.stringify(end))
  const withoutEvents = ({ status, paymentRef, refundedMinor, openAnomalies }: Omit<End, 'events'>) => ({
    ...{ status, paymentRef, refundedMinor, openAnomalies },
  })
  const nothing: Omit<End, 'events'> = { status: 'none', paymentRef: null, refundedMinor: 0, openAnomalies: [] }
  const strange = async () => {
    const found = await endsIn(database.pool)
    return orders.flatMap(({ merchant, outTradeNo, ends }) => {
      const name = `${merchant}/${outTradeNo}`
      const end = withoutEvents(found.get(name) ?? nothing)
      return ends === undefined || isOne(end, ends.map(withoutEvents)) ? [] : [{ name, end, ends }]
    })
  }
  await until(
    'every order has come to its end',
    async () => {
      const left = await strange()
      if (left.length > 0) throw new Error(JSON.stringify(left.slice(0, 3)))
      return true
    },
    30_000,
  )
  const { rows } = await database.pool.query<{ count: string }>(
    'select count(*) from events where sequence is not null',
  )
  const seen = await readEvents(topics, { atLeast: Number(rows[0]?.count) })
  expect(seen).toHaveLength(Number(rows[0]?.count))
  const [found, events] = [await endsIn(database.pool), eventsByOrder(seen)]
  const wrong = orders.flatMap(({ merchant, outTradeNo, ends }) => {
    const name = `${merchant}/${outTradeNo}`
    const heard = Object.fromEntries(Object.entries(events.get(name) ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)))
    const whole = ({ events: kinds, ...end }: End) => ({ ...withoutEvents(end), events: kinds })
    const end = whole({ ...(found.get(name) ?? nothing), events: heard })
    return ends === undefined || isOne(end, ends.map(whole)) ? [] : [{ name, end, ends }]
  })
  expect(wrong).toEqual([])
}

interface System {
  readonly installation: Installation
  readonly play: (orders: readonly PlannedOrder[]) => Promise<{ tally: Tally; expected: Expected }>
}

/** Two gateways, a processor and the api, with keys that change. */
async function withSystem(work: (system: System) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'simulation-'))
  const installation = await createInstallation()
  const running: Running[] = []
  try {
    const { token, hash } = mintToken()
    await insertApiToken(installation.database.pool, {
      ...{ name: 'simulator', tokenHash: hash, merchant: null, role: 'admin', expiresAtMs: null },
    })
    const where = { merchantsDir: join(directory, 'merchants'), sendersDir: join(directory, 'senders') }
    const now = new Date()
    const rotation = rotationFrom(now, KEYS_CHANGE_SEC)
    const keys = await createKeys(where, MERCHANTS, now, { partners: ['books'], rotation })
    const log = createLog('test', 'error')
    const env = installation.env({ MERCHANTS_DIR: where.merchantsDir })
    const [api, one, two, processor] = await Promise.all([
      startApi(readApiConfig(env), { log }),
      startGateway(readGatewayConfig(env), { log }),
      startGateway(readGatewayConfig(env), { log }),
      startTestProcessor(installation),
    ])
    running.push(api, one, two, processor)
    await until('all are ready', async () => {
      const probes = [api, one, two].map(({ metricsPort }) => fetch(`http://127.0.0.1:${metricsPort}/readyz`))
      return (await Promise.all(probes)).every(({ ok }) => ok)
    })
    const logFile = join(directory, 'run.jsonl')
    const play: System['play'] = async (orders) => {
      const tally = await runSimulation({
        ...{ orders, keys, logFile, gateways: [one, two].map(({ port }) => `http://127.0.0.1:${port}`) },
        ...{ api: { url: `http://127.0.0.1:${api.port}`, token }, timeScale: 0.001 },
      })
      return { tally, expected: expectedOf(readLog(logFile)) }
    }
    await work({ installation, play })
  } finally {
    await Promise.all(running.map((process) => process.stop()))
    await installation.drop()
    rmSync(directory, { recursive: true, force: true })
  }
}
