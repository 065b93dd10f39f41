import type { Queryable } from '../../runtime/postgres.ts'
import type { SentEvent } from '../../schemas/event-reader.ts'
import { readOutput, type OutputRange, type OutputReaders, type OutputRecord } from '../../schemas/output-log.ts'
import { eventsByNumber, importedAmong, type AuditRow } from '../../store/audit-events.ts'
import { rangeOf } from '../../store/imported-ranges.ts'
import { bounded, NAMELESS, type Finding, type FindingKind } from './finding.ts'
import { keptOf } from './kept-since.ts'
import { isWithin, type LaneWindow } from './lane-window.ts'
import type { Seen } from './seen.ts'

export interface TopicScan {
  readonly db: Queryable
  readonly readers: OutputReaders
  readonly window: LaneWindow
  readonly seen: Seen
  readonly report: (finding: Finding) => void
}

export interface Scanned {
  readonly messages: number
  /** The number of the first event that the range has; undefined: none. */
  readonly first: number | undefined
}

/**
 * Looks at each committed record of a part of a topic: whether Postgres has its event, with that number, id and content,
 * whether it was met before, and whether it stands in its place. What stands there once and rightly is `seen`.
 */
export async function scanTopic(scan: TopicScan, range: OutputRange): Promise<Scanned> {
  const { db, readers } = scan
  const { lane } = range
  let { window } = scan
  let [messages, highest] = [0, -1]
  let first: number | undefined
  for await (const page of readOutput(readers, range)) {
    messages += page.length
    const numbers = page.flatMap(({ read }) => (read.kind === 'event' ? [read.event.laneSeq] : []))
    // In this order: a lane moves a number from the one table to the other.
    const imported = await importedAmong(db, lane, numbers)
    const rows = await eventsByNumber(db, lane, numbers)
    // A day that was dropped meanwhile has taken its rows: they are old, and not unknown.
    if (numbers.some((number) => number >= window.oldest && !rows.has(number) && !imported.has(number)))
      window = { ...window, ...(await keptOf(db, lane, window.nextSeq, window.ranges)) }
    for (const record of page) {
      const judged = judgeRecord(record, range, rows, imported, { ...scan, window }, highest)
      if (judged === undefined) continue
      first ??= judged
      highest = Math.max(highest, judged)
    }
  }
  return { messages, first }
}

/** @returns the number of an event of the lane that Postgres has too */
function judgeRecord(
  { offset, read }: OutputRecord,
  { topic, lane }: OutputRange,
  rows: ReadonlyMap<number, AuditRow>,
  imported: ReadonlySet<number>,
  { window, seen, report }: TopicScan,
  highest: number,
): number | undefined {
  const say = (finding: FindingKind, event: Partial<SentEvent>, detail: string) => {
    const text = (value: string | null | undefined) => (value == null ? null : bounded(value))
    const about = { merchant: text(event.merchant), outTradeNo: text(event.outTradeNo), eventId: text(event.eventId) }
    const place = { kind: text(event.kind), topic, lane, laneSeq: event.laneSeq ?? null, offset }
    report({ ...NAMELESS, finding, in: 'topics', ...about, ...place, detail: bounded(detail) })
  }
  if (read.kind === 'unreadable') {
    say('extra', {}, `no event of a lane: ${read.detail}`)
    return undefined
  }
  const { event } = read
  const { laneSeq } = event
  const row = rows.get(laneSeq)
  if (event.lane !== lane) say('extra', event, `it says lane ${event.lane}`)
  else if (row === undefined) {
    const isOld = laneSeq >= 0 && laneSeq < window.oldest && highest < window.oldest
    // It is out, and a rebuild will tell Postgres of it: `postgres_set_back`.
    const isSetBack = laneSeq >= window.nextSeq && laneSeq < window.outBelow
    if (imported.has(laneSeq)) {
      const atMs = rangeOf(window.ranges, laneSeq)?.atMs ?? NaN
      const isFirst = isWithin(window, laneSeq, atMs) && seen.add(laneSeq)
      if (isFirst && !window.isCatchingUp) say('extra', event, OUT_ALREADY)
    } else if (!isOld && !isSetBack) say('extra', event, 'Postgres has no event with this number')
  } else if (row.eventId !== event.eventId || row.topic !== topic) {
    say('extra', event, `number ${laneSeq} is ${row.eventId} in ${row.topic}`)
  } else {
    judgeEvent(event, row, { window, seen, highest }, (finding, detail) => say(finding, event, detail))
    return laneSeq
  }
  return undefined
}

const OUT_ALREADY = 'it went out before Postgres was set back, and nothing has caused it again'

function judgeEvent(
  event: SentEvent,
  row: AuditRow,
  { window, seen, highest }: Pick<TopicScan, 'window' | 'seen'> & { readonly highest: number },
  say: (finding: FindingKind, detail: string) => void,
): void {
  const { laneSeq } = event
  if (!isWithin(window, laneSeq, row.createdAtMs)) {
    // Older than the window, and behind what is younger: it is not in its place.
    if (laneSeq < highest && laneSeq < window.from) say('late', `it stands behind number ${highest}`)
    return
  }
  if (!seen.add(laneSeq)) {
    say('duplicate', 'the topic has it more than once')
    return
  }
  if (laneSeq < highest) say('late', `it stands behind number ${highest}`)
  const money = differences(event, row, ['amountMinor', 'currency', 'paymentRef'])
  const other = differences(event, row, ['kind', 'merchant', 'sequence', 'cause'])
  if (money !== '') say('amount_mismatch', money)
  else if (other !== '') say('extra', `its content is another's: ${other}`)
  else if (event.outTradeNo !== null && event.outTradeNo !== row.key) say('extra', `it is about ${row.key}`)
}

/** A notice has no such field where its message has none. */
function differences(event: SentEvent, row: AuditRow, fields: readonly (keyof SentEvent & keyof AuditRow)[]): string {
  return fields
    .filter((field) => event[field] !== null || (row[field] !== null && row.sequence !== null))
    .filter((field) => String(event[field]) !== String(row[field]))
    .map((field) => `${field} is ${String(event[field])}, in Postgres ${String(row[field])}`)
    .join('; ')
}
