import { afterEach, beforeEach, expect, test } from 'vitest'
import { inbox, once } from '../../src/consumer/effect.ts'
import { listDeadLetters } from '../../src/consumer/operate.ts'
import { createTables } from '../../src/consumer/tables.ts'
import type { Transaction } from '../../src/runtime/postgres.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createCodec } from '../../src/schemas/codec.ts'
import { SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { anEvent, createDownstream, type Downstream } from '../helpers/consumer.ts'
import { stackEnv } from '../helpers/stack.ts'
import { createStranger } from '../helpers/stranger.ts'

let downstream: Downstream

beforeEach(async () => {
  downstream = await createDownstream(1)
  await downstream.database.pool.query('create table effects (event_id text, payload text)')
})
afterEach(() => downstream.drop())

const write = (tx: Transaction, { eventId, payload }: ReturnType<typeof anEvent>) =>
  tx.query('insert into effects values ($1, $2)', [eventId, payload])
const writeEffect = inbox(async (tx, event) => {
  await write(tx, event)
})
const untilStates = (states: Readonly<Record<string, number>>) => downstream.untilStates(states, 40_000)
const effects = async () =>
  (await downstream.database.pool.query<{ event_id: string; payload: string }>('select * from effects')).rows

test('a deadlock, a failed serialization and a lost session are nobody’s fault: each effect once, no dead letter', async () => {
  const troubles: ((tx: Transaction) => Promise<unknown>)[] = [
    (tx) => tx.query(`do $$ begin raise exception 'x' using errcode = '40P01'; end $$`),
    (tx) => tx.query(`do $$ begin raise exception 'x' using errcode = '40001'; end $$`),
    (tx) => tx.query('select pg_terminate_backend(pg_backend_pid())'),
  ]
  const events = troubles.map((__, n) => anEvent(`order-${n}`))
  await downstream.emit(events)
  const times = new Map<string, number>()
  const ship = inbox(async (tx, event) => {
    const before = times.get(event.eventId) ?? 0
    times.set(event.eventId, before + 1)
    await write(tx, event)
    if (before < 2) await troubles[events.findIndex(({ eventId }) => eventId === event.eventId)]?.(tx)
  })
  await downstream.start({ effects: { ship } }, { THROWS_MAX: '1' })
  await untilStates({ done: 3 })
  expect((await effects()).map((row) => row.event_id).toSorted()).toEqual(
    events.map(({ eventId }) => eventId).toSorted(),
  )
})

test('a session that is lost in the middle of a call leaves nothing to chance: it is asked, and not called again', async () => {
  let [calls, asks] = [0, 0]
  const ship = once({
    call: async () => {
      calls += 1
      // Its own: the only one that is idle in a transaction.
      await downstream.database.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and state = 'idle in transaction'`,
      )
      return { kind: 'happened', reference: 'first' }
    },
    ask: () => Promise.resolve({ kind: 'happened', reference: `asked ${++asks}` }),
    ...{ callMs: 2_000, lateMs: 0 },
  })
  await downstream.emit([anEvent('order')])
  await downstream.start({ effects: { ship } })
  await untilStates({ done: 1 })
  expect([calls, asks]).toEqual([1, 1])
})

test('of one event id with two payloads the first counts', async () => {
  const event = anEvent('order', { payload: 'first' })
  await downstream.emit([event, { ...event, payload: 'second' }, { ...event, outTradeNo: 'another', payload: 'third' }])
  await downstream.start({ effects: { ship: writeEffect } })
  await untilStates({ done: 1 })
  await downstream.emit([{ ...event, payload: 'fourth' }, anEvent('last')])
  await untilStates({ done: 2 })
  expect((await effects()).filter((row) => row.event_id === event.eventId)).toEqual([
    { event_id: event.eventId, payload: 'first' },
  ])
})

test('what lies in the topic of aborted transactions has no effect, and nothing beside it is lost', async () => {
  const { SCHEMA_REGISTRY_URL } = stackEnv()
  const codec = await createCodec(SCHEMA_REGISTRY_URL, downstream.topics.prefix, createLog('test', 'silent'))
  const stranger = await createStranger(downstream.topics.appId)
  const topic = downstream.topics.name(SHIPMENT_TOPIC)
  const value = (event: ReturnType<typeof anEvent>) => codec.encode(SHIPMENT_TOPIC, event)
  const committed: string[] = []
  try {
    for (let n = 0; n < 12; n++) {
      const transaction = await stranger.begin()
      const event = anEvent(`order-${n}`)
      await stranger.send(transaction, topic, value(event))
      if (n % 3 === 0) {
        await transaction.commit()
        committed.push(event.eventId)
      } else await transaction.abort()
    }
  } finally {
    await stranger.close()
  }
  await downstream.start({ effects: { ship: writeEffect } })
  await untilStates({ done: committed.length })
  const last = anEvent('last')
  await downstream.emit([last])
  await untilStates({ done: committed.length + 1 })
  expect((await effects()).map((row) => row.event_id).toSorted()).toEqual([...committed, last.eventId].toSorted())
})

test('a worker that may not make tables, and starts while others write, starts: nothing is made or locked again', async () => {
  const { pool } = downstream.database
  await createTables(pool)
  const role = `kit_${downstream.topics.appId}`
  await pool.query(
    `create role ${role}; grant usage on schema paidonce_consumer to ${role};
     grant select, insert, update, delete on all tables in schema paidonce_consumer to ${role}`,
  )
  const [writer, worker] = await Promise.all([pool.connect(), pool.connect()])
  try {
    await writer.query('begin; lock table paidonce_consumer.reports, paidonce_consumer.inbox in row exclusive mode')
    await worker.query(`set role ${role}; set lock_timeout = 1000`)
    await createTables({ query: worker.query.bind(worker), connect: () => Promise.resolve(worker) } as never)
  } finally {
    await writer.query('rollback')
    await worker.query('reset role; reset lock_timeout')
    writer.release()
    worker.release()
    await pool.query(`drop owned by ${role}; drop role ${role}`)
  }
  expect(await listDeadLetters(pool, 'any')).toEqual([])
})
