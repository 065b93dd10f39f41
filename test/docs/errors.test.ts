import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANOMALY_KINDS } from '../../src/orders/model.ts'
import { DEAD_LETTER_REASONS } from '../../src/store/dead-letter.ts'

const text = (file: string) => readFileSync(join(import.meta.dirname, '../../docs', file), 'utf8')
/** What stands in code type in the first column of a table. */
const listed = (markdown: string) =>
  [...markdown.matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+)/gm)].flatMap(([, names = '']) =>
    [...names.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name),
  )

test('docs/errors.md has a row for every reason of a dead letter and every kind of anomaly', () => {
  const rows = listed(text('errors.md'))
  for (const name of [...DEAD_LETTER_REASONS, ...ANOMALY_KINDS]) expect(rows).toContain(name)
})

test('docs/operations.md names only commands that there are', () => {
  const cli = text('cli.md')
  const commands = [...text('operations.md').matchAll(/`paidonce ([a-z]+ [a-z]+)/g)].map(([, command = '']) => command)
  expect(commands.length).toBeGreaterThan(10)
  for (const command of new Set(commands)) expect(cli).toContain(command)
})
