import { parseArgs } from 'node:util'
import { FORMS } from './forms/all.ts'
import { OURS } from './our-system.ts'

const NAMES = [...Object.keys(FORMS), OURS]
export const USAGE = `usage: npm run bench:patterns -- [--orders N] [--kills N] [--failovers N] [--seed N] [--only NAME] [--write]

Why not just …? Plays each usual way to act once on a repeated callback, and ours, on the same callbacks, with real Postgres,
Redis and Kafka: N orders (500) whose five callbacks come at once, then under N kills of a worker (10), then while Redis
forgets all that it knew N times (10). Prints what was shipped twice and what was never shipped, as a table; --write puts it
into docs/patterns.md, with the seed and the commit. All take about ten minutes on two quiet cores.
NAME: ${NAMES.join(', ')}`

export interface PatternOptions {
  readonly names: readonly string[]
  readonly orders: number
  readonly kills: number
  readonly failovers: number
  readonly seed: number
  readonly write: boolean
}

/** @returns a mistake as a text; @throws TypeError of `parseArgs` for an option that there is not */
export function readOptions(args: readonly string[]): PatternOptions | 'help' | { readonly mistake: string } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      orders: { type: 'string', default: '500' },
      kills: { type: 'string', default: '10' },
      failovers: { type: 'string', default: '10' },
      seed: { type: 'string', default: String(1 + (Date.now() % 100_000)) },
      only: { type: 'string' },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const { only, write } = values
  if (only !== undefined && !NAMES.includes(only)) return { mistake: `--only ${only}: there is no such form` }
  if (only !== undefined && write) return { mistake: '--write is for the whole table, not with --only' }
  const mistake = (['orders', 'kills', 'failovers', 'seed'] as const).find(
    (name) => !/^[1-9]\d{0,8}$/.test(values[name]),
  )
  if (mistake !== undefined) return { mistake: `--${mistake} must be a whole number above 0` }
  return {
    ...{ names: only === undefined ? NAMES : [only], write, seed: Number(values.seed) },
    ...{ orders: Number(values.orders), kills: Number(values.kills), failovers: Number(values.failovers) },
  }
}
