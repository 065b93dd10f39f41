import type { Command } from 'commander'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createProgram } from '../../src/cli/run-cli.ts'

const text = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

function verbsOf(command: Command, path: string): { name: string; command: Command }[] {
  if (command.commands.length === 0) return [{ name: path, command }]
  return command.commands.flatMap((child) => verbsOf(child, `${path} ${child.name()}`.trim()))
}
const verbs = verbsOf(
  createProgram(() => Promise.resolve()),
  '',
)

test.each(verbs)('docs/cli.md has $name with its arguments and options', ({ name, command }) => {
  const row = text.split('\n').find((line) => line.startsWith(`| \`${name}`)) ?? ''
  for (const argument of command.registeredArguments)
    expect(row).toContain(argument.variadic ? `[${argument.name()}...]` : `<${argument.name()}>`)
  for (const option of command.options) expect(row).toContain(`\`${option.flags}\``)
})

test('docs/cli.md names no verb that is not there', () => {
  const named = [...text.matchAll(/^\| `([a-z]+(?: [a-z]+)?)[^`]*` \|/gm)].map(([, name]) => name)
  expect(named).toEqual(expect.arrayContaining(verbs.map(({ name }) => name)))
  expect(named).toHaveLength(verbs.length)
})
