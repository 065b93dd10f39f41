import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { endOfAll, hiddenBehind, tailFrom, type OutputRange } from '../../schemas/output-log.ts'
import { OUTPUT_TOPICS } from '../../schemas/topics.ts'
import { eventPages, type AuditRow } from '../../store/audit-events.ts'
import { FINDINGS, lineOf, NAMELESS, noCounts, type Counts, type Finding } from './finding.ts'
import { isWithin, laneWindow, piecesOf, type LaneWindow, type Undecided, type WindowOptions } from './lane-window.ts'
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
  /** A transaction is open at its end, and does not go away. */
  readonly isHidden: boolean
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
  const seen = createSeen(0, window.nextSeq)
  const scan: TopicScan = { db, readers, window, seen, report: found }
  const topics = new Map<string, TopicState>()
  for (const topic of OUTPUT_TOPICS) {
    const range = { topic, lane, ...(await offsets.logRange(readers.topicPrefix + topic, lane)) }
    const tail = await tailFrom(readers, range, window.lowest)
    topics.set(topic, { range, readFrom: tail.start, isHidden: false, ...(await scanTopic(scan, tail)) })
  }
  let rows = await compareRows(scan, topics)
  // The look for the window's beginning was led astray, or it is really gone: then all of the topic is read.
  if (rows.unread.size > 0) {
    for (const topic of rows.unread) await readRest(scan, topics, topic)
    rows = await compareRows(scan, topics)
  }
  // What stands behind somebody's open transaction is there, and nobody can see it.
  const lacking = new Set(rows.missing.flatMap(({ topic }) => topic ?? []))
  for (const topic of lacking) await readBehind(scan, topics, topic, options)
  if (lacking.size > 0) rows = await compareRows(scan, topics)
  for (const finding of rows.missing) found(finding)
  counts.missing += rows.more
  findings.sort(inOrder)
  const undecided = [...window.undecided, ...rows.undecided]
  const digest = createHash('sha256').update(rows.digest)
  for (const finding of findings) digest.update(`${lineOf(finding)}\n`)
  // Of those that are counted only.
  digest.update(FINDINGS.map((kind) => counts[kind]).join(' '))
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
    ...{ ...state, readFrom: range.start },
    ...{ messages: state.messages + messages, first: first ?? state.first },
  })
}

const HIDDEN_MS_MAX = 10_000
const AGAIN_MS = 200

/** Reads on to what was in the log when this began; a lane's own transactions end within moments. */
async function readBehind(
  scan: TopicScan,
  topics: Map<string, TopicState>,
  topic: string,
  { offsets, readers }: LaneOptions,
): Promise<void> {
  const startedMs = performance.now()
  const { lane } = scan.window
  let target: number | undefined
  for (;;) {
    const state = topics.get(topic)
    if (state === undefined) return
    const { end } = await offsets.logRange(readers.topicPrefix + topic, lane)
    const range = { ...state.range, end }
    const { messages, first } = await scanTopic(scan, { ...range, start: state.range.end })
    target ??= await endOfAll(readers, range)
    const isHidden = end < target
    topics.set(topic, { ...state, range, isHidden, messages: state.messages + messages, first: state.first ?? first })
    if (!isHidden || performance.now() - startedMs > HIDDEN_MS_MAX) return
    await delay(AGAIN_MS)
  }
}

/** Each row of the window: whether its message was seen. */
async function compareRows({ db, readers, window, seen }: TopicScan, topics: ReadonlyMap<string, TopicState>) {
  const digest = createHash('sha256')
  const missing: Finding[] = []
  const unread = new Set<string>()
  const [trimmed, hidden] = [new Map<string, number>(), new Map<string, number>()]
  let [events, more] = [0, 0]
  for await (const page of pagesOf(db, window))
    for (const row of page) {
      if (!isWithin(window, row.laneSeq, row.createdAtMs)) continue
      events += 1
      digest.update(digestLine(row))
      if (seen.has(row.laneSeq)) continue
      const state = topics.get(row.topic)
      if (state !== undefined && state.readFrom > state.range.start) unread.add(row.topic)
      else if (state !== undefined && isTrimmed(state, row.laneSeq))
        trimmed.set(row.topic, (trimmed.get(row.topic) ?? 0) + 1)
      else if (state?.isHidden === true) hidden.set(row.topic, (hidden.get(row.topic) ?? 0) + 1)
      else if (missing.length < NAMED_MAX) missing.push(missingOf(row, window))
      else more += 1
    }
  const { lane } = window
  const undecided = [...trimmed].map(([topic, count]): Undecided => {
    const detail = `${count} events of the window are older than what ${topic} still has`
    return { lane, reason: 'topic_trimmed', detail }
  })
  for (const [topic, count] of hidden) {
    const range = topics.get(topic)?.range ?? { topic, lane, start: 0, end: 0 }
    const detail = `${hiddenBehind(readers, range)}: ${count} events of the window may stand there`
    undecided.push({ lane, reason: 'open_transaction', detail })
  }
  return { events, missing, more, unread, undecided, digest: digest.digest('hex') }
}

async function* pagesOf(db: TopicScan['db'], window: LaneWindow) {
  for (const { from, below } of piecesOf(window)) yield* eventPages(db, window.lane, from, below)
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
