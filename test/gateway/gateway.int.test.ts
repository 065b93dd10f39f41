import { execFile } from 'node:child_process'
import { createServer, connect as connectTcp, type AddressInfo, type Server } from 'node:net'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Gateway } from '../../src/gateway/start.ts'
import { partitionFor } from '../../src/runtime/kafka/partition.ts'
import { createTopicAdmin } from '../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createCodec, type Codec } from '../../src/schemas/codec.ts'
import { INPUT_TOPIC, RETENTION_MS, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { gatewayOf, isReady, metric, ready } from '../helpers/gateway.ts'
import { post } from '../helpers/http.ts'
import { javaConsume } from '../helpers/java-consumer.ts'
import { createMerchant, type TestMerchant } from '../helpers/merchant.ts'
import { processEnv, stackEnv } from '../helpers/stack.ts'
import { createTopics, type TestTopics } from '../helpers/topics.ts'
import { until } from '../helpers/until.ts'

const silent = createLog('test', 'silent')
let merchant: TestMerchant
let topics: TestTopics
let codec: Codec
let gateways: Gateway[]

beforeAll(async () => {
  merchant = createMerchant()
  topics = await createTopics({ partitions: 3 })
  codec = await createCodec(stackEnv().SCHEMA_REGISTRY_URL, topics.prefix, silent)
  gateways = await Promise.all([gatewayOf(merchant, topics.prefix), gatewayOf(merchant, topics.prefix)])
  await Promise.all(gateways.map(ready))
})
afterAll(async () => {
  await Promise.all(gateways.map(({ stop }) => stop()))
  await topics.drop()
  merchant.remove()
})

const portOf = (index: number) => gateways[index % gateways.length]?.port ?? 0
/** What a Java consumer sees in the input topic, decoded. */
async function inputRecords(prefix = topics.prefix, decode = codec) {
  const records = await javaConsume({ topics: [`${prefix}${INPUT_TOPIC}`] })
  return records.map(({ key, partition, value, headers }) => {
    const decoded = decode.decodeCallback(value)
    if (decoded.kind !== 'callback') throw new Error(`undecodable: ${JSON.stringify(decoded)}`)
    return { key, partition, headers, callback: decoded.callback }
  })
}

test('50 identical callbacks at the same instant over two gateways: 50 successes, one partition', async () => {
  const callback = merchant.wechatpay('SAME-1')
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => post(portOf(i), callback)))
  expect(answers.map(({ status, body }) => `${status} ${body.toString()}`)).toEqual(
    answers.map(() => '200 {"code":"SUCCESS","message":"成功"}'),
  )
  const records = (await inputRecords()).filter(({ key }) => key === 'SAME-1')
  expect(records).toHaveLength(50)
  expect(new Set(records.map(({ partition }) => partition))).toEqual(new Set([partitionFor('SAME-1', 3)]))
})

test('every sender, a combined payment and one without a fact: what was answered with success is in the topic, raw', async () => {
  const callbacks = [
    merchant.wechatpay('W-1'),
    merchant.alipay('A-1'),
    merchant.worker('W-1', 'rep-1'),
    merchant.combined(['C-1', 'C-2', 'C-3']),
    // Contradicts its event type.
    merchant.wechatpay('N-1', { trade_state: 'CLOSED' }),
    merchant.alipay('N-2', { trade_status: 'WAIT_BUYER_PAY' }),
  ]
  const answers = await Promise.all(callbacks.map((callback, i) => post(portOf(i), callback)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 400, 200])

  const records = await inputRecords()
  const of = (key: string) => records.filter((record) => record.key === key).map(({ callback }) => callback)
  expect(
    of('W-1')
      .map(({ source, provider, facts }) => [source, provider, facts[0]?.eventType])
      .sort(),
  ).toEqual([
    ['callback', 'wechatpay', 'payment_succeeded'],
    ['worker', 'worker', 'shipment_completed'],
  ])
  expect(of('A-1')[0]).toMatchObject({ merchant: 'shop1', provider: 'alipay', outTradeNo: 'A-1' })
  expect(of('A-1')[0]?.rawBody.equals(callbacks[1]?.rawBody ?? Buffer.alloc(0))).toBe(true)
  for (const key of ['C-1', 'C-2', 'C-3']) {
    expect(of(key)).toHaveLength(1)
    expect(of(key)[0]?.rawBody.equals(callbacks[3]?.rawBody ?? Buffer.alloc(0))).toBe(true)
  }
  expect(of('N-1')).toEqual([])
  expect(of('N-2').map(({ facts }) => facts)).toEqual([[]])
  for (const { headers } of records) expect(headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/)
})

test('stopping under load: every answer is true, and every success is in the topic', async () => {
  const gateway = await gatewayOf(merchant, topics.prefix)
  await ready(gateway)
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  const successes: string[] = []
  let sent = 0
  let refusedConnections = 0
  const sender = async (lane: number) => {
    for (let i = 0; ; i++) {
      const key = `STOP-${lane}-${i}`
      sent += 1
      try {
        const { status } = await post(gateway.port, merchant.wechatpay(key), { agent })
        if (status === 200) successes.push(key)
        else throw new Error(`answered ${status}`)
      } catch (error) {
        // No connection was made; a request on one that was made is answered.
        if ((error as NodeJS.ErrnoException).syscall !== 'connect') throw error
        refusedConnections += 1
        return
      }
    }
  }
  const senders = Array.from({ length: 32 }, (_, lane) => sender(lane))
  await until('load runs', () => successes.length > 200)
  await gateway.stop()
  await Promise.all(senders)
  agent.destroy()
  expect(refusedConnections).toBe(32)
  const keys = new Set((await inputRecords()).map(({ key }) => key))
  expect(successes.filter((key) => !keys.has(key))).toEqual([])
  expect(sent).toBe(successes.length + refusedConnections)
})

test('Kafka and registry away at the start: failure form, not ready; ready by itself when they are there', async () => {
  const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL } = stackEnv()
  const [kafka, registry] = [await deadPort(), await deadPort()]
  const gateway = await gatewayOf(merchant, topics.prefix, {
    env: { KAFKA_BROKERS: `127.0.0.1:${kafka}`, SCHEMA_REGISTRY_URL: `http://127.0.0.1:${registry}` },
  })
  const proxies: Server[] = []
  try {
    expect((await post(gateway.port, merchant.alipay('EARLY-1'))).body.toString()).toBe('fail')
    expect(await isReady(gateway)).toBe(false)
    proxies.push(await proxy(kafka, new URL(`tcp://${KAFKA_BROKERS.split(',')[0] ?? ''}`)))
    proxies.push(await proxy(registry, new URL(SCHEMA_REGISTRY_URL)))
    await ready(gateway)
    expect((await post(gateway.port, merchant.alipay('EARLY-2'))).body.toString()).toBe('success')
  } finally {
    await gateway.stop()
    for (const server of proxies) server.close()
  }
})

test('topics and schemas that are not there yet are waited for', async () => {
  const fatal: Error[] = []
  const prefix = `late-${topics.prefix}`
  const gateway = await gatewayOf(merchant, prefix, { deps: { onFatal: (error) => fatal.push(error) } })
  try {
    expect((await post(gateway.port, merchant.wechatpay('LATE-1'))).status).toBe(503)
    expect(await isReady(gateway)).toBe(false)
    expect(fatal).toEqual([])
  } finally {
    await gateway.stop()
  }
})

test('topics that do not fit end the process with exit code 2 and the remedy', async () => {
  const wrong = await createTopics({ partitions: 2 })
  const admin = createTopicAdmin({ brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false }, silent)
  const main = join(import.meta.dirname, '../../src/gateway/main.ts')
  const run = (env: Record<string, string>) =>
    promisify(execFile)(process.execPath, [main], {
      env: processEnv({ MERCHANTS_DIR: merchant.dir, TOPIC_PREFIX: wrong.prefix, ...env }),
    }).then(
      () => ({ code: 0, stderr: '' }),
      (error: unknown) => error as { code: number; stderr: string },
    )
  try {
    const single = await run({ ALLOW_SINGLE_REPLICA: '0' })
    expect([single.code, single.stderr]).toEqual([2, expect.stringContaining('min.insync.replicas=2')])
    await admin.deleteTopics([wrong.name(SHIPMENT_TOPIC)])
    await until('it is created anew', async () => {
      const [created] = await admin.ensureTopics([
        {
          ...{ topic: wrong.name(SHIPMENT_TOPIC), partitions: 5, replicationFactor: 1, minInsyncReplicas: 1 },
          retentionMs: RETENTION_MS[SHIPMENT_TOPIC],
        },
      ])
      return created
    })
    const grown = await run({})
    expect([grown.code, grown.stderr]).toEqual([2, expect.stringContaining('has 5 partitions, 2 are expected')])
  } finally {
    await admin.close()
    await wrong.drop()
  }
})

test.each([
  [{}, 'MERCHANTS_DIR must be set'],
  [{ MERCHANTS_DIR: import.meta.dirname }, 'no <merchant>.json there'],
])('a bad configuration exits 2 and names every problem, that of the merchants too', async (env, problem) => {
  const main = join(import.meta.dirname, '../../src/gateway/main.ts')
  const failed: unknown = await promisify(execFile)(process.execPath, [main], {
    env: { PATH: process.env['PATH'], PORT: 'x', LOG_LEVEL: 'loud', KAFKA_SASL_MECHANISM: 'plain', ...env },
  }).catch((error: unknown) => error)
  expect(failed).toMatchObject({ code: 2, stdout: '' })
  const { stderr } = failed as { stderr: string }
  for (const name of ['PORT', 'LOG_LEVEL', 'KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'KAFKA_SASL_PASSWORD', problem])
    expect(stderr.split(name)).toHaveLength(2)
})

test('counters and histograms add up', async () => {
  const [gateway] = gateways
  if (gateway === undefined) throw new Error('no gateway')
  const accepted = 'paidonce_gateway_callbacks_total{provider="wechatpay",outcome="accepted"}'
  const before = await metric(gateway, accepted)
  await post(gateway.port, merchant.wechatpay('M-1'))
  await post(gateway.port, { ...merchant.wechatpay('M-2'), rawBody: Buffer.from('{}') })
  expect(await metric(gateway, accepted)).toBe(before + 1)
  expect(await metric(gateway, 'paidonce_gateway_refusals_total{provider="wechatpay",reason="bad_signature"}')).toBe(1)
  const answered = 'paidonce_gateway_answer_seconds_count{provider="wechatpay",outcome="accepted"}'
  expect(await metric(gateway, answered)).toBe(before + 1)
  expect(await metric(gateway, 'paidonce_gateway_event_loop_lag_seconds')).toBeLessThan(5)
})

async function deadPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Passes a port's connections on. */
async function proxy(port: number, to: URL): Promise<Server> {
  const server = createServer((socket) => {
    const upstream = connectTcp({ host: to.hostname, port: Number(to.port) })
    socket.pipe(upstream).pipe(socket)
    socket.on('error', () => upstream.destroy())
    upstream.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return server
}
