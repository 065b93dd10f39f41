import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { guardEosManager } from '../../../../src/runtime/kafka/guards/eos-manager.ts'
import type { Guard } from '../../../../src/runtime/kafka/guards/internals.ts'
import { apartKafkajs, quietLogger } from '../../../helpers/stock-kafkajs.ts'

interface EosManager {
  initProducerId: () => Promise<void>
  beginTransaction: () => void
  addPartitionsToTransaction: (topics: object[]) => Promise<void>
  sendOffsets: (offsets: object) => Promise<void>
  commit: () => Promise<void>
}
type CreateEosManager = (options: object) => EosManager

const load = (...guards: Guard[]) =>
  apartKafkajs(...guards).load('src/producer/eosManager/index.js') as CreateEosManager
const stock = load()
const guarded = load(guardEosManager)

function setUp(create: CreateEosManager, initProducerId: () => Promise<object>) {
  let connected = true
  const done = () => Promise.resolve()
  const broker = {
    isConnected: () => connected,
    initProducerId: vi.fn(initProducerId),
    addPartitionsToTxn: done,
    addOffsetsToTxn: done,
    txnOffsetCommit: done,
    endTxn: done,
  }
  const cluster = {
    refreshMetadataIfNecessary: done,
    findGroupCoordinator: vi.fn((query: { groupId: string }) => Promise.resolve({ ...broker, for: query.groupId })),
  }
  const manager = create({ logger: quietLogger, cluster, transactional: true, transactionalId: 'lane-1' })
  return { manager, broker, cluster, disconnect: () => (connected = false) }
}

const initialized = () => Promise.resolve({ producerId: '1', producerEpoch: 0 })
const concurrent = () =>
  Promise.reject(Object.assign(new Error('concurrent'), { type: 'CONCURRENT_TRANSACTIONS', retriable: true }))

async function transact(manager: EosManager) {
  manager.beginTransaction()
  await manager.addPartitionsToTransaction([{ topic: 'out', partitions: [{ partition: 0 }] }])
  for (const consumerGroupId of ['app', 'app.ledger']) await manager.sendOffsets({ consumerGroupId, topics: [] })
  await manager.commit()
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('the fence asks again while the dead owner is being ended; stock kafkajs waits 300 ms before it does', async () => {
  const attemptsIn200Ms = async (create: CreateEosManager) => {
    const { manager, broker } = setUp(create, concurrent)
    manager.initProducerId().catch(() => undefined)
    await vi.advanceTimersByTimeAsync(200)
    return broker.initProducerId.mock.calls.length
  }
  expect(await attemptsIn200Ms(stock)).toBe(1)
  expect(await attemptsIn200Ms(guarded)).toBeGreaterThanOrEqual(4)
})

test('each coordinator is looked up once; stock kafkajs does it for every request', async () => {
  const lookups = async (create: CreateEosManager) => {
    const { manager, cluster } = setUp(create, initialized)
    await manager.initProducerId()
    await transact(manager)
    cluster.findGroupCoordinator.mockClear()
    await transact(manager)
    return cluster.findGroupCoordinator.mock.calls.length
  }
  expect(await lookups(stock)).toBe(6)
  expect(await lookups(guarded)).toBe(0)
})

test('a group and a transactional id of the same name have coordinators of their own', async () => {
  const { manager, cluster } = setUp(guarded, initialized)
  await manager.initProducerId()
  manager.beginTransaction()
  await manager.sendOffsets({ consumerGroupId: 'lane-1', topics: [] })
  expect(cluster.findGroupCoordinator.mock.calls.map(([query]) => query)).toEqual([
    { groupId: 'lane-1', coordinatorType: 1 },
    { groupId: 'lane-1', coordinatorType: 0 },
  ])
})

test('until the fence has succeeded, and when a connection is lost, the coordinator is looked up anew', async () => {
  let refusals = 2
  const { manager, cluster, disconnect } = setUp(guarded, () => (refusals-- > 0 ? concurrent() : initialized()))
  const fenced = manager.initProducerId()
  await vi.advanceTimersByTimeAsync(1_000)
  await fenced
  expect(cluster.findGroupCoordinator).toHaveBeenCalledTimes(3)
  disconnect()
  await transact(manager)
  expect(cluster.findGroupCoordinator).toHaveBeenCalledTimes(3 + 6)
})
