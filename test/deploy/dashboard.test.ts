import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onPath } from '../../dev/parts/prerequisites.ts'
import { run } from '../../dev/parts/run.ts'
import { readConsumerConfig } from '../../src/consumer/config.ts'
import { inbox, skip } from '../../src/consumer/effect.ts'
import { startConsumer } from '../../src/consumer/start.ts'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi } from '../../src/api/start.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import { createLog } from '../../src/runtime/log.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { gatewayOf, ready } from '../helpers/gateway.ts'
import { createInstallation, type Installation } from '../helpers/installation.ts'
import { createMerchant, type SignedCallback, type TestMerchant } from '../helpers/merchant.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { clientsOf, fakeClient, NOT_PAID, paidAnswer, startTestReconciler } from '../helpers/reconciler.ts'
import { startPrometheus, type Prometheus } from '../helpers/prometheus.ts'
import { until } from '../helpers/until.ts'
import { labelsOf, metricsOf, panels, queries } from './dashboard-queries.ts'

const DEPLOY = join(import.meta.dirname, '..', '..', 'deploy')
/** Fewer than halt a lane. */
const DEAD_LETTERS = 10

let installation: Installation
let merchant: TestMerchant
let prometheus: Prometheus
let declared: string
let deadline: number
const stops: (() => unknown)[] = []

/** A whole system on the local stack, a Prometheus that scrapes it, and traffic of every kind until the end. */
beforeAll(async () => {
  installation = await createInstallation({ partitions: 2 })
  stops.push(() => installation.drop())
  merchant = createMerchant('shop')
  stops.push(() => {
    merchant.remove()
  })
  const gateway = await gatewayOf(merchant, installation.topics.prefix)
  stops.push(() => gateway.stop())
  const processor = await startTestProcessor(installation)
  stops.push(() => processor.stop())
  const api = await startApi(readApiConfig(installation.env()), { log: createLog('api', 'silent') })
  stops.push(() => api.stop())
  await Promise.all([ready(gateway), untilSettled([processor], 2)])
  // Orders with a wrong payment stay pending: half of the answers pay them.
  const client = fakeClient((target, n) => (n % 2 === 0 ? paidAnswer(target) : NOT_PAID))
  const reconciler = await startTestReconciler(installation, clientsOf({ alipay: client }))
  stops.push(() => reconciler.stop())
  const consumer = await startConsumer(
    readConsumerConfig(installation.env({ CONSUMER_NAME: `${installation.topics.appId}-c` })),
    {
      ...{ topic: 'fulfillment.shipment.v1', log: createLog('consumer', 'silent') },
      effects: { ship: inbox(() => Promise.resolve()), cancel: skip, return: skip, refund: skip },
    },
  )
  stops.push(() => consumer.stop())
  const ports = {
    ...{ gateway: gateway.metricsPort, processor: processor.metricsPort, api: api.metricsPort },
    ...{ reconciler: reconciler.metricsPort, consumer: consumer.metricsPort },
  }
  prometheus = await startPrometheus(ports, [join(DEPLOY, 'alerts.yml')])
  stops.push(() => prometheus.stop())

  const { token, hash } = mintToken()
  const terms = { name: 'test', tokenHash: hash, merchant: 'shop', role: 'admin', expiresAtMs: null } as const
  await insertApiToken(installation.database.pool, terms)
  deadline = performance.now() + 60_000
  const traffic = endlessTraffic(gateway.port, api.port, token)
  stops.push(() => traffic.stop())
  declared = await until('every process has been scraped and shows its metrics', async () => {
    const texts = Object.values(ports).map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
    return (await Promise.all(texts)).join('\n')
  })
}, 60_000)

afterAll(async () => {
  for (const stop of stops.reverse()) await stop()
})

function endlessTraffic(gatewayPort: number, apiPort: number, token: string) {
  const stopped = new AbortController()
  const post = ({ path, headers, rawBody }: SignedCallback) =>
    fetch(`http://127.0.0.1:${gatewayPort}${path}`, { method: 'POST', headers, body: rawBody })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const ask = (path: string, body: unknown, idempotencyKey: string) =>
    fetch(`http://127.0.0.1:${apiPort}/v1/${path}`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': idempotencyKey },
      body: JSON.stringify(body),
    })
  const order = (outTradeNo: string, amountMinor: number) =>
    ask('orders', orderBody(outTradeNo, amountMinor), outTradeNo)
  /** The oldest open anomaly is looked at, and left as it is. */
  const resolveOne = async (n: number) => {
    const answer = await fetch(`http://127.0.0.1:${apiPort}/v1/anomalies?limit=1`, { headers })
    const { anomalies } = (await answer.json()) as { anomalies: { id: number }[] }
    for (const { id } of anomalies)
      await ask(`anomalies/${id}/resolve`, { resolution: 'ignore', reason: 'seen' }, `r${n}`)
  }
  const round = async (n: number) => {
    await Promise.all([order(`P${n}`, 100), order(`W${n}`, 777), order('bad', -1), n % 3 === 2 && resolveOne(n)])
    const paid = merchant.wechatpay(`P${n}`)
    await Promise.all([
      post(paid),
      post(paid),
      post(merchant.alipay(`W${n}`)), // pays 100, not 777: an anomaly
      post(merchant.wechatpay(`unknown${n}`)), // held
      post({ ...paid, rawBody: Buffer.concat([paid.rawBody, Buffer.from(' ')]) }), // refused: signature
      n < DEAD_LETTERS && installation.sendRaw(0, `D${n}`, Buffer.from('x')),
      sendAndHangUp(gatewayPort, 'NONSENSE\r\n\r\n'),
      sendAndHangUp(gatewayPort, requestText(merchant.wechatpay(`H${n}`))), // gone before its answer
    ])
  }
  const done = (async () => {
    for (let n = 0; !stopped.signal.aborted; n++) {
      await round(n)
      await sleep(300)
    }
  })()
  return {
    stop: async () => {
      stopped.abort()
      await done
    },
  }
}

const orderBody = (outTradeNo: string, amountMinor: number) => ({
  ...{ merchant: 'shop', out_trade_no: outTradeNo, amount_minor: amountMinor, currency: 'CNY' },
  expires_at: new Date(Date.now() + 3_600_000).toISOString(),
})

const requestText = ({ path, headers, rawBody }: SignedCallback) =>
  [
    `POST ${path} HTTP/1.1`,
    'host: gateway',
    `content-length: ${rawBody.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    rawBody.toString(),
  ].join('\r\n')

function sendAndHangUp(port: number, text: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(text, () => socket.destroy()))
    socket.on('error', () => undefined)
    socket.once('close', () => resolve())
  })
}

test('every panel says what it shows, and reads metrics that exist', () => {
  for (const panel of panels().filter(({ type }) => type !== 'row')) expect(panel.title, 'a title').not.toBe('')
  const missing = queries().flatMap(({ panel, expr }) =>
    metricsOf(expr)
      .filter((name) => !declared.includes(`# TYPE ${name} `))
      .map((name) => `${panel}: ${name}`),
  )
  expect(missing).toEqual([])
  expect(queries().length).toBeGreaterThan(25)
})

test.each(queries())('$panel: $expr', { timeout: 70_000 }, async ({ expr }) => {
  const series = await until(
    'it gives a series',
    async () => {
      const found = (await prometheus.query(expr)).filter(({ value }) => !Number.isNaN(value))
      return found.length > 0 && found
    },
    Math.max(3_000, deadline - performance.now()),
  )
  for (const label of labelsOf(expr))
    for (const { metric } of series) expect(metric[label], `the label ${label}`).toBeTruthy()
})

test('every alert reads metrics that exist, and Prometheus can evaluate it', async () => {
  const alerts = await until('all have been evaluated', async () => {
    const loaded = await prometheus.alerts()
    return loaded.length > 0 && loaded.every(({ health }) => health !== 'unknown') && loaded
  })
  expect(alerts.filter(({ health }) => health !== 'ok')).toEqual([])
  const missing = alerts.flatMap(({ name, query }) =>
    metricsOf(query)
      .filter((metric) => !declared.includes(`# TYPE ${metric} `) && !query.includes('__name__'))
      .map((metric) => `${name}: ${metric}`),
  )
  expect(missing).toEqual([])
  expect(alerts.length).toBeGreaterThan(15)
})

test('what is wrong in this system is found, and what is not is not', async () => {
  const firing = await until('the dead letters are noticed', async () => {
    const found = (await prometheus.alerts()).filter(({ state }) => state !== 'inactive').map(({ name }) => name)
    return found.includes('PaidonceDeadLetters') && found
  })
  for (const quiet of [
    'PaidonceLaneHalted',
    'PaidonceNoOwner',
    'PaidonceMaintenanceStopped',
    'PaidonceConsumerStopped',
    'PaidonceConsumerDeadLetters',
    'PaidoncePartitionsMissing',
  ])
    expect(firing).not.toContain(quiet)
})

test('promtool accepts the configuration and the rules', async () => {
  const check = (what: string, file: string) =>
    run(onPath('promtool') ?? 'promtool', ['check', what, join(DEPLOY, file)])
  expect(await check('config', 'prometheus.yml')).toMatchObject({ code: 0 })
  expect(await check('rules', 'alerts.yml')).toMatchObject({ code: 0 })
})
