import { delay } from '../runtime/kafka/delay.ts'
import type { FenceProducer, LaneProducer, OffsetReader } from '../runtime/kafka/port.ts'
import type { Log } from '../runtime/log.ts'
import type { CreateConnection } from '../runtime/postgres.ts'
import { readInputMark } from '../schemas/input-mark.ts'
import { adoptIds, readMarks, writeMarks } from '../schemas/output-marks.ts'
import { readLedger } from '../store/read-ledger.ts'
import { INPUT_TOPIC, inputGroup, ledgerGroup, ledgerMark, TOPICS, transactionalId } from '../schemas/topics.ts'
import type { HaltReason } from '../store/halt.ts'
import { haltLane, type LaneRow, type Survived } from '../store/lane-row.ts'
import { OWNER_DEATHS_SUSPECT } from '../store/suspect.ts'
import { brakesOf } from './brakes-of.ts'
import type { Reach } from './crash-points.ts'
import { offsetsOf } from './emit.ts'
import type { Incarnation } from './incarnation.ts'
import { judgeFence, type FenceReading, type Judgement } from './judge-fence.ts'
import { openLaneSession, type LaneSession } from './lane-session.ts'

export interface FenceOptions {
  readonly appId: string
  /** The input topic's full name. */
  readonly topic: string
  readonly topicPrefix: string
  readonly databaseUrl: string
  readonly fenceProducer: FenceProducer
  readonly offsets: OffsetReader
  readonly log: Log
  readonly reach: Reach
  readonly createConnection?: CreateConnection | undefined
}

export interface FenceHooks {
  /** The incarnation's connection is gone. */
  readonly onLost: (error: Error) => void
  /** The lane's row has this fence as its last, whatever becomes of it. */
  readonly onCounted: (fences: number) => void
  /** The row says that this fence's owner has let go: nobody counts it as dead. */
  readonly onLetGo: () => void
}

export type Fenced =
  | {
      readonly kind: 'running'
      readonly incarnation: Incarnation
      /** Events below it are numbered; those from the ledger on are not emitted yet. */
      readonly nextSeq: number
    }
  | { readonly kind: 'halted'; readonly reason: string; readonly detail: string; readonly isNew: boolean }

/** For a moment a new leader may answer with an old high watermark, and a broker with the topics as they were. */
const READ_AGAIN_TIMES = 3
const READ_AGAIN_MS = 500
const READ_AGAIN_REASONS: readonly HaltReason[] = ['applied_above_log', 'input_made_anew', 'output_made_anew']

/**
 * Begins an incarnation: fence, then read, then judge. Reads count only after the fence, as only then nobody older can
 * change them; that of the ledger only with a witness, as a new coordinator may answer with an old one. The row comes
 * first: the witness then proves that nobody has fenced since, and a successor, or a restored Postgres, ends the
 * connection. The other way round a process that froze between the two believed a ledger that had moved since, beside
 * a row that a restore had set back. An old group offset does no harm: more is read again. A lane without a ledger writes
 * it here, before its first batch; a lane that must not go on is halted in its row, and keeps its offsets from expiring.
 * @throws whatever Kafka or Postgres throw: nothing has begun, try again later
 */
export async function fence(
  lane: number,
  joins: number,
  options: FenceOptions,
  hooks: FenceHooks,
  before?: Survived,
): Promise<Fenced> {
  const { appId, topic, databaseUrl, offsets, log, reach } = options
  await reach('fence_before_init')
  const producer = await options.fenceProducer(transactionalId(appId, lane))
  let session: LaneSession | undefined
  try {
    await reach('fence_after_init')
    const { start: startOffset } = await offsets.logRange(topic, lane)
    const { createConnection } = options
    const opened = await openLaneSession(
      { databaseUrl, appId, topic, lane, startOffset, ...hooks, log, before, createConnection },
      reach,
    )
    session = opened.session
    await reach('fence_after_read')
    const [ledger, rest] = await Promise.all([
      readLedger(producer, offsets, { ...options, lane }),
      readTopics(lane, options),
    ])
    await reach('fence_after_offsets')
    const judged = await judgeAgain({ ledger, row: opened.row, ...rest }, () => readTopics(lane, options))
    const fenced = await settle({ lane, joins, producer, session, row: opened.row, ...judged }, options)
    if (fenced.kind === 'halted') await session.close().catch(() => undefined)
    await reach('fence_done')
    return fenced
  } catch (error) {
    producer.close().catch(() => undefined)
    session?.close().catch(() => undefined)
    throw error
  }
}

type TopicIds = Pick<FenceReading, 'inputId' | 'outputIds'>
type TopicsReading = Omit<FenceReading, 'ledger' | 'row'>

/** All that may be old for a moment, when a broker or a coordinator has just taken over. */
async function readTopics(lane: number, options: FenceOptions): Promise<TopicsReading> {
  const { appId, topic, offsets } = options
  const [group, log, ids] = await Promise.all([
    offsets.committed(inputGroup(appId), topic, lane),
    offsets.logRange(topic, lane),
    readTopicIds(options),
  ])
  const { offset: groupOffset, metadata } = group ?? {}
  return { groupOffset, input: readInputMark(metadata), outputs: readMarks(metadata), log, ...ids }
}

/** @throws Error one is not there: somebody may be making it anew just now */
async function readTopicIds({ offsets, topicPrefix }: FenceOptions): Promise<TopicIds> {
  const found = await offsets.topicIds(TOPICS.map((topic) => topicPrefix + topic))
  const ids = TOPICS.map((topic) => {
    const id = found.get(topicPrefix + topic)
    if (id === undefined) throw new Error(`Kafka knows no topic ${topicPrefix}${topic}`)
    return [topic, id] as const
  })
  const outputIds = new Map<string, string>(ids)
  outputIds.delete(INPUT_TOPIC)
  return { inputId: found.get(topicPrefix + INPUT_TOPIC) ?? '', outputIds }
}

/** @returns what was judged with it: the lane goes on by the reading that counts, and commits it */
async function judgeAgain(
  first: FenceReading,
  again: () => Promise<TopicsReading>,
): Promise<{ readonly reading: FenceReading; readonly judgement: Judgement }> {
  let reading = first
  let judgement = judgeFence(reading)
  for (let tries = 0; tries < READ_AGAIN_TIMES; tries++) {
    if (judgement.kind !== 'halt' || !READ_AGAIN_REASONS.includes(judgement.reason)) break
    await delay(READ_AGAIN_MS)
    reading = { ...first, ...(await again()) }
    judgement = judgeFence(reading)
  }
  return { reading, judgement }
}

interface Opened {
  readonly lane: number
  readonly joins: number
  readonly producer: LaneProducer
  readonly session: LaneSession
  readonly row: LaneRow
  readonly reading: FenceReading
  readonly judgement: Judgement
}

async function settle(opened: Opened, { appId, topic, reach }: FenceOptions): Promise<Fenced> {
  const { lane, joins, producer, session, row, reading, judgement } = opened
  if (judgement.kind === 'halt' || judgement.kind === 'still_halted') {
    const { reason, detail } = judgement
    // The witness proves ledger and row, and nothing of what was read after it.
    const nothing = { group: ledgerGroup(appId), topic, partition: lane, offset: row.nextSeq }
    if (judgement.kind === 'halt') await producer.prove(nothing)
    if (judgement.kind === 'halt') await haltLane(session, topic, lane, { reason, detail })
    await keepOffsets(appId, topic, lane, producer, reading)
    await producer.close()
    return { kind: 'halted', reason, detail, isNew: judgement.kind === 'halt' }
  }
  const { next, ledger } = judgement
  const { brakeVersion, hasImported, logId } = row
  const { inputId } = reading
  const position = { topic, lane, next, ledger, brakeVersion, hasImported, logId, inputId }
  const outputs = adoptIds(reading.outputs, reading.outputIds)
  await brakesOf(session, position) // Known from here on, so that no batch asks.
  if (judgement.kind === 'fresh') {
    await reach('fence_before_first_ledger')
    await producer.commit([], offsetsOf(appId, position, next, ledger, outputs))
  }
  return {
    kind: 'running',
    incarnation: {
      joins,
      producer,
      session,
      position,
      outputs,
      suspectUntil: suspectUntil(row, next, reading.log.end),
      skips: row.skips,
    },
    nextSeq: row.nextSeq,
  }
}

/** Commits what was read once more, so that a long halt does not let it expire. What is missing stays missing. */
async function keepOffsets(
  appId: string,
  topic: string,
  lane: number,
  producer: LaneProducer,
  { groupOffset, input, outputs, ledger }: FenceReading,
): Promise<void> {
  const at = { topic, partition: lane }
  const kept = [
    ...(groupOffset === undefined
      ? []
      : [{ ...at, group: inputGroup(appId), offset: groupOffset, metadata: writeMarks(outputs, input) }]),
    ...(ledger?.metadata !== ledgerMark(ledger?.offset ?? -1)
      ? []
      : [{ ...at, group: ledgerGroup(appId), offset: ledger.offset, metadata: ledger.metadata }]),
  ]
  if (kept.length > 0) await producer.commit([], kept)
}

/** A batch holds no more. */
const SUSPECTS_MAX = 1_000

/**
 * What may have killed earlier owners: what they can have had in flight, and what was alone there.
 * @returns the offset after it; undefined: nothing is suspect
 */
function suspectUntil({ ownerDeaths, suspect }: LaneRow, next: number, logEnd: number): number | undefined {
  if (ownerDeaths < OWNER_DEATHS_SUSPECT && suspect === undefined) return undefined
  const until = Math.max(Math.min(logEnd, next + SUSPECTS_MAX), (suspect?.offset ?? -1) + 1)
  return until > next ? until : undefined
}
