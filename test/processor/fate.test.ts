import { describe, expect, test } from 'vitest'
import { RolledBack } from '../../src/runtime/postgres.ts'
import { backoffMs, fateOf } from '../../src/processor/fate.ts'

const postgres = (code: string, constraint?: string) =>
  Object.assign(new Error('as Postgres says it'), { severity: 'ERROR', code, constraint })
const named = (name: string) => Object.assign(new Error('x'), { name })
const coded = (code: string) => Object.assign(new Error('x'), { code })

describe('trouble around the records passes: the lane waits', () => {
  test.each([
    '08006',
    '40001',
    '40P01',
    '55P03',
    '57014',
    '25P03',
    '25006',
    '53100',
    '53300',
    '57P01',
    '57P03',
    '58030',
  ])('SQLSTATE %s', (code) => expect(fateOf(postgres(code)).kind).toBe('retry'))
  test.each([
    ['a reset connection', coded('ECONNRESET')],
    ['a refused connection', coded('ECONNREFUSED')],
    ['a lost connection', new Error('Connection terminated unexpectedly')],
    ['a statement on a lost connection', new Error('Client has encountered a connection error and is not queryable')],
    ['COMMIT answered ROLLBACK', new RolledBack('COMMIT answered ROLLBACK')],
    ['a batch that others made run again and again', new RolledBack('the batch ran 100 times in vain: refused')],
    ['the registry is away', named('RegistryUnavailable')],
  ])('%s', (_, error) => expect(fateOf(error).kind).toBe('retry'))
})

describe("a record's own data is looked for", () => {
  test.each([
    ['22003', postgres('22003')],
    ['22021: a NUL', postgres('22021')],
    ['22P02', postgres('22P02')],
    ['a named check', postgres('23514', 'facts_provider_ref_check')],
  ])('%s', (_, error) => expect(fateOf(error).kind).toBe('bisect'))
})

describe('a surprise stops the lane', () => {
  test.each([
    ['a missing partition: 23514 without a name', postgres('23514')],
    ['a unique violation', postgres('23505', 'facts_pkey')],
    ['a check that no record can break', postgres('23514', 'orders_known')],
    ['a missing table', postgres('42P01')],
    ['a refused password', postgres('28P01')],
    ['a programming error', new TypeError('cannot read properties of undefined')],
    ['something that is no error', 'a string'],
  ])('%s', (_, error) => expect(fateOf(error).kind).toBe('halt'))
})

test('waiting grows to ten seconds and is never nothing', () => {
  expect([1, 2, 3, 20, 1000].map((failures) => backoffMs(failures, 0.999999))).toEqual([100, 200, 400, 10_000, 10_000])
  expect(backoffMs(9, 0)).toBe(50)
})
