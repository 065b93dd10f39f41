import type pg from 'pg'
import { expect, test } from 'vitest'
import {
  migrate,
  MigrationChanged,
  missingMigrations,
  readMigrations,
  type Migration,
} from '../../src/store/migrate.ts'
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
