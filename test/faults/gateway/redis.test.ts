import { createClient } from '@redis/client'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Redis } from '../../../dev/parts/redis.ts'
import type { Gateway } from '../../../src/gateway/start.ts'
import { INPUT_TOPIC } from '../../../src/schemas/topics.ts'
import { gatewayOf, metric, ready } from '../../helpers/gateway.ts'
import { post } from '../../helpers/http.ts'
import { javaConsume } from '../../helpers/java-consumer.ts'
import { createMerchant, type TestMerchant } from '../../helpers/merchant.ts'
import { ownRedis } from '../../helpers/redis.ts'
import { createTopics, type TestTopics } from '../../helpers/topics.ts'
import { until } from '../../helpers/until.ts'

let redis: Redis
let merchant: TestMerchant
let topics: TestTopics
let gateway: Gateway
let storm: ReturnType<typeof startStorm>

beforeAll(async () => {
  merchant = createMerchant()
  topics = await createTopics({ partitions: 3 })
})
afterAll(async () => {
  await topics.drop()
  merchant.remove()
})

interface Answered {
  readonly key: string
  readonly status: number
  readonly ms: number
}

/** Payments without end, each sent five times, the repeats when the first has been answered. */
function startStorm(name: string) {
  const answers: Answered[] = []
  let running = true
  const pay = async (key: string) => {
    const startedMs = performance.now()
    const { status } = await post(gateway.port, merchant.wechatpay(key))
    answers.push({ key, status, ms: performance.now() - startedMs })
  }
  const sender = async (lane: number) => {
    for (let n = 0; running; n++) for (let repeat = 0; repeat < 5; repeat++) await pay(`${name}-${lane}-${n}`)
  }
  const senders = Array.from({ length: 16 }, (_, lane) => sender(lane))
  return {
    answers,
    more: (count: number) => {
      const enough = answers.length + count
      return until(`${count} more are answered`, () => answers.length >= enough, 60_000)
    },
    stop: async () => {
      running = false
      await Promise.all(senders)
    },
  }
}

const failures = (reason: string) => metric(gateway, `paidonce_gateway_filter_failures_total{reason="${reason}"}`)
const filtered = () => metric(gateway, 'paidonce_callbacks_filtered_total{provider="wechatpay"}')
const isUp = async () => (await metric(gateway, 'paidonce_gateway_filter_up')) === 1
const keepsOut = async (count = 50) => {
  const before = await filtered()
  await until(`${count} more repeats are kept out`, async () => (await filtered()) >= before + count, 60_000)
}

/** Redis and a gateway, with a storm that is being kept out. */
async function begin(name: string, settings: Parameters<typeof ownRedis>[0] = {}): Promise<void> {
  redis = await ownRedis(settings)
  gateway = await gatewayOf(merchant, topics.prefix, { env: { REDIS_URL: redis.url } })
  await ready(gateway)
  await until('Redis is asked', isUp)
  storm = startStorm(name)
  await keepsOut()
}

/** Of all storms, each key that was answered with success: read in the topic at the end, as reading it takes long. */
const accepted = new Set<string>()

/** No refusal, and every answer in time. */
async function expectNoHarm(): Promise<void> {
  await storm.stop()
  expect(storm.answers.filter(({ status }) => status !== 200)).toEqual([])
  expect(Math.max(...storm.answers.map(({ ms }) => ms))).toBeLessThan(4_000)
  for (const { key } of storm.answers) accepted.add(key)
}
afterEach(async () => {
  await storm.stop()
  await gateway.stop()
  await redis.stop()
})

async function operate(...command: readonly string[]): Promise<unknown> {
  const client = createClient({ url: redis.url, RESP: 2 })
  await client.connect()
  try {
    return await client.sendCommand(command)
  } finally {
    client.destroy()
  }
}

test('a Redis that is frozen, thawed and frozen again', async () => {
  await begin('FROZEN')
  for (let round = 0; round < 2; round++) {
    redis.freeze()
    await until('it is given up', async () => !(await isUp()))
    const late = await failures('late')
    await storm.more(200)
    expect(await failures('late'), 'nobody waits for it any more').toBe(late)
    redis.thaw()
    await keepsOut()
  }
  await expectNoHarm()
})

test('a Redis that is killed, away, and comes back empty', async () => {
  await begin('KILLED')
  for (let round = 0; round < 2; round++) {
    await redis.kill()
    await storm.more(200)
    expect(await isUp()).toBe(false)
    await redis.restart()
    await keepsOut()
  }
  await expectNoHarm()
})

test('a failover: the primary becomes a replica of one that is not there yet, then a primary again', async () => {
  await begin('FAILOVER')
  await operate('REPLICAOF', '127.0.0.1', '1')
  const before = await failures('not_remembered')
  await until('it refuses to remember', async () => (await failures('not_remembered')) > before)
  await storm.more(200)
  await operate('REPLICAOF', 'NO', 'ONE')
  await keepsOut()
  await expectNoHarm()
})

test('a Redis that is flushed, full, slow, and has its password changed', async () => {
  await begin('WRONG', { 'enable-debug-command': 'local' })
  await operate('FLUSHALL')
  await keepsOut()
  await operate('CONFIG', 'SET', 'maxmemory', '1')
  await until('it is full', async () => (await failures('not_remembered')) > 0)
  await storm.more(200)
  await operate('CONFIG', 'SET', 'maxmemory', '0')
  await keepsOut()
  for (let i = 0; i < 5; i++) await operate('DEBUG', 'SLEEP', '0.2')
  expect(await failures('late')).toBeGreaterThan(0)
  await keepsOut()
  await operate('ACL', 'SETUSER', 'default', 'resetpass', '>secret', '-@read', '-@write')
  await until('it is given up', async () => !(await isUp()))
  await storm.more(200)
  await expectNoHarm()
})

test('a Redis that is not there when the gateway starts', async () => {
  redis = await ownRedis()
  await redis.kill()
  gateway = await gatewayOf(merchant, topics.prefix, { env: { REDIS_URL: redis.url } })
  await ready(gateway)
  storm = startStorm('ABSENT')
  await storm.more(100)
  await redis.restart()
  await keepsOut()
  await expectNoHarm()
})

test('after all of that, whatever was answered with success is in the topic', async () => {
  const records = await javaConsume({ topics: [topics.name(INPUT_TOPIC)] })
  const inTopic = new Set(records.map(({ key }) => key))
  expect(accepted.size).toBeGreaterThan(200)
  expect([...accepted].filter((key) => !inTopic.has(key))).toEqual([])
})
