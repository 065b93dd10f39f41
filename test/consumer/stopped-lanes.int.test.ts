import { afterEach, beforeEach, expect, test } from 'vitest'
import { inbox } from '../../src/consumer/effect.ts'
import { listDeadLetters, setPosition } from '../../src/consumer/operate.ts'
import type { RunningConsumer } from '../../src/consumer/start.ts'
import { createTables } from '../../src/consumer/tables.ts'
import { tooManyUnreadable } from '../../src/consumer/too-many-unreadable.ts'
import { kafkaFor } from '../../src/runtime/kafka/connection.ts'
import { createTopicAdmin } from '../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../src/runtime/log.ts'
import { SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { anEvent, createDownstream, type Downstream } from '../helpers/consumer.ts'
import { stackEnv } from '../helpers/stack.ts'
import { until } from '../helpers/until.ts'

let downstream: Downstream

beforeEach(async () => {
  downstream = await createDownstream(1)
  await downstream.database.pool.query('create table effects (event_id text)')
})
afterEach(() => downstream.drop())

const start = () => {
  const ship = inbox(async (tx, { eventId }) => {
    await tx.query('insert into effects values ($1)', [eventId])
  })
  return downstream.start({ effects: { ship } })
}
const topic = () => downstream.topics.name(SHIPMENT_TOPIC)
const place = () => ({ consumer: downstream.consumer, topic: topic(), lane: 0 })
const brokers = () => stackEnv().KAFKA_BROKERS.split(',')
const events = (name: string, count: number) => Array.from({ length: count }, (_, n) => anEvent(`${name}-${n}`))
const untilDone = (count: number) =>
  until(
    `${count} are done`,
    async () => {
      const { rows } = await downstream.database.pool.query('select distinct event_id from effects')
      return rows.length === count
    },
    40_000,
  )
const effectCount = async () => (await downstream.database.pool.query('select from effects')).rowCount
const untilStopped = (one: RunningConsumer, reason: RegExp) =>
  until(
    'the lane stops',
    async () => {
      const answer = await fetch(`http://127.0.0.1:${one.metricsPort}/readyz`)
      const text = await answer.text()
      expect(text).toMatch(reason)
      return answer.status === 503
    },
    40_000,
  )

async function remakeTopic(): Promise<void> {
  const admin = createTopicAdmin({ brokers: brokers(), ssl: false }, createLog('test', 'silent'))
  try {
    await admin.deleteTopics([topic()])
    await until('it is gone', async () => (await admin.describeTopics([topic()])).get(topic()) === undefined)
    await until('there is another', async () => {
      await admin.ensureTopics([
        { topic: topic(), partitions: 1, replicationFactor: 1, minInsyncReplicas: 1, retentionMs: 86_400_000 },
      ])
      return true
    })
  } finally {
    await admin.close()
  }
}
const emit = (some: ReturnType<typeof events>) =>
  until('they are emitted', () => downstream.emit(some).then(() => true), 30_000)

test('a topic that was made anew, and has more than was read, is not read from the middle', async () => {
  await downstream.emit(events('old', 3))
  const one = await start()
  await untilDone(3)
  await one.stop()
  await remakeTopic()
  await emit(events('new', 8))
  const two = await start()
  await untilStopped(two, /made anew/)
  expect(await effectCount()).toBe(3)
  await setPosition(downstream.database.pool, place(), 0)
  await untilDone(11)
  expect(await effectCount()).toBe(11)
})

test('so is one that is made anew while the consumer runs', async () => {
  await downstream.emit(events('old', 3))
  const one = await start()
  await untilDone(3)
  await remakeTopic()
  await emit(events('new', 2))
  await untilStopped(one, /made anew/)
  await setPosition(downstream.database.pool, place(), 0)
  await untilDone(5)
  expect(await effectCount()).toBe(5)
})

test('records that were deleted before they were read stop their lane; a consumer that is new begins where the log does', async () => {
  await downstream.emit(events('old', 5))
  const one = await start()
  await untilDone(5)
  await one.stop()
  await emit(events('lost', 5))
  const admin = kafkaFor({ brokers: brokers(), ssl: false }, 'trim', createLog('test', 'silent')).admin()
  await admin.connect()
  await admin.fetchTopicOffsets(topic()) // Loads what the next one needs.
  await admin.deleteTopicRecords({ topic: topic(), partitions: [{ partition: 0, offset: '8' }] })
  await admin.disconnect()
  const two = await start()
  await untilStopped(two, /from 5 to 8 were deleted/)
  await setPosition(downstream.database.pool, place(), 8)
  await untilDone(7)
  await two.stop()
  const fresh: string[] = []
  const ship = inbox((_, { eventId }) => Promise.resolve(void fresh.push(eventId)))
  await downstream.start({ effects: { ship } }, { CONSUMER_NAME: `${downstream.topics.appId}-new` })
  await until('the new one has done what is left', () => fresh.length === 2)
})

test('a few records that cannot be read are dead letters; a flood of them stops the lane, and loses none', async () => {
  const one = await start()
  for (let n = 0; n < 3; n++) await downstream.emitRaw('bad', Buffer.from('no avro'))
  await downstream.emit(events('fine', 1))
  await untilDone(1)
  const letters = () => listDeadLetters(downstream.database.pool, place().consumer)
  expect(await letters()).toHaveLength(3)
  for (let n = 0; n < 20; n++) await downstream.emitRaw('bad', n % 2 === 0 ? null : Buffer.from('no avro'))
  await downstream.emit(events('behind', 1))
  await untilStopped(one, /of the last 1000 records cannot be read/)
  expect((await letters()).length).toBeLessThanOrEqual(20)
  expect(await effectCount()).toBe(1)
  await setPosition(downstream.database.pool, place(), 24)
  await untilDone(2)
})

test('dead letters of records behind those that are read, of a lane that was set back, are no flood', async () => {
  const { pool } = downstream.database
  await createTables(pool)
  const insert = (from: number) =>
    pool.query(
      `insert into paidonce_consumer.dead_letters (consumer, topic, lane, record_offset, kind, reason)
       select $1, $2, $3, $4 + n, 'undecodable', 'no avro' from generate_series(0, 19) n`,
      [place().consumer, place().topic, place().lane, from],
    )
  const batch = {
    ...{ fetchedOffset: 100, endOffset: 101 },
    records: [{ offset: 100, kind: 'undecodable' as const, detail: 'no avro', value: null }],
  }
  await insert(101)
  expect(await tooManyUnreadable(pool, place(), batch)).toBeUndefined()
  await insert(80)
  expect(await tooManyUnreadable(pool, place(), batch)).toMatch(/^21 of the last 1000 records cannot be read, at 100/)
})

test('an empty id of a topic is none: it says nothing, and is filled', async () => {
  await downstream.emit(events('old', 2))
  const one = await start()
  await untilDone(2)
  await one.stop()
  const { pool } = downstream.database
  await pool.query(`update paidonce_consumer.positions set topic_id = ''`)
  await emit(events('new', 1))
  await start()
  await untilDone(3)
  const { rows } = await pool.query<{ topic_id: string }>('select topic_id from paidonce_consumer.positions')
  expect(rows[0]?.topic_id).not.toBe('')
})
