import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { paidonce, type CliRun } from '../cli/paidonce.ts'
import { shellBlocks, wordsOf } from './shell-blocks.ts'
import { until } from './until.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')

/** The commands that docs/operations.md gives under a heading, in order. @throws Error when there are none */
export function remedyOf(heading: string): string[] {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${heading}\n`))
  const commands = shellBlocks((section ?? '').replaceAll(/^ {3}/gm, ''))
  if (commands.length === 0) throw new Error(`docs/operations.md gives no commands under "${heading}"`)
  return commands
}

/** The one of them that changes something and begins so. */
export function commandOf(heading: string, verb: string): string {
  const found = remedyOf(heading).find((line) => line.startsWith(`paidonce ${verb} `) && !line.includes('--dry-run'))
  if (found === undefined) throw new Error(`docs/operations.md gives no "${verb}" under "${heading}"`)
  return found
}

/** Runs one of them as it stands there, with this installation's lane and count in the place of the page's. */
export function follow(
  command: string,
  { lane = 0, lanes = 1 }: { readonly lane?: number; readonly lanes?: number },
  env: NodeJS.ProcessEnv,
): Promise<CliRun> {
  const words = wordsOf(command)
  const args = words.map((word, index) => {
    if (words[index - 1] === 'rebuild') return String(lane)
    return words[index - 1] === '--partitions' ? String(lanes) : word
  })
  return paidonce(args, env as Record<string, string>)
}

/** The page's audit, once it judges all events of so many paid orders (the last second is left out), finds nothing. */
export async function expectAudit(heading: string, env: NodeJS.ProcessEnv, orders: number): Promise<void> {
  const end = await until(
    'the audit has judged all',
    async () => {
      const run = await follow(commandOf(heading, 'audit run'), {}, env)
      const judged = Number(/^events +(\d+)$/m.exec(run.stdout)?.[1] ?? -1)
      return judged >= 3 * orders || run.code !== 0 ? run : undefined
    },
    30_000,
  )
  const nothing = /result +ok\n[^]*missing +0\nduplicate +0\namount_mismatch +0\nextra +0\nlate +0/
  expect([end.code, end.stderr, end.stdout]).toEqual([0, '', expect.stringMatching(nothing)])
  expect(end.stdout).toMatch(new RegExp(`^events +${3 * orders}$`, 'm'))
  expect(end.stdout).toMatch(new RegExp(`^orders +${orders}$`, 'm'))
}
