import type pg from 'pg'
import { expect, test } from 'vitest'
import { eventId } from '../../src/orders/identity.ts'
import type { EventKind } from '../../src/orders/model.ts'
import { DEFAULT_ROUTES } from '../../src/orders/routes.ts'
import { DEAD_LETTER_TOPIC } from '../../src/schemas/topics.ts'
import { releaseBrake } from '../../src/store/release-brake.ts'
import { setBrake } from '../../src/store/set-brake.ts'
import { withDatabase } from '../helpers/database.ts'
import {
  aDeadLetter,
  aFact,
  anOrder,
  APP,
  aRecord,
  create,
  eventsOf,
  MERCHANT,
  openLane,
  TOPIC,
} from '../helpers/lane-bench.ts'

const CAUSE = 'payment_succeeded/wechatpay:p'
const idOf = (outTradeNo: string, kind: EventKind) =>
  eventId(MERCHANT, outTradeNo, CAUSE, kind, DEFAULT_ROUTES[kind][0] ?? '')

/** Postgres was set back: these went out with the numbers 0, 1, 2…, and it knows nothing else of them. */
async function setBack(pool: pg.Pool, url: string, ids: readonly string[]) {
  const first = await openLane(url)
  await first.session.close()
  await pool.query('update lanes set next_seq = $1, settled_seq = $1', [ids.length])
  for (const [laneSeq, id] of ids.entries())
    await pool.query('insert into imported_events (event_id, lane, lane_seq) values ($1, 0, $2)', [id, laneSeq])
  return openLane(url)
}
const left = async (pool: pg.Pool) => (await pool.query('select lane_seq from imported_events')).rows.length
const ALL = ['ship', 'deduct', 'grant'] as const

test('what is out keeps its number when it is derived again, and what is new gets the next ones', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A'), anOrder('B')])
    const lane = await setBack(pool, url, [...ALL.map((kind) => idOf('A', kind)), idOf('B', 'deduct')])
    const applied = await lane.apply([aRecord(0, 'B', [aFact('p')]), aRecord(1, 'A', [aFact('p')])])
    expect(applied).toMatchObject({ baseSeq: 4, nextSeq: 6 })
    expect(applied.events.map(({ laneSeq, key, kind }) => `${laneSeq} ${key} ${kind}`)).toEqual([
      '4 B ship',
      '5 B grant',
    ])
    expect(await eventsOf(pool)).toEqual([
      ...['0 m1/A ship 1', '1 m1/A deduct 2', '2 m1/A grant 3', '3 m1/B deduct 2', '4 m1/B ship 1', '5 m1/B grant 3'],
    ])
    expect(await left(pool)).toBe(0)
    await lane.session.close()
  }))

test('no brake keeps back what is out', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await setBack(pool, url, [idOf('A', 'ship')])
    await setBrake(pool, APP, TOPIC, {
      merchant: MERCHANT,
      outTradeNo: null,
      eventType: null,
      actor: 'ann',
      reason: 'r',
    })
    await lane.apply([aRecord(0, 'A', [aFact('p')])])
    expect(await eventsOf(pool)).toEqual(['0 m1/A ship 1'])
    const { rows } = await pool.query('select kind from waiting_events order by id')
    expect(rows).toEqual([{ kind: 'deduct' }, { kind: 'grant' }])
    await lane.session.close()
  }))

test('what waited for a brake when the backup was made, and went out since, gets no second number when released', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const before = await openLane(url)
    const scope = { merchant: MERCHANT, outTradeNo: null, eventType: null }
    const set = await setBrake(pool, APP, TOPIC, { ...scope, actor: 'ann', reason: 'r' })
    await before.apply([aRecord(0, 'A', [aFact('p')])])
    expect(await eventsOf(pool)).toEqual([])
    await before.session.close()
    const lane = await setBack(pool, url, [idOf('A', 'ship'), idOf('A', 'deduct')])
    if (set.kind === 'too_many') throw new Error('too many')
    await releaseBrake(pool, APP, TOPIC, { id: set.id, merchant: null, actor: 'ann', reason: 'mended' })
    const applied = await lane.wake()
    expect(applied?.events.map(({ laneSeq, kind }) => `${laneSeq} ${kind}`)).toEqual(['2 grant'])
    expect(await eventsOf(pool)).toEqual(['0 m1/A ship 1', '1 m1/A deduct 2', '2 m1/A grant 3'])
    const { rows } = await pool.query('select waiting_count from orders')
    expect([rows, await left(pool)]).toEqual([[{ waiting_count: 0 }], 0])
    await lane.session.close()
  }))

test('a dead letter’s notice that is out is not sent again', () =>
  withDatabase(async (url, pool) => {
    const notice = (offset: number) => eventId('', '', `${TOPIC}/0/${offset}`, 'dead_letter', DEAD_LETTER_TOPIC)
    const lane = await setBack(pool, url, [notice(0)])
    const applied = await lane.apply([aDeadLetter(0), aDeadLetter(1)])
    expect(applied.events.map(({ laneSeq, cause }) => `${laneSeq} ${cause}`)).toEqual([`1 ${TOPIC}/0/1`])
    expect(await eventsOf(pool)).toEqual(['0 key-0 dead_letter -', '1 key-1 dead_letter -'])
    await lane.session.close()
  }))
