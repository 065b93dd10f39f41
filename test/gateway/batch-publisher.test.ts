import { describe, expect, test } from 'vitest'
import { createBatchPublisher, type Published, type PublisherOptions } from '../../src/gateway/batch-publisher.ts'
import { partitionFor } from '../../src/runtime/kafka/partition.ts'
import type { PartitionMessages, PlainProducer } from '../../src/runtime/kafka/port.ts'
import { createLog } from '../../src/runtime/log.ts'
import { until } from '../helpers/until.ts'

const TOPIC = 'in'
const PARTITIONS = 3
const FAR_MS = 1e9

interface Call extends PartitionMessages {
  readonly deadlineMs: number
  readonly ack: () => void
  readonly fail: (error: Error) => void
}

/** A producer whose calls the test answers by hand, and a clock that it moves by hand. */
function harness(options: Partial<PublisherOptions> = {}) {
  const calls: Call[] = []
  let partitions = PARTITIONS
  let nowMs = 0
  let changes = 0
  const producer: PlainProducer = {
    send: (messages, deadlineMs) =>
      new Promise((resolve, reject) => calls.push({ ...messages, deadlineMs, ack: resolve, fail: reject })),
    partitionCount: () => partitions,
    close: () => Promise.resolve(),
  }
  const batches: number[] = []
  const publisher = createBatchPublisher(
    producer,
    {
      ...{ topic: TOPIC, partitions: PARTITIONS, intervalMs: 0 },
      ...{ pendingRecordsMax: 10_000, pendingBytesMax: 100_000_000 },
      onBatch: (records) => batches.push(records),
      onPartitionCountChanged: () => (changes += 1),
      ...options,
    },
    { now: () => new Date(nowMs), elapsedMs: () => nowMs },
    createLog('test', 'silent'),
  )
  const publish = (key: string, deadlineAtMs = FAR_MS, value = Buffer.from(key)) =>
    new Promise<Published>((resolve) => publisher.publish({ key, value }, deadlineAtMs, resolve))
  return {
    ...{ publisher, publish, calls, batches },
    call: (index: number) => until(`call ${index}`, () => calls[index]),
    advance: (ms: number) => (nowMs += ms),
    grow: () => (partitions += 1),
    changes: () => changes,
  }
}

/** Keys of one partition. */
const keysOf = (partition: number, count: number) => {
  const keys: string[] = []
  for (let i = 0; keys.length < count; i++) if (partitionFor(`T${i}`, PARTITIONS) === partition) keys.push(`T${i}`)
  return keys
}
const turns = async (count = 5) => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}
const tooLarge = () => Object.assign(new Error('too large'), { type: 'MESSAGE_TOO_LARGE' })

describe('batches', () => {
  test("records of one turn go in one call per partition, in order, each to its key's partition", async () => {
    const { publish, calls } = harness()
    const keys = [...keysOf(0, 3), ...keysOf(2, 2)]
    const published = keys.map((key) => publish(key))
    await until('two calls', () => calls.length === 2)
    expect(calls.map(({ topic, partition, messages }) => [topic, partition, messages.map(({ key }) => key)])).toEqual([
      [TOPIC, 0, keysOf(0, 3)],
      [TOPIC, 2, keysOf(2, 2)],
    ])
    for (const call of calls) call.ack()
    expect(await Promise.all(published)).toEqual(keys.map(() => ({ kind: 'acked' })))
  })

  test('one call is in flight per partition; what comes meanwhile goes together in the next', async () => {
    const { publish, calls, call, advance } = harness()
    const [first = '', ...others] = keysOf(1, 5)
    const published = [publish(first)]
    const one = await call(0)
    published.push(...others.map((key) => publish(key)))
    advance(100)
    void publish(keysOf(2, 1)[0] ?? '')
    expect((await call(1)).partition).toBe(2) // A round has passed.
    expect(calls).toHaveLength(2)
    one.ack()
    await turns()
    advance(100)
    const next = await call(2)
    expect([next.partition, next.messages.map(({ key }) => key)]).toEqual([1, others])
    next.ack()
    expect(await Promise.all(published)).toEqual([first, ...others].map(() => ({ kind: 'acked' })))
  })

  test('a call holds at most 700 KB', async () => {
    const { publish, call } = harness()
    const value = Buffer.alloc(65_536)
    const published = keysOf(0, 15).map((key) => publish(key, FAR_MS, value))
    const one = await call(0)
    expect(one.messages).toHaveLength(10)
    one.ack()
    const two = await call(1)
    expect(two.messages).toHaveLength(5)
    two.ack()
    await Promise.all(published)
  })

  test('nothing is acknowledged before the call is', async () => {
    const { publish, call } = harness()
    let settled = false
    const published = publish('T1').then(() => (settled = true))
    const one = await call(0)
    await turns()
    expect(settled).toBe(false)
    one.ack()
    await published
  })
})

describe('failures', () => {
  test('a call that fails fails its own records and no other', async () => {
    const { publish, calls } = harness()
    const bad = keysOf(0, 2).map((key) => publish(key))
    const good = keysOf(1, 2).map((key) => publish(key))
    await until('two calls', () => calls.length === 2)
    calls.find(({ partition }) => partition === 0)?.fail(new Error('NOT_ENOUGH_REPLICAS'))
    calls.find(({ partition }) => partition === 1)?.ack()
    expect(await Promise.all(bad)).toEqual(bad.map(() => ({ kind: 'failed', reason: 'broker' })))
    expect(await Promise.all(good)).toEqual(good.map(() => ({ kind: 'acked' })))
  })

  test('a record that is too large fails alone', async () => {
    const { publish, call } = harness()
    const published = keysOf(0, 3).map((key) => publish(key))
    ;(await call(0)).fail(tooLarge())
    ;(await call(1)).ack()
    ;(await call(2)).fail(tooLarge())
    ;(await call(3)).ack()
    expect(await Promise.all(published)).toEqual([
      { kind: 'acked' },
      { kind: 'failed', reason: 'too_large' },
      { kind: 'acked' },
    ])
  })

  test('a call may take as long as its latest record has; an expired record is not sent', async () => {
    const { publish, call, advance } = harness()
    const [one = '', two = '', three = '', four = ''] = keysOf(0, 4)
    const first = publish(one)
    const busy = await call(0)
    const late = [publish(two, 1_000), publish(three, 4_000), publish(four, 3_000)]
    advance(2_000)
    busy.ack()
    const next = await call(1)
    expect(next.messages.map(({ key }) => key)).toEqual([three, four])
    expect(next.deadlineMs).toBe(2_000)
    next.ack()
    expect(await Promise.all([first, ...late])).toEqual([
      { kind: 'acked' },
      { kind: 'failed', reason: 'expired' },
      { kind: 'acked' },
      { kind: 'acked' },
    ])
  })

  test('another partition count than at the start: nothing is sent any more, and it is reported', async () => {
    const { publish, calls, grow, changes } = harness()
    grow()
    expect(await publish('T1')).toEqual({ kind: 'failed', reason: 'broker' })
    expect(calls).toEqual([])
    expect(changes()).toBe(1)
  })
})

describe('limits', () => {
  test('above the records or bytes allowed a record is refused at once, and there is room again after', async () => {
    const { publish, call, publisher } = harness({ pendingRecordsMax: 2 })
    const held = [publish('T1'), publish('T1')]
    expect(await publish('T1')).toEqual({ kind: 'failed', reason: 'overloaded' })
    expect(publisher.pending().records).toBe(2)
    ;(await call(0)).ack()
    await Promise.all(held)
    expect(publisher.pending()).toEqual({ records: 0, bytes: 0 })
    const again = publish('T1')
    ;(await call(1)).ack()
    expect(await again).toEqual({ kind: 'acked' })

    const small = harness({ pendingBytesMax: 1_000 })
    expect(await small.publish('T1', FAR_MS, Buffer.alloc(1_001))).toEqual({ kind: 'failed', reason: 'overloaded' })
  })

  test('rounds are apart by the interval', async () => {
    const { publish, calls, call, advance } = harness({ intervalMs: 40 })
    void publish('T1')
    ;(await call(0)).ack() // The first of a quiet moment goes at once.
    await turns()
    void publish('T1')
    await turns()
    expect(calls).toHaveLength(1)
    advance(40)
    await call(1)
  })

  test('after a round of many calls the pause is 2 ms for each', async () => {
    const { publish, calls, advance } = harness({ intervalMs: 0 })
    for (const partition of [0, 1, 2]) void publish(keysOf(partition, 1)[0] ?? '')
    await until('three calls', () => calls.length === 3)
    for (const { ack } of calls) ack()
    await turns()
    advance(5)
    void publish('T1')
    await turns(1)
    expect(calls).toHaveLength(3)
    advance(1)
    await until('the next round', () => calls.length === 4)
  })
})

test('closing sends what waits, resolves when all is settled, and refuses what comes', async () => {
  const { publish, call, publisher } = harness({ intervalMs: 100 })
  const [one = '', two = ''] = keysOf(0, 2)
  const published = [publish(one)]
  const first = await call(0)
  published.push(publish(two))
  let closed = false
  const closing = publisher.close().then(() => (closed = true))
  expect(await publish(one)).toEqual({ kind: 'failed', reason: 'closed' })
  first.ack()
  const second = await call(1)
  await turns()
  expect(closed).toBe(false)
  second.ack()
  await closing
  expect(await Promise.all(published)).toEqual([{ kind: 'acked' }, { kind: 'acked' }])
})
