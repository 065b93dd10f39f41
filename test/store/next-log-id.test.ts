import { expect, test } from 'vitest'
import { nextLogId } from '../../src/store/rebuild-lane.ts'

test('no two logs of a lane have one name, and a restored Postgres gives the same names again', () => {
  const begun = (ids: readonly (string | undefined)[]) =>
    ids.reduce<string[]>((names, id) => [...names, nextLogId(names.at(-1), id)], [])
  expect(begun(['a', 'a', 'a', 'b', 'b', undefined, ''])).toEqual(['a', 'a.2', 'a.3', 'b', 'b.2', 'log', 'log.2'])
})
