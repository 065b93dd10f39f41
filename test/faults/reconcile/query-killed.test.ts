import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunningProcessor } from '../../../src/processor/start.ts'
import { QUERY_CRASH_POINTS } from '../../../src/reconcile/crash-points.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createKeys } from '../../../src/simulator/create-keys.ts'
import { pointQueriesAt } from '../../../src/simulator/create-query-keys.ts'
import type { SenderKeys } from '../../../src/simulator/keys.ts'
import { planOf } from '../../../src/simulator/plan.ts'
import { serveQueries } from '../../../src/simulator/query-server.ts'
import { STORIES, type StoryShares } from '../../../src/simulator/stories.ts'
import { truthOf } from '../../../src/simulator/truth.ts'
import { createOrders } from '../../../src/store/create-orders.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { startChild, type Child } from '../../helpers/child.ts'
import { createInstallation, type Installation } from '../../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { QUICK } from '../../helpers/reconciler.ts'
import { printedRandom } from '../../helpers/seed.ts'
import { until } from '../../helpers/until.ts'

const CHILD = new URL('../../helpers/reconciler-child.ts', import.meta.url).pathname
const ORDERS = 12
const PAID_ONLY = Object.fromEntries(STORIES.map((story) => [story, 0])) as unknown as StoryShares
const directory = mkdtempSync(join(tmpdir(), 'query-killed-'))
const [merchantsDir, sendersDir] = [join(directory, 'merchants'), join(directory, 'senders')]
const queriesDir = join(directory, 'queries')
const { seed } = printedRandom('query killed')
const paid: string[] = []
let it: Installation
let processor: RunningProcessor
let keys: readonly SenderKeys[]
beforeAll(async () => {
  it = await createInstallation({ partitions: 2 })
  processor = await startTestProcessor(it)
  await untilSettled([processor], 2, 60_000)
  keys = await createKeys({ merchantsDir, sendersDir, queriesDir }, ['shop'], new Date())
})
afterAll(async () => {
  await processor.stop()
  await it.drop()
  rmSync(directory, { recursive: true, force: true })
})

// The second passage: one question is asked and settled, or under way, when it dies.
test.each(QUERY_CRASH_POINTS.map((point, index) => ({ point, index })))(
  'kill -9 of the reconciler at $point: the next one asks, and every order is paid',
  async ({ point, index }) => {
    const plan = planOf({
      ...{ seed: seed + index, runId: `K${index}`, merchants: ['shop'], orders: ORDERS, deliveriesPerOrder: 1 },
      ...{ spreadMs: 1, againMs: 1, stories: PAID_ONLY, providers: { wechatpay: 1, alipay: 1, stripe: 1 } },
    })
    const startedAtMs = Date.now()
    const truth = truthOf(plan, (atMs) => new Date(startedAtMs - 5_000 + atMs), systemClock)
    const server = await serveQueries({ port: 0, keys, truth, clock: systemClock })
    pointQueriesAt(queriesDir, server.url, { requestsPerSec: 1_000 })
    const bodies = plan.map(({ merchant, outTradeNo, amountMinor, currency }) => ({
      ...{ merchant, outTradeNo, amountMinor, currency, expiresAtMs: startedAtMs + 3_600_000 },
      ...{ groupKey: null, payload: null },
    }))
    const of = { ...QUICK, MERCHANTS_DIR: merchantsDir, QUERY_KEYS_DIR: queriesDir, METRICS_PORT: '0' }
    // A lease of 5 s: the next one need not wait long for the dead one's.
    const env = it.env({ ...of, QUERY_FIRST_MS: '1000', QUERY_ANSWER_MS_MAX: '1000', QUERY_PUBLISH_MS_MAX: '1000' })
    let next: Child | undefined
    try {
      const lanes = bodies.map((body) => ({ body, lane: it.laneOf(body.outTradeNo) }))
      const created = await createOrders(it.database.pool, it.topics.appId, lanes)
      expect(created.filter(({ kind }) => kind !== 'created')).toEqual([])
      const more = {
        CRASH_AT: point,
        CRASH_MARKER: join(directory, randomUUID()),
        CRASH_PASSAGE: point === 'query_filed' ? '1' : '2',
      }
      const victim = startChild(CHILD, { ...env, ...more })
      expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' })
      next = startChild(CHILD, env)
      await until(
        'every order is paid',
        async () => {
          const { rows } = await it.database.pool.query<{ n: number }>(
            `select count(*)::int as n from orders where status = 'paid' and out_trade_no like $1`,
            [`K${index}-%`],
          )
          return rows[0]?.n === ORDERS
        },
        120_000,
      )
      expect(await next.stop()).toMatchObject({ code: 0 })
      paid.push(...plan.map(({ outTradeNo }) => outTradeNo))
    } finally {
      await next?.kill()
      await server.close()
    }
  },
  240_000,
)

test('after all of it: each order shipped once', async () => {
  const events = await readEvents(it.topics, { atLeast: 3 * paid.length })
  expect(checkExactlyOnce(paid, events, { inOrder: false })).toEqual(nothingWrong(paid))
})
