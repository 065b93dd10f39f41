import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProgram } from '../../src/cli/run-cli.ts'
import { ANOMALY_KINDS } from '../../src/orders/model.ts'
import { REFUSALS } from '../../src/api/refusal.ts'
import { REFUSAL_KINDS } from '../../src/gateway/rejection.ts'
import { CONNECTION_ENDS } from '../../src/runtime/connection-limits.ts'
import { DEAD_LETTER_REASONS } from '../../src/store/dead-letter.ts'
import { HALT_REASONS, remedyOf } from '../../src/store/halt.ts'
import { REPLAY_REFUSALS } from '../../src/store/plan-replay.ts'
import { shellBlocks, wordsOf } from '../helpers/shell-blocks.ts'

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

test('every command of docs/operations.md is one that the command line takes, options and values too', async () => {
  const operations = text('operations.md')
  const lines = shellBlocks(operations)
  expect(lines.length).toBeGreaterThan(15)
  const taken: string[] = []
  for (const line of lines) {
    const program = createProgram((_work, command) => Promise.resolve(void taken.push(command.name())))
    await program.parseAsync(wordsOf(line), { from: 'user' })
  }
  expect(taken).toHaveLength(lines.length)
  const cli = text('cli.md')
  const inline = [...operations.matchAll(/`paidonce ([a-z]+ [a-z]+)/g)].map(([, command = '']) => command)
  expect(inline.length).toBeGreaterThan(10)
  for (const command of new Set(inline)) expect(cli).toContain(command)
})

test('every command of a halt’s remedy is one that the command line takes, once its … are filled in', async () => {
  const COMMAND = /paidonce [a-z]+ [a-z]+(?: \d+)?(?: --[a-z-]+(?: (?:…|all|'…'))?)*/g
  for (const reason of [...HALT_REASONS, 'of a newer version']) {
    const commands = remedyOf(reason, 3).match(COMMAND) ?? []
    expect([reason, commands.some((command) => command.startsWith('paidonce lane'))]).toEqual([reason, true])
    for (const command of commands) {
      const program = createProgram(() => Promise.resolve())
      const reasonOfDeadLetter = command.startsWith('paidonce dlq') ? 'unprocessable' : 'cause mended'
      const filled = command.replace('--reason …', `--reason ${reasonOfDeadLetter}`).replaceAll('…', '5')
      await expect(program.parseAsync(wordsOf(filled), { from: 'user' })).resolves.toBeDefined()
    }
  }
})

test('docs/operations.md has a page for what can happen to an installation', () => {
  for (const heading of [
    'A lane is halted',
    'Postgres was restored from a backup',
    'Kafka moved',
    'Offsets were reset, or a topic or group was deleted',
    'A key has leaked',
    'A wrong amount was accepted',
    'Partitions were added by mistake', // named by what ends a process then (schemas/check-topics.ts)
  ])
    expect(text('operations.md')).toContain(`## ${heading}\n`)
})
