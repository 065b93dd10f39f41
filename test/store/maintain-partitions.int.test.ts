import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dayAfter } from '../../src/runtime/days.ts'
import { maintain } from '../../src/store/maintain.ts'
import { isFinding } from '../../src/store/maintain-partitions.ts'
import { createDatabase, withDatabase, type TestDatabase } from '../helpers/database.ts'
import { aFact, aRecord, anOrder, clockAt, create, openLane, TOPIC } from '../helpers/lane-bench.ts'
import { daysOf, LIMITS, maintainAt, rowsIn } from '../helpers/maintained.ts'

const TODAY = '2026-11-30'
const days = (from: string, count: number) => Array.from({ length: count }, (_, n) => dayAfter(from, n))

let it: TestDatabase
beforeAll(async () => {
  it = await createDatabase()
})
afterAll(() => it.drop())

const deliver = (pool: pg.Pool, day: string, count = 1) =>
  pool.query(
    `insert into deliveries (lane, kafka_offset, day, outcome, received_at)
     select 0, n, $1, 'noted', now() from generate_series(1, $2::int) n`,
    [day, count],
  )
const emitAt = (pool: pg.Pool, day: string, laneSeqs: readonly number[], lane = 0) =>
  pool.query(
    `insert into events (lane, lane_seq, day, topic, event_id, kind, key, cause, occurred_at)
     select $3, n, $1, 't', gen_random_uuid(), 'ship', 'k', 'c', now() from unnest($2::int8[]) n`,
    [day, laneSeqs, lane],
  )
const laneAt = (pool: pg.Pool, settled: number, lane = 0) =>
  pool.query(
    `insert into lanes (topic, lane, start_offset, applied_offset, next_seq, settled_seq) values ($1, $2, 0, 0, $3, $3)
     on conflict (topic, lane) do update set settled_seq = excluded.settled_seq`,
    [TOPIC, lane, settled],
  )

test('an empty installation gets today and the days ahead, once', async () => {
  const dry = await maintainAt(it.pool, `${TODAY}T10:00Z`, {}, { dryRun: true })
  expect(await daysOf(it.pool, 'events')).toEqual([])
  const first = await maintainAt(it.pool, `${TODAY}T10:00Z`)
  expect(first.work).toEqual(dry.work)
  expect(first.work.filter(isFinding)).toEqual([])
  for (const table of ['deliveries', 'events'] as const) expect(await daysOf(it.pool, table)).toEqual(days(TODAY, 8))
  expect(await daysOf(it.pool, 'archived_orders')).toEqual(['2026-11-01', '2026-12-01'])
  expect((await maintainAt(it.pool, `${TODAY}T23:59Z`)).work).toEqual([])
  expect((await maintainAt(it.pool, `${dayAfter(TODAY, 1)}T00:00Z`)).work.map(({ name }) => name)).toEqual([
    'deliveries_20261208',
    'events_20261208',
    'archived_orders_202701',
  ])
})

test('a lane writes into the day of its own clock; a record from the future goes no further than tomorrow', () =>
  withDatabase(async (url, pool) => {
    await maintainAt(pool, `${TODAY}T00:00Z`)
    await create(pool, [anOrder('A')])
    const lane = await openLane(url, { clock: clockAt(Date.parse(`${TODAY}T23:30Z`)) })
    await lane.apply([
      aRecord(0, 'A', [aFact('p')], { timestampMs: Date.parse(`${TODAY}T23:29Z`) }),
      aRecord(1, 'A', [aFact('p')], { timestampMs: Date.parse('2099-01-01') }),
    ])
    expect([await rowsIn(pool, 'events_20261130'), await rowsIn(pool, 'events_default')]).toEqual([3, 0])
    const { rows } = await pool.query('select tableoid::regclass::text as part from deliveries order by kafka_offset')
    expect(rows).toEqual([{ part: 'deliveries_20261130' }, { part: 'deliveries_20261201' }])
    await lane.session.close()
  }))

test('days that the default partition has are passed over and told; they go by one TRUNCATE when they are past', () =>
  withDatabase(async (_, pool) => {
    await deliver(pool, '2026-11-29', 500)
    await deliver(pool, TODAY, 500)
    await deliver(pool, '2026-12-03') // a clock that was wrong, before lanes looked at it
    const { work } = await maintainAt(pool, `${TODAY}T10:00Z`)
    expect(work.filter(isFinding)).toMatchObject([
      { kind: 'not_made', name: 'deliveries_20261130', why: expect.stringContaining('holds rows') as string },
      { kind: 'not_made', name: 'deliveries_20261203' },
    ])
    expect(await daysOf(pool, 'deliveries')).toEqual(
      days(TODAY, 8).filter((day) => day !== TODAY && day !== '2026-12-03'),
    )
    const { rows } = await pool.query(
      `select conname from pg_constraint where conrelid = 'deliveries_default'::regclass and contype = 'c'`,
    )
    expect(rows, 'a constraint that could refuse a row stays behind').toEqual([])
    const past = await maintainAt(pool, `${dayAfter('2026-12-04', 30)}T10:00Z`)
    expect(past.work).toContainEqual({ kind: 'cleared', table: 'deliveries', name: 'deliveries_default', rows: 1_001 })
    expect(await rowsIn(pool, 'deliveries')).toBe(0)
  }))

test('strays among what is kept go in small steps', () =>
  withDatabase(async (_, pool) => {
    await deliver(pool, '2026-10-01', 2_500)
    await deliver(pool, TODAY, 10)
    const { work } = await maintainAt(pool, `${TODAY}T10:00Z`)
    expect(work).toContainEqual({ kind: 'cleared', table: 'deliveries', name: 'deliveries_default', rows: 2_500 })
    expect(await rowsIn(pool, 'deliveries')).toBe(10)
  }))

test('days past their time are dropped, of events only below settled_seq of every lane', () =>
  withDatabase(async (_, pool) => {
    await maintainAt(pool, '2026-11-01T00:00Z')
    for (const [n, day] of days('2026-11-01', 3).entries()) {
      await deliver(pool, day, 3)
      await emitAt(pool, day, [10 * n, 10 * n + 1])
      await emitAt(pool, day, [10 * n], 1)
    }
    await laneAt(pool, 22)
    await laneAt(pool, 10, 1) // its event 10 of the second day may not be in Kafka yet
    const { work } = await maintainAt(pool, `${dayAfter('2026-11-03', 36)}T12:00Z`)
    expect(work.filter(({ kind }) => kind !== 'made' && kind !== 'not_made')).toMatchObject([
      ...days('2026-11-01', 8).map((day) => ({ kind: 'dropped', name: `deliveries_${day.replaceAll('-', '')}` })),
      { kind: 'dropped', name: 'events_20261101' },
      { kind: 'not_dropped', name: 'events_20261102', why: expect.stringContaining('lanes 1 may not') as string },
      { kind: 'not_dropped', name: 'events_20261103' },
    ])
    expect(await rowsIn(pool, 'events')).toBe(6)
    await laneAt(pool, 21, 1)
    await maintainAt(pool, `${dayAfter('2026-11-03', 36)}T12:05Z`)
    expect(await rowsIn(pool, 'events')).toBe(0)
  }))

test('events of a lane of which nothing is known are kept, also in the default partition', () =>
  withDatabase(async (_, pool) => {
    await emitAt(pool, '2026-10-01', [1], 3)
    const run = () => maintainAt(pool, `${TODAY}T10:00Z`)
    await run()
    expect(await rowsIn(pool, 'events')).toBe(1)
    await emitAt(pool, TODAY, [7])
    await run()
    expect(await rowsIn(pool, 'events')).toBe(2)
    await laneAt(pool, 2, 3)
    await run()
    expect(await rowsIn(pool, 'events')).toBe(1)
  }))

test('one process at a time; the others go without a word in the log of Postgres', async () => {
  const client = await it.pool.connect()
  await client.query('select pg_advisory_lock(7205711305)')
  const options = { clock: clockAt(Date.parse(TODAY)), inputTopic: TOPIC, limits: LIMITS }
  const warnings: (string | undefined)[] = []
  it.pool.on('acquire', (other) => other.on('notice', ({ message }) => warnings.push(message)))
  expect(await maintain(it.pool, options)).toEqual({ kind: 'busy' })
  expect(warnings).toEqual([])
  client.release(true)
})

test('a transaction that uses the table is not waited for for long, nor does anybody wait behind us', () =>
  withDatabase(async (url, pool) => {
    await maintainAt(pool, '2026-11-01T00:00Z')
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    const user = await pool.connect()
    await user.query('begin; select from deliveries limit 1')
    const running = maintainAt(pool, '2026-12-02T00:00Z')
    // One that waited 500 ms for a lock would throw.
    for (let n = 0; n < 50; n++) await lane.apply([aRecord(n, 'A', [aFact('p')])])
    const { work } = await running
    await user.query('rollback')
    user.release()
    await lane.session.close()
    const told = work.filter(({ kind, table }) => kind === 'not_dropped' && table === 'deliveries')
    expect(told).toMatchObject([{ name: 'deliveries_20261101', why: expect.stringContaining('never free') as string }])
    await maintainAt(pool, '2026-12-02T00:01Z')
    expect(await daysOf(pool, 'deliveries')).not.toContain('2026-11-01')
  }))

test('what a process left that died while it made a partition is taken away by the next one', () =>
  withDatabase(async (_, pool) => {
    await pool.query(
      `alter table events_default add constraint looked_at_20261204 check (day < '2026-12-04' or day >= '2026-12-05') not valid`,
    )
    await maintainAt(pool, `${TODAY}T10:00Z`)
    expect(await daysOf(pool, 'events')).toEqual(days(TODAY, 8))
    await emitAt(pool, '2026-12-04', [1])
  }))
