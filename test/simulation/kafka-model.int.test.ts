import { createRequire } from 'node:module'
import { expect, onTestFinished, test } from 'vitest'
import { kafkaFor } from '../../src/runtime/kafka/connection.ts'
import { internalsOf } from '../../src/runtime/kafka/guards/internals.ts'
import { freshName, freshTopic, log, settings, testReader } from '../runtime/kafka/support.ts'
import { createBroker } from './kafka/broker.ts'
import { simulatedOffsets } from './kafka/clients.ts'
import { simulatedNode } from './kafka/kafkajs-producer.ts'
import { playScript, type Node, type Side } from './kafka/play-script.ts'
import { SCRIPTS, type Script } from './kafka/scripts.ts'
import { createNetwork } from './world/network.ts'
import { createRandom } from './world/random.ts'
import { createScheduler } from './world/scheduler.ts'

const nothing = () => undefined

async function playSimulated({ steps }: Script): Promise<string[]> {
  const [topic, random] = ['t', createRandom(1)]
  const scheduler = createScheduler(nothing)
  const network = createNetwork(scheduler, random)
  const events = { onCommitted: nothing, onTransactionEnded: nothing, onDecided: nothing, onOffsets: nothing }
  const broker = createBroker(scheduler, random, { topics: [topic], partitions: 2 }, events)
  const host = scheduler.host('client')
  const reader = simulatedOffsets(host, network, broker)
  const side: Side = {
    node: simulatedNode(host, network, broker) as unknown as Node,
    topic,
    nameOf: (name) => name,
    committed: (group) => reader.committed(group, topic, 0),
    end: async (partition) => (await reader.logRange(topic, partition)).end,
  }
  let said: string[] | undefined
  let failed: unknown
  // Markers are written before the next request, as they are on a broker that is asked again until they are.
  const settled = async (read: () => Promise<string>) => {
    while (broker.markersLeft() > 0) await read()
    return read()
  }
  scheduler.at(0, host, 'script', () => {
    playScript(steps, side, settled).then(
      (lines) => (said = lines),
      (error: unknown) => (failed = error),
    )
  })
  await scheduler.run(() => said !== undefined || failed !== undefined, { steps: 100_000, ms: 10_000 })
  if (said === undefined) throw new Error('the script did not end', { cause: failed })
  return said
}

interface Cluster {
  readonly connect: () => Promise<void>
  readonly disconnect: () => Promise<void>
  readonly addTargetTopic: (topic: string) => Promise<void>
  readonly findGroupCoordinator: (query: { groupId: string; coordinatorType?: number }) => Promise<Node>
  readonly findBroker: (query: { nodeId: number }) => Promise<Node>
  readonly findLeaderForPartitions: (topic: string, partitions: number[]) => Record<string, number[]>
}

/** Every request goes where kafkajs would send it. */
async function realNode(topic: string): Promise<Node> {
  const kafka = kafkaFor(settings(), 'model-test', log) as unknown as Record<symbol, (options: object) => Cluster>
  const name = Object.getOwnPropertySymbols(kafka).find((symbol) => symbol.description?.endsWith('createCluster'))
  if (name === undefined) throw new Error('kafkajs makes its clusters in another way')
  internalsOf(createRequire(import.meta.url))
  const cluster = kafka[name]?.({ metadataMaxAge: 60_000, allowAutoTopicCreation: false, maxInFlightRequests: 1 })
  if (cluster === undefined) throw new Error('no cluster')
  await cluster.connect()
  onTestFinished(() => cluster.disconnect())
  await cluster.addTargetTopic(topic)
  const coordinator = (transactionalId: string) =>
    cluster.findGroupCoordinator({ groupId: transactionalId, coordinatorType: 1 })
  const leader = async (partition: number) => {
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]))
    return cluster.findBroker({ nodeId: Number(nodeId) })
  }
  return {
    initProducerId: async (by) => (await coordinator(by.transactionalId)).initProducerId(by),
    addPartitionsToTxn: async (by) => (await coordinator(by.transactionalId)).addPartitionsToTxn(by),
    addOffsetsToTxn: async (by) => (await coordinator(by.transactionalId)).addOffsetsToTxn(by),
    endTxn: async (by) => (await coordinator(by.transactionalId)).endTxn(by),
    produce: async (by) => (await leader(0)).produce(by),
    txnOffsetCommit: async (by) => (await cluster.findGroupCoordinator({ groupId: by.groupId })).txnOffsetCommit(by),
  }
}

test.each(SCRIPTS)('the simulated broker answers as the real one: $name', async (script) => {
  const expected = await playSimulated(script)
  const [topic, prefix, reader] = [await freshTopic(2), freshName('model'), await testReader()]
  const side: Side = {
    node: await realNode(topic),
    topic,
    nameOf: (name) => `${prefix}-${name}`,
    committed: (group) => reader.committed(group, topic, 0),
    end: async (partition) => (await reader.logRange(topic, partition)).end,
  }
  // Markers take a moment there: what is read is read again until it is what the model says, for a while.
  const settled = async (read: () => Promise<string>, index: number) => {
    const due = expected[index]?.split(': ')[1]
    const untilMs = performance.now() + 3_000
    for (;;) {
      const value = await read()
      if (value === due || performance.now() > untilMs) return value
    }
  }
  expect(await playScript(script.steps, side, settled)).toEqual(expected)
})
