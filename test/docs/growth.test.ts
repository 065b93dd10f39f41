import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { GROWTH } from '../../src/runtime/config.ts'
import { GROWING } from '../../src/store/read-growth.ts'
import { REMOVED } from '../../src/store/remove-aged.ts'

const read = (file: string) => readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8')
const growth = read('growth.md')
/** The first column of the first table. */
const listed = growth
  .split('\n')
  .slice(
    0,
    growth.split('\n').findIndex((line) => line.startsWith('What waits for a person')),
  )
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name))

/** As the database has them: `docs/schema.txt` is compared with it elsewhere. */
const tables = read('schema.txt')
  .split('\n')
  .filter((line) => line.startsWith('table ') && !line.includes(' partition of '))
  .map((line) => line.split(' ')[1] ?? '')

test('docs/growth.md says of every table what bounds it', () => {
  expect(tables.length).toBeGreaterThan(20)
  expect(listed.toSorted()).toEqual(tables.toSorted())
})

test('the size of every table that can grow is a metric', () => {
  const fixed = ['lanes', 'topology', 'schema_migrations']
  expect(GROWING.toSorted()).toEqual(tables.filter((name) => !fixed.includes(name)).toSorted())
})

test('docs/growth.md names every time limit, and what is removed when it has passed', () => {
  for (const name of Object.keys(GROWTH)) expect(growth).toContain(`\`${name}\``)
  for (const name of REMOVED) expect(listed).toContain(name)
})
