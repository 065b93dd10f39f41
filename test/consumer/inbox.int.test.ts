import { afterEach, beforeEach, expect, test } from 'vitest'
import { inbox, refused, retry, skip } from '../../src/consumer/effect.ts'
import { listDeadLetters, reviveDeadLetter } from '../../src/consumer/operate.ts'
import { anEvent, createDownstream, type Downstream } from '../helpers/consumer.ts'
import { until } from '../helpers/until.ts'

let downstream: Downstream

beforeEach(async () => {
  downstream = await createDownstream()
  await downstream.database.pool.query(
    'create table effects (n bigint generated always as identity, event_id text, out_trade_no text)',
  )
})
afterEach(() => downstream.drop())

const writeEffect = inbox(async (tx, { eventId, outTradeNo }) => {
  await tx.query('insert into effects (event_id, out_trade_no) values ($1, $2)', [eventId, outTradeNo])
})
const start: Downstream['start'] = (options, more) => downstream.start(options, more)
const effects = async () =>
  (await downstream.database.pool.query<{ event_id: string; out_trade_no: string }>('select * from effects order by n'))
    .rows
const untilStates = (states: Readonly<Record<string, number>>) => downstream.untilStates(states)

test('each event has its effect once, though each is in the topic three times', async () => {
  const events = Array.from({ length: 200 }, (_, n) => anEvent(`order-${n % 50}`, { sequence: n }))
  await downstream.emit([...events, ...events.toReversed()])
  await start({ effects: { ship: writeEffect } })
  await untilStates({ done: 200 })
  await downstream.emit(events)
  await downstream.emit([anEvent('last')])
  await untilStates({ done: 201 })
  const rows = await effects()
  expect(rows).toHaveLength(201)
  for (const order of ['order-0', 'order-7']) {
    const ids = rows.filter((row) => row.out_trade_no === order).map((row) => row.event_id)
    expect(ids).toEqual(events.filter((event) => event.outTradeNo === order).map(({ eventId }) => eventId))
  }
})

test('two consumers on one partition, with a third that comes and goes, do each event once and each order in order', async () => {
  const options = { effects: { ship: writeEffect } }
  await start(options)
  const events = Array.from({ length: 600 }, (_, n) => anEvent(`order-${n % 20}`, { sequence: n }))
  await downstream.emit(events.slice(0, 300))
  const second = await start(options)
  await downstream.emit(events.slice(300, 450))
  await start(options)
  await second.stop()
  await downstream.emit(events.slice(450))
  await untilStates({ done: 600 })
  const rows = await effects()
  expect(rows).toHaveLength(600)
  for (let n = 0; n < 20; n++) {
    const ids = rows.filter((row) => row.out_trade_no === `order-${n}`).map((row) => row.event_id)
    expect(ids).toEqual(events.filter((event) => event.outTradeNo === `order-${n}`).map(({ eventId }) => eventId))
  }
})

test('an order that waits keeps its own order and holds up no other', async () => {
  let isOpen = false
  const [first, second] = [anEvent('stuck'), anEvent('stuck', { sequence: 2 })]
  const others = Array.from({ length: 30 }, (_, n) => anEvent(`other-${n}`))
  await downstream.emit([first, second, ...others])
  await start({
    effects: {
      ship: inbox(async (tx, event, given) => {
        await writeEffect.handle(tx, event, given)
        if (event.eventId === first.eventId && !isOpen) return retry('not yet')
        return undefined
      }),
    },
  })
  await untilStates({ waiting: 2, done: 30 })
  isOpen = true
  await untilStates({ done: 32 })
  const stuck = (await effects()).filter((row) => row.out_trade_no === 'stuck').map((row) => row.event_id)
  expect(stuck).toEqual([first.eventId, second.eventId])
})

test('what is refused, throws for ever, has no effect or cannot be read is a dead letter, and the order goes on', async () => {
  const [bad, buggy, strange, fine] = [
    anEvent('order', { kind: 'ship' }),
    anEvent('order', { kind: 'cancel' }),
    anEvent('order', { kind: 'teleport' }),
    anEvent('order', { kind: 'return' }),
  ]
  await downstream.emit([bad, buggy, strange, fine])
  await downstream.emitRaw('order', Buffer.from('no avro'))
  let isMended = false
  await start(
    {
      effects: {
        ship: inbox(async (tx, event, given) => {
          await writeEffect.handle(tx, event, given)
          return isMended ? undefined : refused('no such address')
        }),
        cancel: inbox(async (tx) => {
          await tx.query('select 1 / 0')
        }),
        return: writeEffect,
        refund: skip,
      },
    },
    { THROWS_MAX: '3' },
  )
  const consumer = downstream.consumer
  const { pool } = downstream.database
  await until('five letters or effects', async () => {
    expect(await downstream.states()).toEqual({ dead: 3, done: 1 })
    return (await listDeadLetters(pool, consumer)).length === 4
  })
  const letters = await listDeadLetters(pool, consumer)
  expect(Object.fromEntries(letters.map(({ kind, reason }) => [kind, reason]))).toEqual({
    refused: 'no such address',
    poison: 'division by zero',
    no_effect_for_kind: 'no effect is given for teleport',
    undecodable: expect.stringContaining('wire form') as string,
  })
  expect((await effects()).map((row) => row.event_id)).toEqual([fine.eventId])

  isMended = true
  expect(await reviveDeadLetter(pool, consumer, bad.eventId)).toBe(true)
  await untilStates({ dead: 2, done: 2 })
  expect(await listDeadLetters(pool, consumer)).toHaveLength(3)
})

test('a position that was set back with its database is read again from there, the group’s offset notwithstanding', async () => {
  const events = Array.from({ length: 40 }, (_, n) => anEvent(`order-${n}`))
  await downstream.emit(events)
  const one = await start({ effects: { ship: writeEffect } })
  await untilStates({ done: 40 })
  await one.stop()
  // A backup of the time before the first event.
  const { pool } = downstream.database
  await pool.query('truncate effects, paidonce_consumer.inbox, paidonce_consumer.positions')
  await start({ effects: { ship: writeEffect } })
  await untilStates({ done: 40 })
  expect(await effects()).toHaveLength(40)
})

test('a lane with as many open events as it may takes no more in, and goes on when they are done', async () => {
  let isOpen = false
  await downstream.emit(Array.from({ length: 30 }, (_, n) => anEvent(`order-${n}`)))
  await start(
    { effects: { ship: inbox(() => Promise.resolve(isOpen ? undefined : retry('closed'))) } },
    { OPEN_MAX: '5' },
  )
  await until('some are in', async () => ((await downstream.states())['waiting'] ?? 0) > 0)
  await downstream.emit(Array.from({ length: 30 }, (_, n) => anEvent(`order-${n}`, { sequence: 2 })))
  isOpen = true
  await untilStates({ done: 60 })
})
