import { afterEach, beforeEach, expect, test } from 'vitest'
import { inbox, once, type Effect } from '../../src/consumer/effect.ts'
import { listDeadLetters } from '../../src/consumer/operate.ts'
import type { Transaction } from '../../src/runtime/postgres.ts'
import { anEvent, createDownstream, type Downstream } from '../helpers/consumer.ts'
import { until } from '../helpers/until.ts'

let downstream: Downstream

beforeEach(async () => {
  downstream = await createDownstream(1)
  await downstream.database.pool.query('create table effects (event_id text)')
})
afterEach(() => downstream.drop())

const write = (tx: Transaction, eventId: string) => tx.query('insert into effects values ($1)', [eventId])
const start = (ship: Effect, more: Readonly<Record<string, string>> = {}, onUnsettled?: () => unknown) =>
  downstream.start(
    { effects: { ship }, ...(onUnsettled === undefined ? {} : { onUnsettled }) },
    { CONCURRENCY: '2', THROWS_MAX: '2', HANDLE_MS: '300', ...more },
  )
const untilStates = (states: Readonly<Record<string, number>>) => downstream.untilStates(states)
const effects = async () =>
  (await downstream.database.pool.query<{ event_id: string }>('select event_id from effects')).rows.map(
    (row) => row.event_id,
  )
const letters = async () => listDeadLetters(downstream.database.pool, downstream.consumer)
/** What no compiler would take, as JavaScript does. */
const anything = (value: unknown) => value as never

test('handlers that hang for ever are poison, keep no place, and the consumer can stop', async () => {
  const hanging = Array.from({ length: 4 }, (_, n) => anEvent(`hangs-${n}`))
  const [fine, next] = [anEvent('fine'), anEvent('hangs-0', { sequence: 2 })]
  await downstream.emit([...hanging, fine, next])
  const ids = new Set(hanging.map(({ eventId }) => eventId))
  const one = await start(
    inbox(async (tx, { eventId }) => {
      await write(tx, eventId)
      if (ids.has(eventId)) await new Promise(() => undefined)
    }),
  )
  await untilStates({ dead: 4, done: 2 })
  expect(new Set(await effects())).toEqual(new Set([fine.eventId, next.eventId]))
  expect(new Set((await letters()).map(({ kind, reason }) => `${kind}: ${reason}`))).toEqual(
    new Set(['poison: no answer within 300 ms']),
  )
  await one.stop()
})

test('what a handler asks of Postgres after its time changes nothing', async () => {
  const late: unknown[] = []
  const event = anEvent('late')
  await downstream.emit([event])
  let times = 0
  const answered = Promise.withResolvers<undefined>()
  await start(
    inbox(async (tx, { eventId }) => {
      if (++times > 1) return
      await answered.promise
      await write(tx, eventId).catch((error: unknown) => late.push(error))
    }),
  )
  await untilStates({ done: 1 })
  answered.resolve(undefined)
  await until('the late one has asked', () => late.length === 1)
  expect(String(late[0])).toContain('the transaction of this handler has ended')
  expect(await effects()).toEqual([])
})

test('what a handler did not wait for does not end up in another event’s transaction', async () => {
  const events = Array.from({ length: 20 }, (_, n) => anEvent(`order-${n}`))
  await downstream.emit(events)
  const refusals: unknown[] = []
  await start(
    inbox((tx, { eventId }) => {
      setTimeout(() => void write(tx, eventId).catch((error: unknown) => refusals.push(error)), 100)
      return Promise.resolve()
    }),
    { CONCURRENCY: '1' },
  )
  await untilStates({ done: 20 })
  await until('all have tried', () => refusals.length === 20)
  expect(await effects()).toEqual([])
})

test('a handler that waits for Postgres when its time is over is not to blame: it runs again for ever', async () => {
  await downstream.emit([anEvent('slow')])
  let times = 0
  const isSlow = () => times <= 3
  await start(
    inbox(async (tx, { eventId }) => {
      times += 1
      await write(tx, eventId)
      if (isSlow()) await tx.query('select pg_sleep(1)')
    }),
  )
  await untilStates({ done: 1 })
  expect(await letters()).toEqual([])
  expect(await effects()).toHaveLength(1)
})

test('a handler that returns what is no outcome is poison, and the dead letter says so', async () => {
  await downstream.emit([anEvent('query')])
  await start(inbox((tx, { eventId }) => anything(write(tx, eventId))))
  await untilStates({ dead: 1 })
  expect(await letters()).toEqual([
    expect.objectContaining({ kind: 'poison', reason: expect.stringContaining('returned no outcome') as string }),
  ])
  expect(await effects()).toEqual([])
})

test.each([
  ['nothing', undefined],
  ['another kind', { kind: 'yes' }],
  ['no object', 'happened'],
  ['a reason that is no text', { kind: 'unknown', reason: { code: 7 } }],
] as const)(
  'a third party of which `ask` gives %s is not asked without pause, and a person comes',
  async (_, wrong) => {
    await downstream.emit([anEvent('strange')])
    let [calls, asks] = [0, 0]
    const told: unknown[] = []
    const ship = once({
      call: () => Promise.resolve(anything((calls += 1))),
      ask: () => Promise.resolve(anything(((asks += 1), wrong))),
      ...{ callMs: 100, lateMs: 0, settleMsMax: 1_500 },
    })
    await start(ship, {}, () => told.push('told'))
    await untilStates({ unsettled: 1 })
    await until('somebody is told', () => told.length === 1)
    expect(calls).toBe(1)
    expect(asks).toBeLessThan(8)
  },
)

test('a reference that Postgres cannot keep as it is settles its event all the same', async () => {
  const strange = ['SF\0 1', 42, '\ud800', 'x'.repeat(5_000), null, { no: 1 }]
  await downstream.emit(strange.map((__, n) => anEvent(`order-${n}`)))
  let calls = 0
  const ship = once({
    call: () => Promise.resolve(anything({ kind: 'happened', reference: strange[calls++] })),
    ask: () => Promise.resolve({ kind: 'unknown', reason: 'it is not asked' }),
  })
  await start(ship, { CONCURRENCY: '1' })
  await untilStates({ done: strange.length })
  expect(calls).toBe(strange.length)
})

test('an onUnsettled that rejects does not end the process', async () => {
  await downstream.emit([anEvent('lost'), anEvent('other', { kind: 'ship' })])
  const rejections: unknown[] = []
  const hear = (error: unknown) => rejections.push(error)
  process.on('unhandledRejection', hear)
  const ship = once({
    call: (event) =>
      event.outTradeNo === 'lost' ? Promise.reject(new Error('hung up')) : Promise.resolve({ kind: 'happened' }),
    ask: () => Promise.resolve({ kind: 'unknown', reason: 'closed today' }),
    ...{ callMs: 100, lateMs: 0, settleMsMax: 500 },
  })
  let told = 0
  await start(ship, {}, () => {
    told += 1
    return Promise.reject(new Error('the pager is away'))
  })
  await untilStates({ unsettled: 1, done: 1 })
  await until('somebody was told', () => told === 1)
  await until('what follows has run', () => new Promise((resolve) => setImmediate(resolve, true)))
  process.off('unhandledRejection', hear)
  expect(rejections).toEqual([])
})

test('a `settled` that hangs is undone, comes to a person, and nothing is called again', async () => {
  await downstream.emit([anEvent('hangs')])
  let calls = 0
  const ship = once({
    call: () => Promise.resolve({ kind: 'happened', reference: String(++calls) }),
    ask: () => Promise.resolve({ kind: 'happened' }),
    settled: async (tx, { eventId }) => {
      await write(tx, eventId)
      await new Promise(() => undefined)
    },
    ...{ callMs: 100, lateMs: 0, settleMsMax: 1_500 },
  })
  const one = await start(ship)
  await untilStates({ unsettled: 1 })
  expect(calls).toBe(1)
  expect(await effects()).toEqual([])
  await one.stop()
})
