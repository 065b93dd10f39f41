import type { Producer, RecordMetadata } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { DeadProducer, laneProducer } from '../../../src/runtime/kafka/lane-producer.ts'

type Sent = { topic: string; messages: { partition: number; value: Buffer }[] }
type Offsets = { consumerGroupId: string; topics: unknown }

const acknowledge = ({ topic, messages: [first] }: Sent): RecordMetadata[] => [
  { topicName: topic, partition: first?.partition ?? -1, errorCode: 0 },
]
const offset = (group: string, value: number) => ({ group, topic: 'in', partition: 2, offset: value })
const messages = (topic: string, ...values: string[]) => ({
  topic,
  partition: 2,
  messages: values.map((value) => ({ key: null, value: Buffer.from(value) })),
})
const typed = (type: string) => Object.assign(new Error(type), { type, name: 'KafkaJSProtocolError' })

function setUp() {
  const calls: string[] = []
  const send = vi.fn((sent: Sent) => Promise.resolve(acknowledge(sent)))
  const sendOffsets = vi.fn<(offsets: Offsets) => Promise<void>>(() => Promise.resolve())
  const commit = vi.fn(() => Promise.resolve())
  const disconnect = vi.fn(() => new Promise<void>(() => undefined))
  const transaction = vi.fn(() =>
    Promise.resolve({
      send: (sent: Sent) => {
        calls.push(`send ${sent.topic} ${sent.messages.map(({ value }) => value.toString().slice(0, 5)).join()}`)
        return send(sent)
      },
      sendOffsets: (offsets: Offsets) => {
        calls.push(`offset ${offsets.consumerGroupId}`)
        return sendOffsets(offsets)
      },
      commit: () => {
        calls.push('commit')
        return commit()
      },
    }),
  )
  const lane = laneProducer({ transaction, disconnect } as unknown as Producer, 'app-lane-2')
  return { lane, calls, send, sendOffsets, commit, disconnect }
}

test('messages, offsets in the order given, commit', async () => {
  const { lane, calls, sendOffsets } = setUp()
  await lane.commit(
    [messages('ship', 'a', 'b'), messages('points', 'c')],
    [offset('app', 7), { ...offset('app.ledger', 3), metadata: 'mark' }],
  )
  expect(calls).toEqual(['send ship a,b', 'send points c', 'offset app', 'offset app.ledger', 'commit'])
  expect(sendOffsets).toHaveBeenLastCalledWith({
    consumerGroupId: 'app.ledger',
    topics: [{ topic: 'in', partitions: [{ partition: 2, offset: '3', metadata: 'mark' }] }],
  })
})

test('a large batch goes in several calls, one after another', async () => {
  const { lane, send } = setUp()
  let inFlight = 0
  send.mockImplementation(async (sent) => {
    expect(++inFlight).toBe(1)
    await Promise.resolve()
    inFlight--
    return acknowledge(sent)
  })
  await lane.commit([messages('ship', 'a'.repeat(400_000), 'b'.repeat(400_000))], [offset('app', 7)])
  expect(send).toHaveBeenCalledTimes(2)
})

test('an acknowledgement for less than was sent ends the producer before anything is committed', async () => {
  const { lane, calls, send } = setUp()
  send.mockResolvedValueOnce([])
  await expect(lane.commit([messages('ship', 'a')], [offset('app', 7)])).rejects.toMatchObject({ name: 'AckMismatch' })
  expect(calls).toEqual(['send ship a'])
  expect(lane.isDead()).toBe(true)
})

test.each(['send', 'sendOffsets', 'commit'] as const)(
  'after an error in %s the producer is dead for ever',
  async (at) => {
    const { lane, calls, [at]: failing } = setUp()
    failing.mockRejectedValueOnce(typed('INVALID_PRODUCER_EPOCH'))
    await expect(lane.commit([messages('ship', 'a')], [offset('app', 7)])).rejects.toMatchObject({
      type: 'INVALID_PRODUCER_EPOCH',
    })
    const before = [...calls]
    await expect(lane.commit([messages('ship', 'a')], [offset('app', 7)])).rejects.toThrow(DeadProducer)
    await expect(lane.commit([], [])).rejects.toThrow(DeadProducer)
    expect(calls).toEqual(before)
  },
)

test('two commits at a time are a fault of the caller, and the outcome of both is unknown', async () => {
  const { lane } = setUp()
  const first = expect(lane.commit([messages('ship', 'a')], [offset('app', 7)])).rejects.toThrow(DeadProducer)
  await expect(lane.commit([], [offset('app', 8)])).rejects.toThrow('Two transactions at a time')
  await first
})

test('closing does not wait for a frozen broker', async () => {
  const { lane, disconnect } = setUp()
  await lane.close()
  expect(disconnect).toHaveBeenCalledOnce()
  expect(lane.isDead()).toBe(true)
})

test('a failed producer closes its connections', async () => {
  const { lane, send, disconnect } = setUp()
  send.mockRejectedValueOnce(new Error('lost'))
  await expect(lane.commit([messages('ship', 'a')], [])).rejects.toThrow('lost')
  expect(disconnect).toHaveBeenCalledOnce()
})

describe('with time', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('only CONCURRENT_TRANSACTIONS on an offset is tried again', async () => {
    const { lane, calls, sendOffsets } = setUp()
    for (let i = 0; i < 3; i++) sendOffsets.mockRejectedValueOnce(typed('CONCURRENT_TRANSACTIONS'))
    const done = lane.commit([], [offset('app', 7)])
    await vi.runAllTimersAsync()
    await done
    expect(calls).toEqual(['offset app', 'offset app', 'offset app', 'offset app', 'commit'])
    sendOffsets.mockRejectedValueOnce(typed('NOT_COORDINATOR_FOR_GROUP'))
    await expect(lane.commit([], [offset('app', 8)])).rejects.toMatchObject({ type: 'NOT_COORDINATOR_FOR_GROUP' })
  })

  test('it gives up after a few seconds', async () => {
    const { lane, sendOffsets } = setUp()
    sendOffsets.mockRejectedValue(typed('CONCURRENT_TRANSACTIONS'))
    const failed = expect(lane.commit([], [offset('app', 7)])).rejects.toMatchObject({
      type: 'CONCURRENT_TRANSACTIONS',
    })
    await vi.advanceTimersByTimeAsync(10_000)
    await failed
  })

  test.each(['send', 'sendOffsets'] as const)(
    'a %s that hangs is over after 30 s; late, it commits nothing',
    async (at) => {
      const { lane, calls, [at]: hanging } = setUp()
      const late = Promise.withResolvers<never>()
      hanging.mockReturnValueOnce(late.promise)
      const failed = expect(lane.commit([messages('ship', 'a')], [offset('app', 7)])).rejects.toMatchObject({
        name: 'DeadlinePassed',
      })
      await vi.advanceTimersByTimeAsync(30_001)
      await failed
      const before = [...calls]
      late.resolve([{ topicName: 'ship', partition: 2, errorCode: 0 }] as never)
      await vi.runAllTimersAsync()
      expect(calls).toEqual(before)
    },
  )
})
