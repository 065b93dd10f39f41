import { createHash } from 'node:crypto'
import { tailFrom, type OutputRange } from '../../schemas/output-log.ts'
import { OUTPUT_TOPICS } from '../../schemas/topics.ts'
import { eventPages, type AuditRow } from '../../store/audit-events.ts'
import { lineOf, NAMELESS, noCounts, type Counts, type Finding } from './finding.ts'
import { laneWindow, type LaneWindow, type Undecided, type WindowOptions } from './lane-window.ts'
import { scanTopic, type Scanned, type TopicScan } from './scan-topic.ts'
import { createSeen } from './seen.ts'

export type LaneOptions = Omit<WindowOptions, 'db'> & Pick<TopicScan, 'db' | 'readers'>

/** What a lane came to. */
export interface LaneReport {
  readonly lane: number
  /** The numbers that were judged: from, inclusive, below, exclusive. */
  readonly from: number
  readonly below: number
  readonly events: number
  readonly messages: number
  readonly counts: Counts
  readonly undecided: readonly Undecided[]
  readonly keptSinceMs: number | null
  readonly digest: string
}

/** Of one lane; what is more is counted only. */
const NAMED_MAX = 2_000

/** One topic of the lane, and how far down it was read. */
interface TopicState extends Scanned {
  readonly range: OutputRange
  readonly readFrom: number
}

/**
 * Compares the events of a lane with its partition of the output topics. Memory: a page of each side, and one bit per
 * event.
 */
export async function auditLane(
  lane: number,
  options: LaneOptions,
): Promise<{ readonly report: LaneReport; readonly findings: readonly Finding[] }> {
  const { db, readers, offsets } = options
  const window = await laneWindow(lane, options)
  const counts = noCounts()
  const findings: Finding[] = []
  const found = (finding: Finding) => {
    counts[finding.finding] += 1
    if (findings.length < NAMED_MAX) findings.push(finding)
  }
  const seen = createSeen(window.from, window.below)
  const scan: TopicScan = { db, readers, window, seen, report: found }
  const topics = new Map<string, TopicState>()
  for (const topic of OUTPUT_TOPICS) {
    const range = { topic, lane, ...(await offsets.logRange(readers.topicPrefix + topic, lane)) }
    const tail = await tailFrom(readers, range, window.from)
    topics.set(topic, { range, readFrom: tail.start, ...(await scanTopic(scan, tail)) })
  }
  let rows = await compareRows(scan, topics)
  // The look for the window's beginning was led astray, or it is really gone: then all of the topic is read.
  if (rows.unread.size > 0) {
    for (const topic of rows.unread) await readRest(scan, topics, topic)
    rows = await compareRows(scan, topics)
  }
  for (const finding of rows.missing) found(finding)
  counts.missing += rows.more
  findings.sort(inOrder)
  const undecided = [...window.undecided, ...rows.trimmed]
  const digest = createHash('sha256').update(rows.digest)
  for (const finding of findings) digest.update(`${lineOf(finding)}\n`)
  const messages = [...topics.values()].reduce((sum, scanned) => sum + scanned.messages, 0)
  const { from, below, keptSinceMs = null } = window
  const report = { lane, from, below, events: rows.events, messages, counts, undecided, keptSinceMs }
  return { report: { ...report, digest: digest.digest('hex') }, findings }
}

async function readRest(scan: TopicScan, topics: Map<string, TopicState>, topic: string): Promise<void> {
  const state = topics.get(topic)
  if (state === undefined) return
  const { range, readFrom } = state
  const { messages, first } = await scanTopic(scan, { ...range, end: readFrom })
  topics.set(topic, {
    ...{ range, readFrom: range.start },
    ...{ messages: state.messages + messages, first: first ?? state.first },
  })
}

/** Each row of the window: whether its message was seen. */
async function compareRows({ db, window, seen }: TopicScan, topics: ReadonlyMap<string, TopicState>) {
  const digest = createHash('sha256')
  const missing: Finding[] = []
  const unread = new Set<string>()
  const trimmed = new Map<string, number>()
  let [events, more] = [0, 0]
  for await (const page of eventPages(db, window.lane, window.from, window.below))
    for (const row of page) {
      events += 1
      digest.update(digestLine(row))
      if (seen.has(row.laneSeq)) continue
      const state = topics.get(row.topic)
      if (state !== undefined && state.readFrom > state.range.start) unread.add(row.topic)
      else if (state !== undefined && isTrimmed(state, row.laneSeq))
        trimmed.set(row.topic, (trimmed.get(row.topic) ?? 0) + 1)
      else if (missing.length < NAMED_MAX) missing.push(missingOf(row, window))
      else more += 1
    }
  const undecided = [...trimmed].map(([topic, count]): Undecided => {
    const detail = `${count} events of the window are older than what ${topic} still has`
    return { lane: window.lane, reason: 'topic_trimmed', detail }
  })
  return { events, missing, more, unread, trimmed: undecided, digest: digest.digest('hex') }
}

/** Retention removes a log's beginning, and nothing else. */
const isTrimmed = ({ range, first }: TopicState, laneSeq: number) =>
  range.start > 0 && (first === undefined || laneSeq < first)

const missingOf = (row: AuditRow, { lane }: LaneWindow): Finding => ({
  ...NAMELESS,
  ...{ finding: 'missing', in: 'topics', merchant: row.merchant, outTradeNo: row.key, eventId: row.eventId },
  ...{
    kind: row.kind,
    topic: row.topic,
    lane,
    laneSeq: row.laneSeq,
    detail: 'it was emitted, and the topic has it not',
  },
})

const digestLine = (row: AuditRow) =>
  `${row.laneSeq} ${row.topic} ${row.eventId} ${row.kind} ${row.amountMinor ?? '-'} ${row.currency ?? '-'} ${JSON.stringify(row.key)}\n`

function inOrder(a: Finding, b: Finding): number {
  return (a.laneSeq ?? -1) - (b.laneSeq ?? -1) || compare(lineOf(a), lineOf(b)) || (a.offset ?? -1) - (b.offset ?? -1)
}
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
