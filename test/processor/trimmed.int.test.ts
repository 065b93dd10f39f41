import { afterEach, beforeEach, expect, test } from 'vitest'
import { javaDeleteBefore } from '../../dev/parts/java-topics.ts'
import { createTopicAdmin } from '../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC, RETENTION_MS } from '../../src/schemas/topics.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { groupTool } from '../helpers/groups.ts'
import { createInstallation, payment, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { stackEnv } from '../helpers/stack.ts'
import { until } from '../helpers/until.ts'

const orders = ['T1', 'T2', 'T3', 'T4']
const first = orders.slice(0, 2)
let installation: Installation
const brokers = () => stackEnv().KAFKA_BROKERS
const trim = (before: number) => javaDeleteBefore(brokers(), installation.topics.name(INPUT_TOPIC), 0, before)

/** Two records are applied and emitted, and nobody runs. */
beforeEach(async () => {
  installation = await createInstallation({ partitions: 1 })
  await installation.createOrders(orders)
  await installation.send(first.map((order) => payment(order)))
  const processor = await startTestProcessor(installation)
  await until('two records are done', () => processor.lanes()[0]?.ledger === 6)
  await processor.stop()
})
afterEach(() => installation.drop())

async function expectHalt(reason: string) {
  const processor = await startTestProcessor(installation)
  try {
    await until('the lane halts', () => processor.lanes()[0]?.haltReason === reason)
    const events = await readEvents(installation.topics)
    expect(checkExactlyOnce(first, events)).toEqual(nothingWrong(first))
  } finally {
    await processor.stop()
  }
}

test('retention that removed what was not applied halts the lane', async () => {
  await installation.send([payment('T3'), payment('T4')])
  await trim(3)
  await expectHalt('log_trimmed')
})

test('a topic that was made anew, and so ends before what is applied, halts the lane', async () => {
  const topic = installation.topics.name(INPUT_TOPIC)
  const admin = createTopicAdmin({ brokers: brokers().split(','), ssl: false }, createLog('test', 'silent'))
  try {
    await admin.deleteTopics([topic])
    await until('the topic is made anew', async () => {
      const spec = { topic, partitions: 1, replicationFactor: 1, minInsyncReplicas: 1 }
      return (await admin.ensureTopics([{ ...spec, retentionMs: RETENTION_MS[INPUT_TOPIC] }])).length === 1
    })
  } finally {
    await admin.close()
  }
  await expectHalt('applied_above_log')
})

test('a group that stands below the log is moved to its start, and the lane goes on', async () => {
  await trim(2)
  await groupTool(installation).set('input', 0, 0)
  const processor = await startTestProcessor(installation)
  try {
    await untilSettled([processor], 1)
    await installation.send(orders.map((order) => payment(order)))
    const events = await readEvents(installation.topics, { atLeast: 12 })
    expect(checkExactlyOnce(orders, events)).toEqual(nothingWrong(orders))
  } finally {
    await processor.stop()
  }
})
