import { ledgerMark } from '../schemas/topics.ts'
import type { HaltReason } from './halt.ts'
import type { LaneRow } from './lane-row.ts'

/** The halts that a rebuild answers. */
export const REBUILT_REASONS: readonly HaltReason[] = [
  'ledger_above_counter',
  'ledger_below_settled',
  'ledger_missing',
  'ledger_without_mark',
  'offsets_missing',
  'input_made_anew',
  'output_made_anew',
]

/** At the fence they come before what is judged of the ledger, or after it: they say nothing about it. */
const OF_TOPICS: readonly string[] = ['input_made_anew', 'output_made_anew'] satisfies HaltReason[]

/** The end of what a lane emitted to one topic. */
export interface Tail {
  readonly topic: string
  readonly start: number
  readonly end: number
  /** The number of its last committed event; undefined: it holds none. */
  readonly last: number | undefined
  /** The last number that it is known to have held: of a settled event in Postgres. */
  readonly held: number | undefined
}

export interface RebuildReading {
  readonly row: { readonly nextSeq: number; readonly settledSeq: number }
  /** As the ledger's group has it. */
  readonly ledger: { readonly offset: number; readonly metadata: string } | undefined
  readonly tails: readonly Tail[]
  /** A person vouches that Postgres has all that the lane ever numbered. */
  readonly isVouched: boolean
  /** The topic of the event that Postgres has with a number; undefined: none. */
  readonly topicOf: (laneSeq: number) => Promise<string | undefined>
}

export type RebuildJudgement =
  | { readonly kind: 'ledger'; readonly ledger: number }
  /** The end of what was emitted to these topics is gone, so that nobody can tell what it was. */
  | { readonly kind: 'unproven'; readonly atLeast: number; readonly topics: readonly string[] }

/**
 * What has been emitted, from the topics: the greater of `settled_seq` and 1 + the highest number that is committed. A
 * ledger with its mark was true once, so it is a lower bound too; above the counter it is the truth, as only a lane
 * raises it.
 */
export async function judgeRebuild({
  row,
  ledger,
  tails,
  isVouched,
  topicOf,
}: RebuildReading): Promise<RebuildJudgement> {
  const marked = ledger !== undefined && ledger.metadata === ledgerMark(ledger.offset) ? ledger.offset : 0
  const seen = tails.reduce((most, { last }) => Math.max(most, (last ?? -1) + 1), Math.max(row.settledSeq, marked))
  const doubtful = tails.filter(isDoubtful).map(({ topic }) => topic)
  if (doubtful.length === 0) return { kind: 'ledger', ledger: seen }
  if (marked === seen && marked > row.nextSeq) return { kind: 'ledger', ledger: seen }
  const unproven = { kind: 'unproven', atLeast: seen, topics: doubtful } as const
  if (!isVouched || seen > row.nextSeq) return unproven
  // Events go out in the order of their numbers: if this one is not out, though its topic is whole, no later one is.
  if (seen === row.nextSeq) return { kind: 'ledger', ledger: seen }
  const topic = await topicOf(seen)
  return topic === undefined || doubtful.includes(topic) ? unproven : { kind: 'ledger', ledger: seen }
}

/** Whether nothing speaks against a ledger of a lane that was halted for its topics' sake: then it is the truth. */
export const isTrueOf = (
  { halted, nextSeq, settledSeq }: Pick<LaneRow, 'halted' | 'nextSeq' | 'settledSeq'>,
  ledger: RebuildReading['ledger'],
): ledger is NonNullable<RebuildReading['ledger']> =>
  OF_TOPICS.includes(halted?.reason ?? '') &&
  ledger !== undefined &&
  ledger.metadata === ledgerMark(ledger.offset) &&
  settledSeq <= ledger.offset &&
  ledger.offset <= nextSeq

/** A topic that is not the one the lane wrote to, or has lost its end. */
export interface Lacking {
  readonly topic: string
  /** The number of its last event; -1: it has none. What is above, and out, it has not. */
  readonly after: number
}

/**
 * What must have been in the topics and is not there. Where retention has emptied one there is nothing to be said: its
 * log begins where it ends.
 * @param held the last number of each topic's events that are out
 */
export const lackingIn = (tails: readonly Tail[], held: ReadonlyMap<string, number>): Lacking[] =>
  tails.flatMap(({ topic, start, last }) => {
    const isTrimmed = last === undefined && start > 0
    return isTrimmed || (held.get(topic) ?? -1) <= (last ?? -1) ? [] : [{ topic, after: last ?? -1 }]
  })

/** Retention has emptied it, or it was made anew: it held later events than those that it has. */
const isDoubtful = ({ end, last, held }: Tail) =>
  last === undefined ? end > 0 || held !== undefined : held !== undefined && last < held
