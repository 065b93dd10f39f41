import { expect, test } from 'vitest'
import { hashToken, mintToken } from '../../src/runtime/access-token.ts'
import { RolledBack } from '../../src/runtime/postgres.ts'
import { isBusy, isDatabaseTrouble, isDataFault, isUnmigrated } from '../../src/runtime/postgres-fault.ts'

const failure = (code: string | undefined, message = 'x') => Object.assign(new Error(message), { code })

test.each([
  '08006',
  '40001',
  '40P01',
  '55P03',
  '57014',
  '57P01',
  '53300',
  '25006',
  '58030',
  'ECONNREFUSED',
  'ENOTFOUND',
])('%s is trouble around the statement', (code) => {
  expect(isDatabaseTrouble(failure(code))).toBe(true)
  expect(isDataFault(failure(code))).toBe(false)
})
test.each(['Connection terminated unexpectedly', 'Query read timeout', 'timeout exceeded when trying to connect'])(
  '"%s" is trouble around the statement',
  (message) => {
    expect(isDatabaseTrouble(failure(undefined, message))).toBe(true)
  },
)
test.each(['COMMIT answered ROLLBACK', 'the wake ran 100 times in vain'])('rolled back: "%s" is too', (message) => {
  expect(isDatabaseTrouble(new RolledBack(message))).toBe(true)
})
test('every address refused is trouble too', () => {
  expect(isDatabaseTrouble(new AggregateError([failure('ECONNREFUSED'), failure('ECONNREFUSED')]))).toBe(true)
})
test.each(['22001', '22P02', '23505', '42P01', '42601', 'XX000', undefined])('%s is not', (code) => {
  expect(isDatabaseTrouble(failure(code))).toBe(false)
})
test('what is no error is nothing', () => {
  for (const judge of [isDatabaseTrouble, isDataFault, isBusy, isUnmigrated]) expect(judge('57P01')).toBe(false)
})
test('the other kinds', () => {
  expect([isDataFault(failure('23514')), isBusy(failure('55P03')), isUnmigrated(failure('42P01'))]).toEqual([
    ...[true, true, true],
  ])
})

test('a token is found by the hash of its 32 bytes; anything else has none', () => {
  const { token, hash } = mintToken()
  expect(hashToken(token)?.equals(hash)).toBe(true)
  expect(mintToken().token).not.toBe(token)
  for (const bad of ['', 'po_', token.slice(1), token.slice(0, -1), `${token}A`, token.replace('po_', 'PO_')])
    expect(hashToken(bad)).toBeUndefined()
})
