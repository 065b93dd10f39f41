import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANOMALY_KINDS } from '../../src/orders/model.ts'
import { REFUSALS } from '../../src/api/refusal.ts'
import { REFUSAL_KINDS } from '../../src/gateway/rejection.ts'
import { CONNECTION_ENDS } from '../../src/runtime/connection-limits.ts'
import { DEAD_LETTER_REASONS } from '../../src/store/dead-letter.ts'
import { HALT_REASONS } from '../../src/store/halt.ts'
import { REPLAY_REFUSALS } from '../../src/store/plan-replay.ts'

const text = (file: string) => readFileSync(join(import.meta.dirname, '../../docs', file), 'utf8')
/** What stands in code type in the first column of a table. */
const listed = (markdown: string) =>
  [...markdown.matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+)/gm)].flatMap(([, names = '']) =>
    [...names.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name),
  )

const source = (file: string) => readFileSync(join(import.meta.dirname, '../../src', file), 'utf8')
/** A union that only types know, from the switch that has to name all of it. */
const commandRefusals = [...source('orders/say-refusal.ts').matchAll(/case '([a-z_]+)'/g)].map(([, name = '']) => name)

test.each([
  ['reason of a dead letter', DEAD_LETTER_REASONS],
  ['kind of anomaly', ANOMALY_KINDS],
  ['refusal of the gateway', REFUSAL_KINDS],
  ['end of a connection', CONNECTION_ENDS],
  ['refusal of the api', Object.keys(REFUSALS)],
  ['refusal of a command', commandRefusals],
  ['reason of a halt', HALT_REASONS],
])('docs/errors.md has a row for every %s', (_what, names) => {
  expect(names.length).toBeGreaterThan(4)
  const rows = listed(text('errors.md'))
  expect(names.filter((name) => !rows.includes(name))).toEqual([])
})

test('docs/errors.md names why a replay is refused, and what a lane takes for trouble that passes or a record’s fault', () => {
  const errors = text('errors.md')
  for (const name of Object.keys(REPLAY_REFUSALS)) expect(errors).toContain(`\`${name}\``)
  const states =
    /TRANSIENT_SQLSTATE = \/\^\(\?:(.+)\)\$\//.exec(source('runtime/postgres-fault.ts'))?.[1]?.split('|') ?? []
  const constraints = [...source('processor/fate.ts').matchAll(/'((?:orders|facts)_\w+_check)'/g)].map(
    ([, name]) => name,
  )
  expect([states.length, constraints.length]).toEqual([10, 6])
  for (const name of [...states, ...constraints]) expect(errors).toContain(`\`${name?.replaceAll('.', 'x')}\``)
})

test('docs/operations.md names only commands that there are', () => {
  const cli = text('cli.md')
  const commands = [...text('operations.md').matchAll(/`paidonce ([a-z]+ [a-z]+)/g)].map(([, command = '']) => command)
  expect(commands.length).toBeGreaterThan(10)
  for (const command of new Set(commands)) expect(cli).toContain(command)
})
