import type pg from 'pg'
import { expect, test } from 'vitest'
import {
  migrate,
  MigrationChanged,
  missingMigrations,
  readMigrations,
  type Migration,
} from '../../src/store/migrate.ts'
import { findArchived } from '../../src/store/find-archived.ts'
import { findOrder } from '../../src/store/find-order.ts'
import { readLane } from '../../src/store/lane-row.ts'
import { listAnomalies } from '../../src/store/list-anomalies.ts'
import { isFinding } from '../../src/store/maintain-partitions.ts'
import { listDeadLetters } from '../../src/store/read-dead-letters.ts'
import { aFact, aRecord, openLane, TOPIC } from '../helpers/lane-bench.ts'
import { maintainAt } from '../helpers/maintained.ts'
import { createDatabase, withDatabase } from '../helpers/database.ts'
import { describeSchema } from '../helpers/describe-schema.ts'

const NAMES = readMigrations().map(({ name }) => name)

/** A database without tables. */
async function withEmptyDatabase(work: (pool: pg.Pool) => Promise<void>): Promise<void> {
  const database = await createDatabase()
  try {
    await database.pool.query('drop schema public cascade; create schema public')
    await work(database.pool)
  } finally {
    await database.drop()
  }
}

test('the whole schema is what docs/schema.txt says', () =>
  withDatabase(async (_, pool) => {
    await expect(await describeSchema(pool)).toMatchFileSnapshot('../../docs/schema.txt')
  }))

test('several that migrate at once apply each file once', () =>
  withEmptyDatabase(async (pool) => {
    expect(await missingMigrations(pool)).toEqual(NAMES)
    const applied = await Promise.all([migrate(pool), migrate(pool), migrate(pool)])
    expect(applied.filter((names) => names.length > 0)).toEqual([NAMES])
    expect(await missingMigrations(pool)).toEqual([])
    const { rows } = await pool.query('select number, name, length(sha256) as length from schema_migrations')
    expect(rows).toEqual(NAMES.map((name) => ({ number: Number(name.slice(0, 4)), name, length: 64 })))
  }))

test('a file that fails leaves nothing of itself, keeps those before it, and can be run again', () =>
  withEmptyDatabase(async (pool) => {
    const files = (last: string): Migration[] => [
      { number: 1, name: '0001_a.sql', sql: 'create table a (x int)', sha256: '1' },
      { number: 2, name: '0002_b.sql', sql: `create table b (x int); ${last}`, sha256: '2' },
    ]
    await expect(migrate(pool, files('select 1 / 0'))).rejects.toThrow('division by zero')
    const { rows } = await pool.query(`select to_regclass('a') is not null as a, to_regclass('b') is not null as b`)
    expect(rows).toEqual([{ a: true, b: false }])
    expect(await migrate(pool, files('select 1'))).toEqual(['0002_b.sql'])
    expect(await migrate(pool, files('select 1'))).toEqual([])
  }))

test('a changed file of an applied migration is refused by name; a database that is ahead is left alone', () =>
  withEmptyDatabase(async (pool) => {
    const one: Migration = { number: 1, name: '0001_a.sql', sql: 'create table a (x int)', sha256: '1' }
    const two: Migration = { number: 2, name: '0002_b.sql', sql: 'create table b (x int)', sha256: '2' }
    await migrate(pool, [one, two])
    expect(await migrate(pool, [one])).toEqual([])
    await expect(migrate(pool, [{ ...one, sha256: 'x' }, two])).rejects.toBeInstanceOf(MigrationChanged)
    await expect(migrate(pool, [{ ...one, sha256: 'x' }, two])).rejects.toThrow('0001_a.sql')
  }))

test('a database of the first version, with data, is brought up to date and goes on', async () => {
  const database = await createDatabase()
  const { pool, url } = database
  try {
    await pool.query('drop schema public cascade; create schema public')
    await migrate(pool, readMigrations().slice(0, 1))
    await pool.query(OLD_DATA)
    expect(await missingMigrations(pool)).toEqual(NAMES.slice(1))
    expect(await migrate(pool)).toEqual(NAMES.slice(1))
    expect(await missingMigrations(pool)).toEqual([])

    const found = await findOrder(pool, 'm1', 'A')
    expect(found).toMatchObject({ waitingCount: 0, archivedAtMs: null, order: { status: 'paid' } })
    expect(await listAnomalies(pool, { state: 'open' }, { limit: 10 })).toMatchObject([
      { owner: null, resolvedBy: null },
    ])
    const letters = await listDeadLetters(pool, { topic: TOPIC }, { limit: 10 })
    expect(letters).toMatchObject({ letters: [{ status: 'open', replayCount: 0, merchant: null }] })
    expect(await findArchived(pool, 'm1', 'old')).toMatchObject({ status: 'refunded', found: undefined })
    const row = await readLane(pool, TOPIC, 0)
    expect(row).toMatchObject({ ownerDeaths: 0, suspect: undefined, nextSeq: 3, appliedOffset: 1 })

    expect((await maintainAt(pool, new Date().toISOString())).work.filter(isFinding)).toEqual([])
    // Its lane goes on: the old fact is known, a new one is decided, and the archived number stays archived.
    const lane = await openLane(url)
    const records = [aRecord(1, 'A', [aFact('p')]), aRecord(2, 'A', [aFact('q')]), aRecord(3, 'old', [aFact('late')])]
    await lane.apply(records)
    const { rows } = await pool.query(
      'select outcome::text from deliveries where kafka_offset > 0 order by kafka_offset',
    )
    expect(rows.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['duplicate', 'anomaly', 'dead_letter'])
    await lane.session.close()
  } finally {
    await database.drop()
  }
})

/** Two orders of a version before brakes, replays, claims and the archive: paid, and long gone. */
const OLD_DATA = `
insert into lanes (topic, lane, start_offset, next_seq, applied_offset, settled_seq, fences)
  values ('payments.callback.v1', 0, 0, 3, 1, 3, 1);
insert into orders (merchant, out_trade_no, lane, status, amount_minor, currency, accepted_ref, sequence, version)
  values ('m1', 'A', 0, 'paid', 100, 'CNY', 'wechatpay:p', 3, 1);
insert into facts (order_id, event_type, provider_ref, amount_minor, currency, amount_kind, event_time, outcome, lane, kafka_offset)
  select id, 'payment_succeeded', 'wechatpay:p', 100, 'CNY', 'individual', '2026-09-21', 'applied', 0, 0 from orders;
insert into deliveries (lane, kafka_offset, day, order_id, outcome, received_at)
  select 0, 0, '2026-09-21', id, 'applied', '2026-09-21' from orders;
insert into anomalies (order_id, lane, kind, cause, facts) select id, 0, 'disputed', 'x', '[]' from orders;
insert into dead_letters (topic, lane, kafka_offset, key, value, reason, record_time)
  values ('payments.callback.v1', 0, 7, 'k', 'v', 'undecodable', '2026-09-21');
insert into tombstones (merchant, out_trade_no, status) values ('m1', 'old', 'refunded');
`

test('the append-only table refuses changes', () =>
  withDatabase(async (_, pool) => {
    await pool.query(`insert into operator_actions (actor, action, target, reason) values ('a', 'b', '{}', 'c')`)
    for (const sql of [
      `update operator_actions set actor = 'x'`,
      'delete from operator_actions',
      'truncate operator_actions',
    ])
      await expect(pool.query(sql)).rejects.toThrow('append-only')
  }))
