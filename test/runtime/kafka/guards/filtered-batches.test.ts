import { expect, test, vi } from 'vitest'
import { guardFilteredBatches } from '../../../../src/runtime/kafka/guards/filtered-batches.ts'
import type { Guard } from '../../../../src/runtime/kafka/guards/internals.ts'
import { apartKafkajs, quietLogger } from '../../../helpers/stock-kafkajs.ts'

interface Runner {
  running: boolean
  handleBatch: (batch: object) => Promise<void>
}
type RunnerClass = new (options: object) => Runner
type BatchClass = new (topic: string, fetchedOffset: string, partitionData: object) => object

const control = (offset: number) => ({
  offset: String(offset),
  key: Buffer.from([0, 0, 0, 1]),
  isControlRecord: true,
  batchContext: { producerId: '1', inTransaction: true },
})

async function handle(messages: readonly object[], ...guards: Guard[]) {
  const apart = apartKafkajs(...guards)
  const eachBatch = vi.fn<(payload: { batch: { messages: unknown[]; lastOffset: () => string } }) => Promise<void>>(
    () => Promise.resolve(),
  )
  const runner = new (apart.load('src/consumer/runner.js') as RunnerClass)({
    logger: quietLogger,
    consumerGroup: { heartbeat: () => Promise.resolve(), resolveOffset: vi.fn() },
    instrumentationEmitter: { emit: vi.fn() },
    eachBatch,
    eachBatchAutoResolve: false,
    autoCommit: false,
    concurrency: 1,
  })
  runner.running = true
  const Batch = apart.load('src/consumer/batch.js') as BatchClass
  await runner.handleBatch(new Batch('t', '10', { partition: 0, highWatermark: '12', messages }))
  return eachBatch
}

test('a fetch of control records alone is handed over; stock kafkajs advances in silence', async () => {
  const messages = [control(10), control(11)]
  expect(await handle(messages)).not.toHaveBeenCalled()
  const eachBatch = await handle(messages, guardFilteredBatches)
  expect(eachBatch).toHaveBeenCalledOnce()
  const batch = eachBatch.mock.calls[0]?.[0].batch
  expect(batch?.messages).toEqual([])
  expect(batch?.lastOffset()).toBe('11')
})

test('an empty fetch is not handed over', async () => {
  expect(await handle([], guardFilteredBatches)).not.toHaveBeenCalled()
})
