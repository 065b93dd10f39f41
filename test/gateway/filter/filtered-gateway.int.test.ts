import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Redis } from '../../../dev/parts/redis.ts'
import type { Gateway } from '../../../src/gateway/start.ts'
import { createPartitionReader } from '../../../src/runtime/kafka/partition-reader.ts'
import type { PartitionReader } from '../../../src/runtime/kafka/port.ts'
import { createTopicAdmin } from '../../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { INPUT_TOPIC, RETENTION_MS } from '../../../src/schemas/topics.ts'
import { gatewayOf, metric, ready } from '../../helpers/gateway.ts'
import { post } from '../../helpers/http.ts'
import { createMerchant, type SignedCallback, type TestMerchant } from '../../helpers/merchant.ts'
import { ownRedis } from '../../helpers/redis.ts'
import { stackEnv } from '../../helpers/stack.ts'
import { createTopics, type TestTopics } from '../../helpers/topics.ts'
import { until } from '../../helpers/until.ts'

const kafka = { brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false }
let redis: Redis
let merchant: TestMerchant
let topics: TestTopics
let reader: PartitionReader
/** Two on one Redis, as behind a load balancer. */
let gateways: Gateway[]

/** With a patience that a busy machine does not use up. */
const start = async (prefix: string) => {
  const gateway = await gatewayOf(merchant, prefix, { env: { REDIS_URL: redis.url, REDIS_ANSWER_MS_MAX: '1000' } })
  await ready(gateway)
  await until('Redis is asked', async () => (await metric(gateway, 'paidonce_gateway_filter_up')) === 1)
  return gateway
}
const stops: (() => unknown)[] = []
beforeAll(async () => {
  merchant = createMerchant()
  redis = await ownRedis()
  topics = await createTopics({ partitions: 3 })
  gateways = await Promise.all([start(topics.prefix), start(topics.prefix)])
  reader = createPartitionReader(kafka, createLog('test', 'silent'))
  stops.push(merchant.remove, reader.close, redis.stop, topics.drop, ...gateways.map(({ stop }) => stop))
})
afterAll(async () => {
  for (const stop of stops.reverse()) await stop()
})

const filtered = async (provider: string, of = gateways) => {
  const line = `paidonce_callbacks_filtered_total{provider="${provider}"}`
  const counts = await Promise.all(of.map((gateway) => metric(gateway, line)))
  return counts.reduce((sum, count) => sum + count, 0)
}
async function keysIn(prefix = topics.prefix): Promise<(string | undefined)[]> {
  const keys: (string | undefined)[] = []
  for (let partition = 0; partition < 3; partition++)
    for (let from = 0; ;) {
      const { records, next } = await reader.read(`${prefix}${INPUT_TOPIC}`, partition, from)
      keys.push(...records.map(({ key }) => key?.toString()))
      if (next === from) break
      from = next
    }
  return keys
}
const countOf = (key: string, keys: readonly (string | undefined)[]) => keys.filter((one) => one === key).length
const countIn = async (key: string) => countOf(key, await keysIn())

async function send(callback: SignedCallback, gateway = gateways[0]): Promise<void> {
  const { status, body } = await post(gateway?.port ?? 0, callback)
  const form = callback.path.includes('alipay') ? 'success' : '{"code":"SUCCESS","message":"成功"}'
  if (!callback.path.includes('worker')) expect([status, body.toString()]).toEqual([200, form])
  expect(status).toBe(200)
}

/** Sends it until a gateway finds it to be a repeat, which is once Redis has the first. */
async function sendUntilFiltered(provider: string, callback: () => SignedCallback, to = gateways): Promise<number> {
  const before = await filtered(provider, to)
  let sent = 0
  await until('a repeat is filtered', async () => {
    await send(callback(), to[sent++ % to.length])
    return (await filtered(provider, to)) > before
  })
  return sent
}

test('a repeat, signed anew and sent to another gateway, is answered with success and leaves no record', async () => {
  const sent = await sendUntilFiltered('wechatpay', () => merchant.wechatpay('W1'))
  const records = await countIn('W1')
  expect(records).toBe(sent - 1)
  const before = await filtered('wechatpay')
  for (let i = 0; i < 10; i++) await send(merchant.wechatpay('W1'), gateways[i % 2])
  expect(await filtered('wechatpay')).toBe(before + 10)
  expect(await countIn('W1')).toBe(records)
})

test('the same payment with another amount goes to Kafka', async () => {
  await sendUntilFiltered('alipay', () => merchant.alipay('A1'))
  const records = await countIn('A1')
  const before = await filtered('alipay')
  await send(merchant.alipay('A1', { total_amount: '1.01' }))
  expect(await countIn('A1')).toBe(records + 1)
  expect(await filtered('alipay')).toBe(before)
})

test('of a combined payment all orders must be known', async () => {
  await sendUntilFiltered('wechatpay', () => merchant.combined(['C1', 'C2']))
  const records = await countIn('C1')
  await send(merchant.combined(['C1', 'C3']))
  const keys = await keysIn()
  expect([countOf('C1', keys), countOf('C3', keys)]).toEqual([records + 1, 1])
})

test("a worker's report, and a notice that states no fact, go to Kafka each time", async () => {
  for (let i = 0; i < 3; i++) {
    await send(merchant.worker('R1', 'rep-1'))
    await send(merchant.alipay('N1', { trade_status: 'WAIT_BUYER_PAY' }))
  }
  const keys = await keysIn()
  expect([countOf('R1', keys), countOf('N1', keys)]).toEqual([3, 3])
})

test('what is known in one topic is news in another: installations may share a Redis', async () => {
  const other = await createTopics({ partitions: 3 })
  const gateway = await start(other.prefix)
  try {
    await sendUntilFiltered('wechatpay', () => merchant.wechatpay('X1'))
    await send(merchant.wechatpay('X1'), gateway)
    expect(await keysIn(other.prefix)).toEqual(['X1'])
  } finally {
    await gateway.stop()
    await other.drop()
  }
})

test('an input topic that was made anew under its name is empty: nothing of the old one is taken for known', async () => {
  const anew = await createTopics({ partitions: 3 })
  const running = await start(anew.prefix)
  const topic = anew.name(INPUT_TOPIC)
  const admin = createTopicAdmin(kafka, createLog('test', 'silent'))
  try {
    for (const key of ['N1', 'N2']) await sendUntilFiltered('wechatpay', () => merchant.wechatpay(key), [running])
    await admin.deleteTopics([topic])
    await until('it is gone', async () => !(await admin.topicIds([topic])).has(topic))
    await admin.ensureTopics([
      { topic, partitions: 3, replicationFactor: 1, minInsyncReplicas: 1, retentionMs: RETENTION_MS[INPUT_TOPIC] },
    ])
    await until('it is back', async () => (await admin.topicIds([topic])).has(topic))
    const started = await start(anew.prefix)
    try {
      await send(merchant.wechatpay('N1'), started)
      expect(countOf('N1', await keysIn(anew.prefix)), 'sent to one that starts').toBe(1)
    } finally {
      await started.stop()
    }
    // One that runs looks every five seconds, so it may say once more what was true.
    await until('one that runs has noticed', async () => {
      await post(running.port, merchant.wechatpay('N2'))
      return countOf('N2', await keysIn(anew.prefix)) > 0
    })
    await sendUntilFiltered('wechatpay', () => merchant.wechatpay('N2'), [running])
  } finally {
    await admin.close()
    await running.stop()
    await anew.drop()
  }
})

test('a forgery of what is known is refused as ever', async () => {
  await sendUntilFiltered('wechatpay', () => merchant.wechatpay('F1'))
  const genuine = merchant.wechatpay('F1')
  const forged = { ...genuine, rawBody: Buffer.concat([genuine.rawBody, Buffer.from(' ')]) }
  expect((await post(gateways[0]?.port ?? 0, forged)).status).toBe(401)
})
