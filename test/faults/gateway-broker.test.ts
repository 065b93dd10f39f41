import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Stack } from '../../dev/parts/stack.ts'
import type { Gateway } from '../../src/gateway/start.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { gatewayOf, isReady, ready } from '../helpers/gateway.ts'
import { post } from '../helpers/http.ts'
import { javaConsume } from '../helpers/java-consumer.ts'
import { createMerchant, type TestMerchant } from '../helpers/merchant.ts'
import { ownStack } from '../helpers/own-stack.ts'
import { createTopics, type TestTopics } from '../helpers/topics.ts'
import { until } from '../helpers/until.ts'

let stack: Stack
let merchant: TestMerchant
let topics: TestTopics
let gateway: Gateway

beforeAll(async () => {
  merchant = createMerchant()
  stack = await ownStack()
  const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL } = stack.env
  topics = await createTopics({ partitions: 3, brokers: KAFKA_BROKERS, registryUrl: SCHEMA_REGISTRY_URL })
  gateway = await gatewayOf(merchant, topics.prefix, { env: { ...stack.env } })
  await ready(gateway)
})
afterAll(async () => {
  await gateway.stop()
  await stack.stop()
  merchant.remove()
})

interface Answered {
  readonly key: string
  readonly status: number
  readonly body: string
  readonly ms: number
}
async function pay(key: string): Promise<Answered> {
  const startedMs = performance.now()
  const { status, body } = await post(gateway.port, merchant.wechatpay(key))
  return { key, status, body: body.toString(), ms: performance.now() - startedMs }
}
const isSuccess = ({ status }: Answered) => status === 200
const keysInTopic = async () => {
  const records = await javaConsume({ brokers: stack.env.KAFKA_BROKERS, topics: [topics.name(INPUT_TOPIC)] })
  return new Set(records.map(({ key }) => key))
}

/** Keeps `width` payments going until `stop`, and collects their answers. */
function load(name: string, width: number) {
  const answers: Answered[] = []
  let running = true
  const sender = async (lane: number) => {
    for (let i = 0; running; i++) answers.push(await pay(`${name}-${lane}-${i}`))
  }
  const senders = Array.from({ length: width }, (_, lane) => sender(lane))
  return {
    answers,
    stop: async () => {
      running = false
      await Promise.all(senders)
      return answers
    },
  }
}
/** Every answer in time and in the sender's form, and every success in the topic. */
async function holds(answers: readonly Answered[]) {
  for (const { ms, status, body } of answers) {
    expect(ms).toBeLessThan(4_500)
    expect([status, body]).toEqual(
      status === 200 ? [200, '{"code":"SUCCESS","message":"成功"}'] : [503, '{"code":"FAIL","message":"失败"}'],
    )
  }
  const keys = await keysInTopic()
  expect(answers.filter((answer) => isSuccess(answer) && !keys.has(answer.key))).toEqual([])
}
const node = () => {
  const [first] = stack.kafka.nodes
  if (first === undefined) throw new Error('no broker')
  return first
}

test('a frozen broker: the failure form within 4 s, never a hang, never a success; after it all by itself', async () => {
  const running = load('FROZEN', 50)
  try {
    await until('callbacks are accepted', () => running.answers.filter(isSuccess).length > 100)
    node().freeze()
    // What was sent before may still be acknowledged from the socket's buffer.
    const settledAt = running.answers.length + 50
    await until('the first failures', () => running.answers.length > settledAt)
    const frozenFrom = running.answers.length
    await until('two rounds of failures', () => running.answers.length >= frozenFrom + 100, 20_000)
    const whileFrozen = running.answers.slice(frozenFrom)
    expect(whileFrozen.filter(isSuccess)).toEqual([])
    expect(await isReady(gateway)).toBe(true)
    node().thaw()
    const thawedFrom = running.answers.length
    await until(
      'callbacks are accepted again',
      () => running.answers.slice(thawedFrom).filter(isSuccess).length > 100,
      30_000,
    )
  } finally {
    node().thaw()
    await running.stop()
  }
  await holds(running.answers)
})

test('a broker killed for 20 s under load: no success that is not in the topic; after it all by itself', async () => {
  const running = load('KILLED', 50)
  try {
    await until('callbacks are accepted', () => running.answers.filter(isSuccess).length > 100)
    await node().kill()
    const killedFrom = running.answers.length
    const killedMs = performance.now()
    await until('it has been away for 20 s', () => performance.now() - killedMs > 20_000, 30_000)
    expect(running.answers.slice(killedFrom + 50).filter(isSuccess)).toEqual([])
    expect(running.answers.length).toBeGreaterThan(killedFrom + 100)
    await node().restart()
    const restartedFrom = running.answers.length
    await until(
      'callbacks are accepted again',
      () => running.answers.slice(restartedFrom).filter(isSuccess).length > 100,
      60_000,
    )
  } finally {
    await running.stop()
  }
  await holds(running.answers)
})

test('the registry away while running changes nothing', async () => {
  await stack.registry.kill()
  try {
    expect((await pay('REGISTRY-1')).status).toBe(200)
  } finally {
    await stack.registry.restart()
  }
})
