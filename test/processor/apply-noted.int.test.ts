import type pg from 'pg'
import { expect, test } from 'vitest'
import type { LaneRecord } from '../../src/processor/lane-types.ts'
import type { Instead } from '../../src/schemas/callback.ts'
import { fingerprint } from '../../src/store/fingerprint.ts'
import { withDatabase } from '../helpers/database.ts'
import {
  aFact,
  anOrder,
  aRecord,
  clockAt,
  create,
  eventsOf,
  MERCHANT,
  openLane,
  stateOf,
} from '../helpers/lane-bench.ts'

const NOW_MS = 1_790_000_100_000
const CLOCK = clockAt(NOW_MS)
const NO_EFFECT: Instead = { kind: 'no_effect', ref: null }
const hintOf = (outRefundNo: string): Instead => ({ kind: 'hint', ref: `refund:${outRefundNo}` })

function noted(offset: number, outTradeNo: string | null, instead: Instead, merchant = MERCHANT): LaneRecord {
  const record = aRecord(offset, outTradeNo ?? 'key', [], { merchant })
  if (record.content.kind !== 'callback') throw new Error('no callback')
  const callback = { ...record.content.callback, outTradeNo, instead }
  return { ...record, content: { kind: 'noted', callback } }
}
const queriesIn = async (pool: pg.Pool) =>
  (
    await pool.query<{ query: string }>(
      `select o.out_trade_no || ' ' || t.kind || ' ' || t.ref || ' ' || t.lane || ' ' || extract(epoch from t.due_at) * 1000 || ' '
         || t.attempts || ' ' || (t.leased_until is null) as query
       from timers t left join orders o on o.id = t.order_id where t.kind = 'query' order by t.id`,
    )
  ).rows.map(({ query }) => query.replace(/\.0+ /, ' '))

test('what has no effect is noted, with its order or without one, and is no dead letter', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url, { clock: CLOCK })
    const applied = await lane.apply([
      noted(0, 'A', NO_EFFECT),
      noted(1, 'nobody', NO_EFFECT),
      noted(2, null, NO_EFFECT),
      aRecord(3, 'A', [aFact('p')]),
    ])
    expect(applied).toMatchObject({ outcomes: { noted: 3, applied: 1 }, newDeadLetters: [], next: 4 })
    expect(await stateOf(pool)).toMatchObject({
      orders: [['m1', 'A', 'paid', 'wechatpay:p', 1, 0, 3]],
      deliveries: [
        [0, 0, 'm1/A', null, null, 'noted'],
        [0, 1, null, null, null, 'noted'],
        [0, 2, null, null, null, 'noted'],
        [0, 3, 'm1/A', 'payment_succeeded', 'wechatpay:p', 'applied'],
      ],
      deadLetters: [],
      timers: [],
      anomalies: [],
    })
    expect(await queriesIn(pool)).toEqual([])
    await lane.session.close()
  }))

test('a hint about a known order asks for a query once, due now, whatever is known of the order', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url, { clock: CLOCK, lane: 3 })
    // B is a stub, of the same batch: its fact is proven, so that the order is known.
    const first = [
      ...[noted(0, 'A', hintOf('R-1')), noted(1, 'A', hintOf('R-1')), noted(2, 'A', hintOf('R-2'))],
      ...[aRecord(3, 'B', [aFact('q')]), noted(4, 'B', hintOf('R-1'))],
    ]
    expect(await lane.apply(first)).toMatchObject({ outcomes: { noted: 4, held: 1 }, events: [] })
    expect(await lane.apply([noted(5, 'A', hintOf('R-2'))])).toMatchObject({ outcomes: { noted: 1 } })
    const due = `${NOW_MS} 0 true`
    expect(await queriesIn(pool)).toEqual([
      `A query refund:R-1 3 ${due}`,
      `A query refund:R-2 3 ${due}`,
      `B query refund:R-1 3 ${due}`,
    ])
    expect(await stateOf(pool)).toMatchObject({
      orders: [
        ['m1', 'A', 'pending', null, expect.any(Number), 0, 0],
        ['m1', 'B', 'awaited', null, expect.any(Number), 1, 0],
      ],
      facts: [['m1/B', 'payment_succeeded', 'wechatpay:q', 'held', 3]],
    })
    await lane.session.close()
  }))

test('another hint brings a query forward that was put off, and never puts one off; other timers stay', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url, { clock: CLOCK })
    const due = async () => (await queriesIn(pool)).map((query) => query.split(' ').slice(2, 6).join(' '))
    const putOff = (ms: number) =>
      pool.query(`update timers set due_at = to_timestamp($1 / 1000.0), attempts = 3 where kind = 'query'`, [ms])
    await lane.apply([noted(0, 'A', hintOf('R-1')), aRecord(1, 'B', [aFact('q')])])
    const others = () => pool.query(`select kind, ref, due_at from timers where kind <> 'query' order by id`)
    const before = (await others()).rows
    expect(before).toHaveLength(2)

    await putOff(NOW_MS + 3_600_000)
    // Twice in one batch: one statement may touch a row once only.
    await lane.apply([noted(2, 'A', hintOf('R-1')), noted(3, 'A', hintOf('R-1'))])
    expect(await due()).toEqual([`refund:R-1 0 ${NOW_MS} 3`])
    await putOff(NOW_MS - 3_600_000)
    await lane.apply([noted(4, 'A', hintOf('R-1')), aRecord(5, 'B', [aFact('q')])])
    expect(await due()).toEqual([`refund:R-1 0 ${NOW_MS - 3_600_000} 3`])
    expect((await others()).rows).toEqual(before)
    await lane.session.close()
  }))

test('an order has 10 questions open at most: more hints are counted, known ones still bring theirs forward', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A'), anOrder('B')])
    const lane = await openLane(url, { clock: CLOCK })
    const refs = async () => (await queriesIn(pool)).map((query) => query.split(' ').slice(0, 3).join(' '))
    const spliced = Array.from({ length: 40 }, (_, n) => noted(n, 'A', hintOf(`R-${n}`)))
    const first = [...spliced, noted(40, 'A', hintOf('R-0')), noted(41, 'B', hintOf('R-99'))]
    expect(await lane.apply(first)).toMatchObject({ outcomes: { noted: 42 }, hintsLeftOut: 30 })
    const ten = Array.from({ length: 10 }, (_, n) => `A query refund:R-${n}`)
    expect(await refs()).toEqual([...ten, 'B query refund:R-99'])

    await pool.query(`update timers set due_at = to_timestamp($1 / 1000.0) where ref = 'refund:R-3'`, [NOW_MS + 60_000])
    const next = [noted(42, 'A', hintOf('R-50')), noted(43, 'A', hintOf('R-3')), noted(44, 'B', hintOf('R-98'))]
    expect(await lane.apply(next)).toMatchObject({ outcomes: { noted: 3 }, hintsLeftOut: 1 })
    expect(await refs()).toEqual([...ten, 'B query refund:R-99', 'B query refund:R-98'])
    const { rows } = await pool.query(`select 1 from timers where due_at > to_timestamp($1 / 1000.0)`, [NOW_MS])
    expect(rows).toHaveLength(2) // Of the orders' own expiry.

    // One is answered: there is room again, and what was left out is in the order's history.
    await pool.query(`delete from timers where ref = 'refund:R-0'`)
    expect(await lane.apply([noted(45, 'A', hintOf('R-51'))])).toMatchObject({ hintsLeftOut: 0 })
    expect(await refs()).toEqual([...ten.slice(1), 'B query refund:R-99', 'B query refund:R-98', 'A query refund:R-51'])
    const told = await pool.query(
      `select 1 from deliveries where provider_ref = 'refund:R-50' and order_id is not null`,
    )
    expect(told.rowCount).toBe(1)
    await lane.session.close()
  }))

test('a hint about an order that nobody knows leaves its delivery, and nothing else', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url, { clock: CLOCK })
    const hints = [
      noted(0, 'nobody', hintOf('R-1')),
      noted(1, null, hintOf('R-1')),
      noted(2, 'A', hintOf('R'), 'other'),
    ]
    expect(await lane.apply(hints)).toMatchObject({ outcomes: { noted: 3 } })
    const state = (await stateOf(pool)) as Record<string, unknown>
    expect(state['orders']).toHaveLength(1)
    expect(state['timers']).toEqual([['m1/A', 'expiry', '']])
    expect(state).toMatchObject({
      deliveries: [
        [0, 0, null, null, 'refund:R-1', 'noted'],
        [0, 1, null, null, 'refund:R-1', 'noted'],
        [0, 2, null, null, 'refund:R', 'noted'],
      ],
      deadLetters: [],
      anomalies: [],
    })
    expect(await eventsOf(pool)).toEqual([])
    await lane.session.close()
  }))

test('an archived order is not woken by a hint', () =>
  withDatabase(async (url, pool) => {
    await pool.query(`insert into tombstones (merchant, out_trade_no, status, facts) values ('m1', 'A', 'paid', $1)`, [
      Buffer.from(fingerprint(aFact('p')), 'hex'),
    ])
    const lane = await openLane(url, { clock: CLOCK })
    await lane.apply([aRecord(0, 'A', [aFact('p')]), noted(1, 'A', hintOf('R-1'))])
    expect(await stateOf(pool)).toMatchObject({
      orders: [],
      deliveries: [
        [0, 0, null, 'payment_succeeded', 'wechatpay:p', 'archived'],
        [0, 1, null, null, 'refund:R-1', 'noted'],
      ],
    })
    expect((await pool.query('select 1 from timers')).rowCount).toBe(0)
    await lane.session.close()
  }))

test('the lane leaves queries to whoever asks providers: they wake nothing, and other timers go on beside them', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url, { clock: CLOCK })
    await lane.apply([noted(0, 'A', hintOf('R-1'))])
    expect(await lane.wake()).toBeUndefined()
    await pool.query(`update timers set due_at = to_timestamp($1 / 1000.0) where kind = 'expiry'`, [NOW_MS - 60_000])
    expect(await lane.wake({ readEnd: () => Promise.resolve(1) })).toMatchObject({ nextSeq: 1 })
    expect(await stateOf(pool)).toMatchObject({
      orders: [['m1', 'A', 'closed', null, expect.any(Number), 0, 1]],
      timers: [['m1/A', 'query', 'refund:R-1']],
    })
    expect(await lane.wake({ readEnd: () => Promise.resolve(1) })).toBeUndefined()
    await lane.session.close()
  }))

test('a batch that is run again asks for nothing twice and notes nothing twice', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const first = await openLane(url, { clock: CLOCK })
    const records = [noted(0, 'A', hintOf('R-1')), noted(1, null, NO_EFFECT)]
    const { position } = first
    await first.apply(records)
    first.position = position
    await first.apply(records)
    expect(await queriesIn(pool)).toHaveLength(1)
    expect(((await stateOf(pool)) as { deliveries: unknown[] }).deliveries).toHaveLength(2)
    await first.session.close()
  }))
