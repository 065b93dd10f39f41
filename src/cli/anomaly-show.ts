import type { Command } from 'commander'
import type pg from 'pg'
import { anomalyView } from '../store/anomaly-view.ts'
import { findAnomaly, type Anomaly } from '../store/list-anomalies.ts'
import { anomalyId } from './anomaly-filter.ts'
import { withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { isoOf, listing, printable, type Output } from './render.ts'
import type { Run } from './run-cli.ts'

export const addAnomalyShow = (noun: Command, run: Run) =>
  noun
    .command('show')
    .description('an anomaly with both sides of it, and the answers that it takes now')
    .argument('<id>', 'its number, as in anomaly list', anomalyId)
    .action((id: number, _options, command: Command) =>
      run(async ({ env }) => show(await withDatabase(env, (pool) => knownAnomaly(pool, id))), command),
    )

export function show(anomaly: Anomaly): Output {
  const view = anomalyView(anomaly)
  const { allowed, facts, ...rest } = view
  const sides = Object.entries((facts ?? {}) as Record<string, unknown>).map(([name, value]) => sideOf(name, value))
  return {
    json: view,
    text: [listing({ ...rest, takes: allowed.join(', ') || null }), ...sides].join('\n\n'),
  }
}

function sideOf(name: string, value: unknown): string {
  if (typeof value !== 'object' || value === null) return listing({ [printable(name)]: textOf(name, value) })
  const pairs = Object.entries(value).map(([key, each]) => [key, textOf(key, each)] as const)
  return `${printable(name)}:\n${listing(Object.fromEntries(pairs)).replace(/^/gm, '  ')}`
}

function textOf(key: string, value: unknown): string | null {
  if (value === null || typeof value === 'string') return value
  return typeof value === 'number' && key.endsWith('TimeMs') ? isoOf(value) : JSON.stringify(value)
}

export async function knownAnomaly(pool: pg.Pool, id: number): Promise<Anomaly> {
  const found = await findAnomaly(pool, id)
  if (found === undefined)
    throw new CliFailure(EXIT.findings, `There is no anomaly ${id}.`, 'See: paidonce anomaly list')
  return found
}
