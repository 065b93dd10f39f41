import pg from 'pg'
import { afterEach, expect, test, vi } from 'vitest'
import { eventsToEmit } from '../../src/processor/events-to-emit.ts'
import { fingerprint } from '../../src/store/fingerprint.ts'
import { haltLane } from '../../src/store/lane-row.ts'
import { withDatabase } from '../helpers/database.ts'
import {
  aDeadLetter,
  aFact,
  anOrder,
  aRecord,
  clockAt,
  create,
  eventsOf,
  openLane,
  stateOf,
  TOPIC,
} from '../helpers/lane-bench.ts'

afterEach(() => vi.restoreAllMocks())

const STANDING = clockAt(1_790_000_100_000)
const PAID = ['ship', 'deduct', 'grant']

test('a payment is applied once: twins in one batch, the same fact in later ones, one delivery each', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    const first = await lane.apply([aRecord(0, 'A', [aFact('p')]), aRecord(1, 'A', [aFact('p')])])
    expect(first).toMatchObject({ baseSeq: 0, nextSeq: 3, next: 2, outcomes: { applied: 1, duplicate: 1 } })
    expect(first.events.map(({ kind, laneSeq, sequence }) => [kind, laneSeq, sequence])).toEqual([
      ['ship', 0, 1],
      ['deduct', 1, 2],
      ['grant', 2, 3],
    ])
    lane.position = { ...lane.position, ledger: first.nextSeq }
    const again = await lane.apply([aRecord(2, 'A', [aFact('p')])])
    expect(again).toMatchObject({ baseSeq: 3, nextSeq: 3, events: [], outcomes: { duplicate: 1 } })
    expect(await stateOf(pool)).toMatchObject({
      orders: [['m1', 'A', 'paid', 'wechatpay:p', 1, 0, 3]],
      facts: [['m1/A', 'payment_succeeded', 'wechatpay:p', 'applied', 0]],
      deliveries: [
        [0, 0, 'm1/A', 'payment_succeeded', 'wechatpay:p', 'applied'],
        [0, 1, 'm1/A', 'payment_succeeded', 'wechatpay:p', 'duplicate'],
        [0, 2, 'm1/A', 'payment_succeeded', 'wechatpay:p', 'duplicate'],
      ],
      lanes: [[0, 3, 3]],
      timers: [],
    })
    await lane.session.close()
  }))

test('the same identity with another amount is a conflict, in one batch and later, told once', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    const other = aFact('p', { amountMinor: 99 })
    const first = await lane.apply([aRecord(0, 'A', [aFact('p')]), aRecord(1, 'A', [other]), aRecord(2, 'A', [other])])
    expect(first.outcomes).toEqual({ applied: 1, conflict: 2 })
    const later = await lane.apply([aRecord(3, 'A', [other])])
    expect(later).toMatchObject({ outcomes: { conflict: 1 }, events: [] })
    expect((await eventsOf(pool)).map((event) => event.split(' ')[2])).toEqual([...PAID, 'anomaly_opened'])
    expect(await stateOf(pool)).toMatchObject({ anomalies: [['m1/A', 'conflicting_fact', expect.anything(), null]] })
    await lane.session.close()
  }))

test('an unknown order is a stub, its fact is held; after create a wake releases it', () =>
  withDatabase(async (url, pool) => {
    const lane = await openLane(url)
    const held = await lane.apply([aRecord(0, 'A', [aFact('p')])])
    expect(held).toMatchObject({ outcomes: { held: 1 }, events: [] })
    expect(await stateOf(pool)).toMatchObject({
      orders: [['m1', 'A', 'awaited', null, 1, 1, 0]],
      timers: [['m1/A', 'held_limit', 'payment_succeeded/wechatpay:p']],
    })
    expect(await create(pool, [anOrder('A')])).toEqual([{ kind: 'created', status: 'pending' }])
    const woken = await lane.wake()
    expect(woken?.events.map(({ kind }) => kind)).toEqual(PAID)
    expect(await lane.wake()).toBeUndefined()
    expect(await stateOf(pool)).toMatchObject({
      orders: [['m1', 'A', 'paid', 'wechatpay:p', expect.any(Number), 0, 3]],
      facts: [['m1/A', 'payment_succeeded', 'wechatpay:p', 'applied', 0]],
      timers: [],
      commands: [],
    })
    await lane.session.close()
  }))

test('the next batch that locks an order that appeared releases its held facts first', () =>
  withDatabase(async (url, pool) => {
    const lane = await openLane(url)
    await lane.apply([aRecord(0, 'A', [aFact('p')])])
    await create(pool, [anOrder('A')])
    const next = await lane.apply([aRecord(1, 'A', [aFact('q')])])
    expect(next.events.map(({ kind }) => kind)).toEqual([...PAID, 'anomaly_opened'])
    expect(await stateOf(pool)).toMatchObject({
      orders: [['m1', 'A', 'paid', 'wechatpay:p', expect.any(Number), 0, 3]],
      anomalies: [['m1/A', 'double_payment', 'payment_succeeded/wechatpay:q', null]],
    })
    await lane.session.close()
  }))

test('two facts of one callback are two deliveries; the second sees the first', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    const refund = aFact('r', { eventType: 'refund_succeeded', paymentRef: 'wechatpay:p' })
    const applied = await lane.apply([aRecord(0, 'A', [aFact('p'), refund])])
    expect(applied.outcomes).toEqual({ applied: 2 })
    expect(await stateOf(pool)).toMatchObject({
      orders: [['m1', 'A', 'refunded', 'wechatpay:p', 2, 0, expect.any(Number)]],
    })
    await lane.session.close()
  }))

test('the payload goes with the events, once per order and not with notices; read or in hand they are the same', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A', { payload: '{"sku":7}' }), anOrder('B')])
    const lane = await openLane(url)
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const applied = await lane.apply([
      aRecord(0, 'A', [aFact('p')], { traceparent: trace }),
      aRecord(1, 'A', [aFact('q')]),
      aRecord(2, 'B', [aFact('p')]),
    ])
    expect(applied.payloadOrders).toHaveLength(1)
    const inHand = await eventsToEmit(lane.session, lane.position, applied)
    expect(inHand.map(({ key, payload }) => [key, payload])).toEqual([
      ...PAID.map(() => ['A', '{"sku":7}']),
      ['A', null],
      ...PAID.map(() => ['B', null]),
    ])
    expect(inHand[0]?.traceparent).toBe(trace)
    expect(await eventsToEmit(lane.session, lane.position)).toEqual(inHand)
    expect(await eventsToEmit(lane.session, { ...lane.position, ledger: 5 })).toEqual(inHand.slice(5))
    await lane.session.close()
  }))

test('events that an earlier owner left are read, not taken from the hand', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A'), anOrder('B')])
    const dead = await openLane(url)
    await dead.apply([aRecord(0, 'A', [aFact('p')])])
    const lane = await openLane(url, { ledger: 0 })
    const applied = await lane.apply([aRecord(1, 'B', [aFact('p')])])
    expect(applied.events).toHaveLength(3)
    const rows = await eventsToEmit(lane.session, lane.position, applied)
    expect(rows.map(({ laneSeq, key }) => `${laneSeq}${key}`)).toEqual(['0A', '1A', '2A', '3B', '4B', '5B'])
    await lane.session.close()
  }))

test('a batch that runs again changes nothing and counts its deliveries once', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const records = [
      aRecord(0, 'A', [aFact('p')]),
      aRecord(1, 'B', [aFact('p')]),
      aDeadLetter(2),
      aRecord(3, 'A', [aFact('q')]),
    ]
    const lane = await openLane(url)
    await lane.apply(records)
    const before = await stateOf(pool)
    const again = await openLane(url, { next: 0 })
    const applied = await again.apply(records)
    expect(applied).toMatchObject({ events: [], newDeadLetters: [], outcomes: { duplicate: 3, dead_letter: 1 } })
    expect(await stateOf(pool)).toEqual(before)
    // Half of it known: the others are delivered.
    const overlap = await openLane(url, { next: 2 })
    await overlap.apply([...records.slice(2), aRecord(4, 'A', [aFact('q')])])
    const { deliveries } = (await stateOf(pool)) as { deliveries: unknown[][] }
    expect(deliveries.map(([, offset]) => offset)).toEqual([0, 1, 2, 3, 4])
    await again.session.close()
    await overlap.session.close()
  }))

test('a batch that runs again after create: a conflicting fact frees what its order holds, once, and no wake does', () =>
  withDatabase(async (url, pool) => {
    const records = [aRecord(0, 'A', [aFact('p')]), aRecord(1, 'A', [aFact('p', { amountMinor: 99 })])]
    const first = await openLane(url)
    expect((await first.apply(records)).events.map(({ kind }) => kind)).toEqual(['anomaly_opened'])
    await create(pool, [anOrder('A')])
    const again = await openLane(url, { next: 0 })
    expect((await again.apply(records)).events.map(({ kind }) => kind)).toEqual(PAID)
    const third = await openLane(url, { next: 0 })
    expect((await third.apply(records)).events).toEqual([])
    expect((await third.wake())?.events).toEqual([])
    expect(await stateOf(pool)).toMatchObject({
      orders: [['m1', 'A', 'paid', 'wechatpay:p', expect.anything(), 0, 3]],
      facts: [['m1/A', 'payment_succeeded', 'wechatpay:p', 'applied', 0]],
      anomalies: [['m1/A', 'conflicting_fact', expect.anything(), null]],
      timers: [],
    })
    for (const { session } of [first, again, third]) await session.close()
  }))

test('a batch of 1,000 takes 6 round trips, 7 with its payloads; known duplicates take 4', () =>
  withDatabase(async (url, pool) => {
    const bodies = Array.from({ length: 1_000 }, (_, i) => anOrder(`A${i}`, { payload: '{}' }))
    await create(pool, bodies.slice(0, 500))
    await create(pool, bodies.slice(500))
    const lane = await openLane(url, { clock: STANDING }) // Plans are not made anew meanwhile.
    const count = countStatements()
    const records = bodies.map(({ outTradeNo }, i) => aRecord(i, outTradeNo, [aFact(`p${i}`)]))
    const applied = await lane.apply(records)
    expect(applied.events).toHaveLength(3_000)
    expect(count()).toBe(6)
    await eventsToEmit(lane.session, lane.position, applied)
    expect(count()).toBe(1)
    const again = await lane.apply(records.map((record, i) => ({ ...record, offset: 1_000 + i })))
    expect(again.outcomes).toEqual({ duplicate: 1_000 })
    expect(count()).toBe(4) // begin, A, D, commit
    await eventsToEmit(lane.session, { ...lane.position, ledger: 3_000 }, again)
    expect(count()).toBe(0)
    await lane.session.close()
  }))

/** What any connection sends from now on: the messages Query and Sync each ask for an answer. */
function countStatements() {
  const spies = [vi.spyOn(pg.Connection.prototype, 'query'), vi.spyOn(pg.Connection.prototype, 'sync')]
  return () => {
    const calls = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0)
    for (const spy of spies) spy.mockClear()
    return calls
  }
}

test('the guard: a database behind the position or the ledger, a halt, no row: fence, and nothing is written', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    const before = await stateOf(pool)
    const records = [aRecord(7, 'A', [aFact('p')]), aRecord(8, 'unknown', [aFact('p')]), aDeadLetter(9)]
    const { position } = lane
    for (const [change, reason] of [
      [{ next: 7 }, 'applied_behind_next'],
      [{ ledger: 1 }, 'counter_behind_ledger'],
      [{ topic: 'another' }, 'lane_row_missing'],
    ] as const) {
      lane.position = { ...position, ...change }
      await expect(lane.apply(records)).rejects.toThrow(reason)
      await expect(lane.apply(records.slice(0, 2))).rejects.toThrow(reason)
      await expect(lane.wake()).rejects.toThrow(reason)
    }
    lane.position = position
    await haltLane(pool, TOPIC, 0, { reason: 'flood', detail: '' })
    await expect(lane.apply(records.slice(0, 2))).rejects.toThrow('halted')
    await expect(lane.wake()).rejects.toThrow('halted')
    expect(await stateOf(pool)).toEqual(before)
    await lane.session.close()
  }))

test('a brake that changed makes the batch run again, with the new version', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    await pool.query('update lanes set brake_version = brake_version + 2')
    const applied = await lane.apply([aRecord(0, 'A', [aFact('p')])])
    expect(applied).toMatchObject({ reruns: 1, brakeVersion: 2, baseSeq: 0, nextSeq: 3 })
    expect(lane.position.brakeVersion).toBe(2)
    await lane.session.close()
  }))

test('an order that is created between the look-up and the stub makes the batch run again', () =>
  withDatabase(async (url, pool) => {
    const lane = await openLane(url)
    const other = await pool.connect()
    await other.query('begin')
    await other.query(
      `insert into orders (merchant, out_trade_no, lane, status, amount_minor, currency) values ('m1', 'A', 0, 'pending', 100, 'CNY')`,
    )
    const applying = lane.apply([aRecord(0, 'A', [aFact('p')])])
    // The lane's insert waits for the other transaction.
    await expect
      .poll(
        async () =>
          (
            await pool.query(
              `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
            )
          ).rowCount,
        { timeout: 5_000 },
      )
      .toBe(1)
    await other.query('commit')
    other.release()
    expect(await applying).toMatchObject({ reruns: 1, outcomes: { applied: 1 } })
    await lane.session.close()
  }))

test('a tombstone is found under the lock: nothing is applied, and the stub goes again', () =>
  withDatabase(async (url, pool) => {
    await pool.query(`insert into tombstones (merchant, out_trade_no, status, facts) values ('m1', 'A', 'paid', $1)`, [
      Buffer.from(fingerprint(aFact('p')), 'hex'),
    ])
    const lane = await openLane(url)
    const applied = await lane.apply([aRecord(0, 'A', [aFact('p')]), aRecord(1, 'A', [aFact('p')])])
    expect(applied.outcomes).toEqual({ archived: 2 })
    expect(await stateOf(pool)).toMatchObject({
      orders: [],
      facts: [],
      deliveries: [
        [0, 0, null, 'payment_succeeded', 'wechatpay:p', 'archived'],
        [0, 1, null, 'payment_succeeded', 'wechatpay:p', 'archived'],
      ],
    })
    await lane.session.close()
  }))

test('gaps, filtered records and empty batches move applied_offset to the end', () =>
  withDatabase(async (url, pool) => {
    const lane = await openLane(url)
    expect(await lane.apply([], 5)).toMatchObject({ next: 5, events: [], outcomes: {} })
    await lane.apply([{ ...aDeadLetter(9), content: { kind: 'skipped' } }], 20)
    expect(await stateOf(pool)).toMatchObject({
      lanes: [[0, 0, 20]],
      deadLetters: [],
      deliveries: [[0, 9, null, null, null, 'skipped']],
    })
    await lane.session.close()
  }))

test('plans that were made while the tables were empty do not walk them later', () =>
  withDatabase(async (url, pool) => {
    const ids = Array.from({ length: 1_000 }, (_, i) => `A${i}`)
    await create(
      pool,
      ids.slice(0, 500).map((id) => anOrder(id)),
    )
    await create(
      pool,
      ids.slice(500).map((id) => anOrder(id)),
    )
    await pool.query('vacuum analyze') // Only this makes Postgres sure that a table is empty.
    const lane = await openLane(url, { clock: STANDING }) // Plans stay.
    for (let at = 0; at < 1_000; at += 100) {
      await lane.apply(ids.slice(at, at + 100).map((id, i) => aRecord(at + i, id, [aFact(`p${id}`)])))
      await pool.query(`insert into groups values ('m', $1)`, [at])
      await pool.query(`insert into tombstones values ('m', $1, 'paid')`, [at])
    }
    await lane.session.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ table: string; walked: number }>(
      `select t.relname as table, (t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0))::int as walked
       from pg_stat_user_tables t left join pg_stat_user_indexes i using (relid)
       where t.relname in ('facts', 'anomalies', 'commands', 'groups', 'tombstones') group by t.relname, t.seq_tup_read order by 1`,
    )
    expect(rows).toEqual(
      ['anomalies', 'commands', 'facts', 'groups', 'tombstones'].map((table) => ({ table, walked: 0 })),
    )
    await lane.session.close()
  }))
