import { expect, test } from 'vitest'
import { readQuery } from '../../src/api/read-query.ts'

test.each(['\0', 'a\0b', '\ud800'])(
  'a value that Postgres keeps in no column matches nothing: %j is refused by name',
  (owner) => {
    expect(readQuery({ owner }, ['owner'])).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'invalid_field', field: 'owner', detail: 'owner must be well-formed text without NUL.' },
    })
  },
)

test('any other text is for the route to judge', () => {
  expect(readQuery({ owner: '安 😀' }, ['owner'])).toEqual({ kind: 'query', values: { owner: '安 😀' } })
})
