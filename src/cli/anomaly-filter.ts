import { Option, type Command } from 'commander'
import { ANOMALY_KINDS, type AnomalyKind } from '../orders/model.ts'
import type { AnomalyFilter } from '../store/list-anomalies.ts'
import { durationSec, integer, merchantName, shortText, timeOrAgo, userName } from './options.ts'

/** Options that say which anomalies are meant. */
export interface AnomalyOptions {
  readonly merchant?: string
  readonly kind?: AnomalyKind
  readonly owner?: string
  readonly unclaimed?: boolean
  readonly olderThan?: number
  readonly since?: Date
  readonly until?: Date
}
const FILTERS = ['merchant', 'kind', 'owner', 'unclaimed', 'olderThan', 'since', 'until'] as const
export const isNarrowed = (options: AnomalyOptions) => FILTERS.some((name) => name in options)

const ID = integer(1, Number.MAX_SAFE_INTEGER)
export const anomalyId = (text: string) => ID(text)
export const anomalyIds = (text: string, before: readonly number[] = []) => [...before, ID(text)]

export const takesFilter = (verb: Command) =>
  verb
    .option('--merchant <merchant>', 'of this merchant', merchantName)
    .addOption(new Option('--kind <kind>', 'of this kind').choices(ANOMALY_KINDS))
    .option('--owner <name>', 'claimed by them', shortText)
    .option('--unclaimed', 'claimed by nobody')
    .option('--older-than <duration>', 'opened at least that long ago, such as 15m', durationSec)
    .option('--since <time>', 'opened since then: a time, or how long ago, as 2h', timeOrAgo)
    .option('--until <time>', 'and before then', timeOrAgo)

export const takesActor = (verb: Command) =>
  verb.addOption(new Option('--actor <name>', 'who does it; it is kept').argParser(shortText).default(userName()))

export function filterOf(options: AnomalyOptions, nowMs: number): Omit<AnomalyFilter, 'state'> {
  const { merchant, kind, owner, unclaimed, olderThan, since, until } = options
  const untilMs = Math.min(until?.getTime() ?? Infinity, nowMs - (olderThan ?? -Infinity) * 1_000)
  return {
    ...{ merchant, kind, owner, isClaimed: unclaimed === true ? false : undefined, sinceMs: since?.getTime() },
    untilMs: untilMs === Infinity ? undefined : untilMs,
  }
}
