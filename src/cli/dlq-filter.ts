import { InvalidArgumentError, Option, type Command } from 'commander'
import { KAFKA, POSTGRES, readConfig } from '../runtime/config.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import type { DeadLetterFilter } from '../store/dead-letter-filter.ts'
import { DEAD_LETTER_REASONS, type DeadLetterReason } from '../store/dead-letter.ts'
import { CliFailure, EXIT } from './failure.ts'
import { integer, merchantName, shortText, timeOrAgo, userName } from './options.ts'

/** Options that say which dead letters are meant. */
export interface FilterOptions {
  readonly reason?: readonly DeadLetterReason[]
  readonly lane?: number
  readonly since?: Date
  readonly until?: Date
  readonly merchant?: string
}
export interface ActOptions extends FilterOptions {
  readonly note?: string
  readonly actor: string
}

const ID = integer(1, Number.MAX_SAFE_INTEGER)
const reasonOf = (text: string, before: readonly DeadLetterReason[] = []): DeadLetterReason[] => {
  const found = DEAD_LETTER_REASONS.find((reason) => reason === text)
  if (found === undefined) throw new InvalidArgumentError(`Allowed choices are ${DEAD_LETTER_REASONS.join(', ')}.`)
  return [...before, found]
}
export const letterId = (text: string) => ID(text)
/** Each once, as they are counted against what was found. */
export const letterIds = (text: string, before: readonly number[] = []) => [...new Set([...before, ID(text)])]

export const takesFilter = (verb: Command) =>
  verb
    .option('--reason <reason>', 'why they are dead letters; may be given several times', reasonOf)
    .option('--lane <lane>', 'of this lane', integer(0, 32_767))
    .option('--since <time>', 'dead letters since then: a time, or how long ago, as 2h', timeOrAgo)
    .option('--until <time>', 'and before then', timeOrAgo)
    .option('--merchant <merchant>', 'of this merchant, where they could be decoded', merchantName)

export const takesAct = (verb: Command) =>
  takesFilter(verb)
    .option('--all', 'all of them')
    .option('--note <text>', 'why; it is kept', shortText)
    .addOption(new Option('--actor <name>', 'who does it; it is kept').argParser(shortText).default(userName()))

export function filterOf(env: NodeJS.ProcessEnv, options: FilterOptions): DeadLetterFilter {
  const { TOPIC_PREFIX } = readConfig({ TOPIC_PREFIX: KAFKA.TOPIC_PREFIX, ...POSTGRES }, env)
  const { reason, lane, since, until, merchant } = options
  const times = { sinceMs: since?.getTime(), untilMs: until?.getTime() }
  return { topic: TOPIC_PREFIX + INPUT_TOPIC, reasons: reason, lane, merchant, ...times }
}

/** What changes many things is never meant by leaving all options out. */
export function chosen(
  env: NodeJS.ProcessEnv,
  ids: readonly number[],
  options: FilterOptions & { readonly all?: boolean },
): DeadLetterFilter {
  const filter = filterOf(env, options)
  const isNarrowed = ['reason', 'lane', 'since', 'until', 'merchant'].some((name) => name in options)
  if (ids.length > 0 && (isNarrowed || options.all === true))
    throw new CliFailure(EXIT.usage, 'Ids and options that choose dead letters do not go together.', 'Give either.')
  if (ids.length === 0 && !isNarrowed && options.all !== true)
    throw new CliFailure(
      EXIT.usage,
      'Nothing says which dead letters are meant.',
      'Give their ids, --reason, --lane, --since, --until or --merchant, or --all.',
    )
  return ids.length > 0 ? { ...filter, ids } : filter
}

/** What changes something says why. */
export function noteOf({ note }: ActOptions): string {
  if (note !== undefined) return note
  throw new CliFailure(EXIT.usage, "required option '--note <text>' not specified", 'Say why; it is kept.')
}
