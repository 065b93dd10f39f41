import { expect, test } from 'vitest'
import { DeadProducer } from '../../../src/runtime/kafka/lane-producer.ts'
import { javaConsume } from '../../helpers/java-consumer.ts'
import { freshName, freshTopic, testFence, testReader, values } from './support.ts'

const read = async (topic: string) =>
  (await javaConsume({ topics: [topic] })).map(({ key, partition }) => `${key ?? ''}@${partition}`)

test('events, offset and ledger become visible together, and a fence reads what the last one left', async () => {
  const [topic, app] = [await freshTopic(2), freshName('app')]
  const [fence, reader] = [testFence(), await testReader()]
  let lane = await fence(`${app}-lane-1`)
  expect(await reader.committed(app, topic, 1)).toBeUndefined()
  expect(await reader.committed(`${app}.ledger`, topic, 1)).toBeUndefined()
  for (const [end, ledger] of [
    [10, 3],
    [12, 5],
  ] as const) {
    await lane.commit(
      [{ topic, partition: 1, messages: values(`a${end}`, `b${end}`) }],
      [
        { group: app, topic, partition: 1, offset: end },
        { group: `${app}.ledger`, topic, partition: 1, offset: ledger, metadata: `mark:${ledger}` },
      ],
    )
    // A read straight after a commit can be stale; after a fence it is final.
    lane = await fence(`${app}-lane-1`)
    expect(await reader.committed(app, topic, 1)).toEqual({ offset: end, metadata: '' })
    expect(await reader.committed(`${app}.ledger`, topic, 1)).toEqual({ offset: ledger, metadata: `mark:${ledger}` })
  }
  expect(await reader.committed(app, topic, 0)).toBeUndefined()
  expect(await read(topic)).toEqual(['a10@1', 'b10@1', 'a12@1', 'b12@1'])
})

test('a zombie is refused with INVALID_PRODUCER_EPOCH, nothing of it shows, and it stays dead', async () => {
  const [topic, app] = [await freshTopic(), freshName('app')]
  const [fence, reader] = [testFence(), await testReader()]
  const zombie = await fence(`${app}-lane-0`)
  const commit = (who: typeof zombie, value: string, offset: number) =>
    who.commit([{ topic, partition: 0, messages: values(value) }], [{ group: app, topic, partition: 0, offset }])
  await commit(zombie, 'before', 1)
  const owner = await fence(`${app}-lane-0`)
  const refused: unknown = await commit(zombie, 'zombie', 2).catch((error: unknown) => error)
  expect(refused).toMatchObject({ type: 'INVALID_PRODUCER_EPOCH' })
  await expect(commit(zombie, 'zombie', 2)).rejects.toThrow(DeadProducer)
  await commit(owner, 'owner', 3)
  await fence(`${app}-lane-0`)
  expect(await reader.committed(app, topic, 0)).toMatchObject({ offset: 3 })
  expect(await read(topic)).toEqual(['before@0', 'owner@0'])
})

test('a transaction of offsets alone is a check of the fence too', async () => {
  const [topic, app] = [await freshTopic(), freshName('app')]
  const fence = testFence()
  const zombie = await fence(`${app}-lane-0`)
  await fence(`${app}-lane-0`)
  await expect(zombie.commit([], [{ group: app, topic, partition: 0, offset: 1 }])).rejects.toMatchObject({
    type: 'INVALID_PRODUCER_EPOCH',
  })
})

test('a proof is refused once somebody has fenced, and changes nothing', async () => {
  const [topic, app] = [await freshTopic(), freshName('app')]
  const [fence, reader] = [testFence(), await testReader()]
  const lane = await fence(`${app}-lane-0`)
  await lane.prove({ group: app, topic, partition: 0, offset: 7 })
  await lane.commit([], [{ group: app, topic, partition: 0, offset: 1 }])
  await lane.prove({ group: app, topic, partition: 0, offset: 7 })
  await fence(`${app}-lane-0`)
  expect(await reader.committed(app, topic, 0)).toMatchObject({ offset: 1 })
  await expect(lane.prove({ group: app, topic, partition: 0, offset: 7 })).rejects.toMatchObject({
    type: 'INVALID_PRODUCER_EPOCH',
  })
  expect(lane.isDead()).toBe(true)
})

test('back-to-back transactions that begin with an offset get past the markers of the one before', async () => {
  const [topic, app] = [await freshTopic(), freshName('app')]
  const lane = await testFence()(`${app}-lane-0`)
  for (let offset = 1; offset <= 20; offset++) await lane.commit([], [{ group: app, topic, partition: 0, offset }])
  expect(lane.isDead()).toBe(false)
})

test('a partition that does not exist ends the producer instead of losing the events', async () => {
  const [topic, app] = [await freshTopic(), freshName('app')]
  const [fence, reader] = [testFence(), await testReader()]
  const lane = await fence(`${app}-lane-0`)
  await expect(
    lane.commit([{ topic, partition: 5, messages: values('lost') }], [{ group: app, topic, partition: 0, offset: 1 }]),
  ).rejects.toMatchObject({ name: 'AckMismatch' })
  expect(lane.isDead()).toBe(true)
  await fence(`${app}-lane-0`)
  expect(await reader.committed(app, topic, 0)).toBeUndefined()
})

test('more than a call may hold arrives whole and in order', async () => {
  const [topic, app] = [await freshTopic(), freshName('app')]
  const lane = await testFence()(`${app}-lane-0`)
  const messages = Array.from({ length: 40 }, (_, i) => ({ key: String(i), value: Buffer.alloc(50_000) }))
  await lane.commit([{ topic, partition: 0, messages }], [{ group: app, topic, partition: 0, offset: 1 }])
  expect(await read(topic)).toEqual(messages.map(({ key }) => `${key}@0`))
})
