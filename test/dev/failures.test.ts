import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failuresOf } from '../../dev/parts/vitest.ts'

const name = join(import.meta.dirname, 'some.test.ts')
const failed = (message: string) => ({
  name,
  status: 'failed' as const,
  message: '',
  assertionResults: [
    { fullName: 'it works', status: 'passed' },
    { fullName: 'it breaks', status: 'failed', failureMessages: [message] },
  ],
})

test('a failure is told with its reason, without the stack and without colours', () => {
  const message = 'AssertionError: \u001b[31mexpected 3 to be 4\u001b[39m\n    at here (a.ts:1:2)\n    at there'
  expect(failuresOf(failed(message))).toEqual([
    'test/dev/some.test.ts: it breaks\n             AssertionError: expected 3 to be 4',
  ])
})

test('a long reason is cut', () => {
  expect(failuresOf(failed('x'.repeat(10_000)))[0]?.length).toBeLessThan(500)
})

test('a file that does not load is one failure', () => {
  const result = { name, status: 'failed' as const, message: 'SyntaxError: here\nmore', assertionResults: [] }
  expect(failuresOf(result)).toEqual(['test/dev/some.test.ts: SyntaxError: here'])
})
