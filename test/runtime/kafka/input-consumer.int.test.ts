import { expect, onTestFinished, test } from 'vitest'
import { javaDeleteBefore, javaWrite } from '../../../dev/parts/java-topics.ts'
import { createInputConsumer, type InputConsumerOptions } from '../../../src/runtime/kafka/input-consumer.ts'
import { Kafka, logLevel } from '../../../src/runtime/kafka/kafkajs.ts'
import type { BatchControl, InputBatch, InputConsumer } from '../../../src/runtime/kafka/port.ts'
import { stackEnv } from '../../helpers/stack.ts'
import { until } from '../../helpers/until.ts'
import { freshName, freshTopic, log, settings, testFence, testProducer, values } from './support.ts'

type OnBatch = (batch: InputBatch, control: BatchControl) => Promise<void> | void

interface Member {
  readonly consumer: ReturnType<typeof createInputConsumer>
  readonly assignments: (readonly number[])[]
  readonly batches: { partition: number; fetchedOffset: number; endOffset: number; values: string[] }[]
  readonly outOfRange: number[]
  readonly crashes: Error[]
}

/** A running member of the group that resolves each batch, unless told otherwise. */
async function member(
  options: Pick<InputConsumerOptions, 'group' | 'topic' | 'partitions'> & Partial<InputConsumerOptions>,
  onBatch: OnBatch = (batch, control) => control.resolve(batch.endOffset),
  onAssigned: (self: Member, partitions: readonly number[]) => void = () => undefined,
): Promise<Member> {
  const consumer = createInputConsumer(settings(), { sessionTimeoutMs: 3_000, maxWaitMs: 50, ...options }, log)
  const self: Member = { consumer, assignments: [], batches: [], outOfRange: [], crashes: [] }
  onTestFinished(() => consumer.stop())
  await consumer.run({
    onAssigned: (partitions) => {
      self.assignments.push(partitions)
      onAssigned(self, partitions)
    },
    onBatch: async (batch, control) => {
      const { partition, fetchedOffset, endOffset, records } = batch
      const texts = records.map(({ value }) => value?.toString() ?? '')
      self.batches.push({ partition, fetchedOffset, endOffset, values: texts })
      await onBatch(batch, control)
    },
    onOutOfRange: (partition) => void self.outOfRange.push(partition),
    onCrash: (error) => void self.crashes.push(error),
  })
  return self
}

const group = () => freshName('group')
const seen = ({ batches }: Member) => batches.flatMap((batch) => batch.values)

test('hands over all partitions, from the first record, without committing anything', async () => {
  const topic = await freshTopic(3)
  const producer = await testProducer(topic)
  for (const partition of [0, 1, 2])
    await producer.send({ topic, partition, messages: values(`a${partition}`, `b${partition}`) }, 5_000)
  const options = { group: group(), topic, partitions: 3 }
  const first = await member(options)
  await until('all is read', () => seen(first).length === 6)
  expect(first.assignments.map((partitions) => [...partitions].sort())).toEqual([[0, 1, 2]])
  expect(first.consumer.sincePollMs()).toBeLessThan(2_000)
  await first.consumer.stop()
  // Nothing was committed, so the next member starts at the beginning again.
  const second = await member(options)
  await until('all is read again', () => seen(second).length === 6)
})

test('a large fetch comes in batches of at most maxRecords; what is not resolved comes again', async () => {
  const topic = await freshTopic()
  await (await testProducer(topic)).send({ topic, partition: 0, messages: values('a', 'b', 'c', 'd', 'e') }, 5_000)
  let refusals = 1
  const self = await member({ group: group(), topic, partitions: 1, maxRecords: 2 }, (batch, control) => {
    if (batch.fetchedOffset === 2 && refusals-- > 0) return
    control.resolve(batch.endOffset)
  })
  await until('the end is read', () => seen(self).includes('e'))
  expect(self.batches.map((batch) => batch.values.join(''))).toEqual(['ab', 'cd', 'cd', 'e'])
})

test('seeks back and forth', async () => {
  const topic = await freshTopic()
  await (await testProducer(topic)).send({ topic, partition: 0, messages: values('a', 'b', 'c', 'd') }, 5_000)
  const targets = [3, 1]
  let consumer: InputConsumer | undefined
  const self = await member(
    { group: group(), topic, partitions: 1 },
    (batch, control) => {
      const target = targets.shift()
      if (target === undefined) control.resolve(batch.endOffset)
      else consumer?.seek(0, target)
    },
    (joined) => (consumer = joined.consumer),
  )
  await until('three batches', () => self.batches.length === 3)
  expect(self.batches.map(({ fetchedOffset, values: texts }) => [fetchedOffset, texts.join('')])).toEqual([
    [0, 'abcd'],
    [3, 'd'],
    [1, 'bcd'],
  ])
})

test('moving or pausing a partition while kafkajs has no group, as between a failure and its restart, throws nothing', async () => {
  const topic = await freshTopic()
  const self = await member({ group: group(), topic, partitions: 1 })
  await until('it is assigned', () => self.assignments.length > 0)
  // The same state: kafkajs restarts by stopping its runner, and starts again after a while.
  await self.consumer.stop()
  self.consumer.seek(0, 0)
  self.consumer.pause(0)
  self.consumer.resume(0)
})

test('a paused lane does not hold up another, and comes again after its pause', async () => {
  const topic = await freshTopic(2)
  const producer = await testProducer(topic)
  await producer.send({ topic, partition: 0, messages: values('slow') }, 5_000)
  let pauses = 1
  const order: string[] = []
  await member({ group: group(), topic, partitions: 2 }, (batch, control) => {
    if (batch.partition === 0 && pauses-- > 0) {
      order.push('pause')
      control.pause(1_500)
      return
    }
    order.push(...batch.records.map(({ value }) => value?.toString() ?? ''))
    control.resolve(batch.endOffset)
  })
  await until('it is paused', () => order.includes('pause'))
  for (const text of ['x', 'y', 'z']) await producer.send({ topic, partition: 1, messages: values(text) }, 5_000)
  await until('the paused one came', () => order.includes('slow'))
  expect(order).toEqual(['pause', 'x', 'y', 'z', 'slow'])
})

test('paused in onAssigned, nothing is fetched until it is resumed, at the position sought', async () => {
  const topic = await freshTopic()
  await (await testProducer(topic)).send({ topic, partition: 0, messages: values('a', 'b', 'c') }, 5_000)
  const self = await member({ group: group(), topic, partitions: 1 }, undefined, ({ consumer }) => consumer.pause(0))
  await until('it has joined and polls', () => self.assignments.length === 1 && self.consumer.sincePollMs() < 500)
  self.consumer.seek(0, 1)
  self.consumer.resume(0)
  await until('it has read', () => seen(self).length > 0)
  expect(self.batches[0]).toMatchObject({ fetchedOffset: 1, values: ['b', 'c'] })
})

test('transactions of others on the input: markers are passed over, aborted records never seen', async () => {
  const topic = await freshTopic()
  const [app, fence] = [freshName('app'), testFence()]
  const writer = await fence(app)
  const self = await member({ group: group(), topic, partitions: 1 })
  await writer.commit([{ topic, partition: 0, messages: values('a') }], [])
  await until('the record is read', () => seen(self).includes('a'))
  await until('the marker is passed', () => self.batches.at(-1)?.endOffset === 2)
  await writer.commit([{ topic, partition: 0, messages: values('b') }], [])
  await until('the next is read', () => self.batches.at(-1)?.endOffset === 4)
  expect(seen(self)).toEqual(['a', 'b'])
  // Position after position without a gap: a lane that compares them never sees one it has not been told of.
  for (const [i, batch] of self.batches.entries()) expect(batch.fetchedOffset).toBe(self.batches[i - 1]?.endOffset ?? 0)
})

test('a trimmed log resets nothing: the lane is told, paused, and may seek', async () => {
  const topic = await freshTopic(2)
  const producer = await testProducer(topic)
  for (const partition of [0, 1]) await producer.send({ topic, partition, messages: values('a', 'b', 'c') }, 5_000)
  await javaDeleteBefore(stackEnv().KAFKA_BROKERS, topic, 0, 2)
  const self = await member({ group: group(), topic, partitions: 2 }, undefined, ({ consumer }) => consumer.seek(0, 0))
  await until('it is told', () => self.outOfRange.length > 0)
  await producer.send({ topic, partition: 1, messages: values('d') }, 5_000)
  await until('the other lane goes on', () => seen(self).includes('d'))
  expect(self.outOfRange).toEqual([0])
  expect(self.batches.every(({ partition }) => partition === 1)).toBe(true)
  expect(self.crashes).toEqual([])
  self.consumer.seek(0, 2)
  self.consumer.resume(0)
  await until('it reads on from there', () => self.batches.some((batch) => batch.partition === 0))
  expect(self.batches.find((batch) => batch.partition === 0)).toMatchObject({ fetchedOffset: 2, values: ['c'] })
})

test('a batch that takes longer than the session does not cost the membership', async () => {
  const topic = await freshTopic()
  const producer = await testProducer(topic)
  await producer.send({ topic, partition: 0, messages: values('long') }, 5_000)
  const options = { group: group(), topic, partitions: 1, sessionTimeoutMs: 1_000 }
  const self = await member(options, async (batch, control) => {
    // Work of 2.5 sessions that leaves the event loop free, as waiting for Postgres does.
    const startedMs = performance.now()
    if (batch.fetchedOffset === 0) await until('it has worked long', () => performance.now() - startedMs > 2_500)
    control.resolve(batch.endOffset)
  })
  await until('the long one is in work', () => seen(self).includes('long'))
  await producer.send({ topic, partition: 0, messages: values('next') }, 5_000)
  await until('the next batch', () => seen(self).includes('next'))
  expect(seen(self)).toEqual(['long', 'next'])
  expect(self.assignments).toHaveLength(1)
})

test('a second member takes its share after the batch in work, and gives it back', async () => {
  const topic = await freshTopic(4)
  const producer = await testProducer(topic)
  const options = { group: group(), topic, partitions: 4 }
  const release = Promise.withResolvers<undefined>()
  const finished: number[] = []
  const first = await member(options, async (batch, control) => {
    if (finished.length === 0) await release.promise
    control.resolve(batch.endOffset)
    finished.push(batch.partition)
  })
  await producer.send({ topic, partition: 0, messages: values('held') }, 5_000)
  await until('a batch is in work', () => first.batches.length === 1)
  const joining = member(options)
  await until(
    'the second member asks to join',
    () => first.assignments.length === 1 && first.consumer.sincePollMs() > 600,
  )
  expect(finished).toEqual([])
  release.resolve(undefined)
  const second = await joining
  await until(
    'both have a share',
    () => first.assignments.at(-1)?.length === 2 && second.assignments.at(-1)?.length === 2,
  )
  expect(finished[0]).toBe(0)
  expect([...(first.assignments.at(-1) ?? []), ...(second.assignments.at(-1) ?? [])].sort()).toEqual([0, 1, 2, 3])
  await second.consumer.stop()
  await until('all are back', () => first.assignments.at(-1)?.length === 4)
})

test('an error in onBatch is a surprise: onCrash hears of it, once', async () => {
  const topic = await freshTopic()
  await (await testProducer(topic)).send({ topic, partition: 0, messages: values('a') }, 5_000)
  const self = await member({ group: group(), topic, partitions: 1 }, () => Promise.reject(new TypeError('bug')))
  await until('it is told', () => self.crashes.length > 0)
  expect(self.crashes).toMatchObject([{ message: 'bug' }])
})

test('stopping in the middle of a batch waits for it; isCurrent turns false', async () => {
  const topic = await freshTopic()
  await (await testProducer(topic)).send({ topic, partition: 0, messages: values('a') }, 5_000)
  let wasCurrent: boolean | undefined
  let ended = false
  const self = await member({ group: group(), topic, partitions: 1 }, async (_, control) => {
    wasCurrent = control.isCurrent()
    await until('it is no longer current', () => !control.isCurrent())
    ended = true
  })
  await until('a batch is in work', () => wasCurrent !== undefined)
  await self.consumer.stop()
  expect({ wasCurrent, ended }).toEqual({ wasCurrent: true, ended: true })
})

test('records in a codec that kafkajs lacks: the topics we create have them rewritten by the broker', async () => {
  const topic = await freshTopic()
  await javaWrite(stackEnv().KAFKA_BROKERS, [{ topic, partition: 0, key: null, value: Buffer.from('a') }], 'lz4')
  const self = await member({ group: group(), topic, partitions: 1 })
  await until('it is read', () => seen(self).includes('a'))
})

test('on a topic that keeps them, the consumer ends and says why', async () => {
  const topic = freshName('kafka-test')
  const kafka = new Kafka({ brokers: [...settings().brokers], logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.createTopics({ topics: [{ topic, configEntries: [{ name: 'compression.type', value: 'producer' }] }] })
  onTestFinished(async () => {
    await admin.deleteTopics({ topics: [topic] })
    await admin.disconnect()
  })
  await javaWrite(stackEnv().KAFKA_BROKERS, [{ topic, partition: 0, key: null, value: Buffer.from('a') }], 'lz4')
  const self = await member({ group: group(), topic, partitions: 1 })
  await until('it has ended', () => self.crashes.length > 0)
  expect(self.crashes[0]?.message).toContain('(LZ4 compression not implemented). Set its compression.type')
})
