import type pg from 'pg'
import type { LaneProducer, OffsetReader } from '../runtime/kafka/port.ts'
import { createEventReader } from '../schemas/event-reader.ts'
import {
  eventOf,
  ForeignRecord,
  lastEvent,
  readOutput,
  tailFrom,
  type OutputRange,
  type OutputReaders,
} from '../schemas/output-log.ts'
import { inputGroup, ledgerGroup, ledgerMark, OUTPUT_TOPICS, transactionalId } from '../schemas/topics.ts'
import { judgeRebuild, type RebuildJudgement, type Tail } from '../store/judge-rebuild.ts'
import type { LaneRow } from '../store/lane-row.ts'
import { anAppliedRecord, lastSettled, rebuildLane, topicOfEvent, type ImportedEvent } from '../store/rebuild-lane.ts'
import { resumeLane } from '../store/resume-lane.ts'
import { cliLog, readKafka } from './connect.ts'
import type { CliReach, RebuildCrashPoint } from './crash-points.ts'

export interface LedgerRequest {
  readonly row: LaneRow
  readonly reason: string
  readonly actor: string
  readonly isVouched: boolean
  /** Reads the input topic from its first record: it is another one than Postgres has applied. */
  readonly fromStart: boolean
  readonly dryRun: boolean
  readonly reach: CliReach
}

export type RebuildResult =
  | Extract<RebuildJudgement, { kind: 'unproven' }>
  | { readonly kind: 'incomplete'; readonly found: number; readonly wanted: number }
  | { readonly kind: 'foreign'; readonly detail: string }
  | { readonly kind: 'changed' }
  /** A newer producer has the lane: an owner has fenced since. */
  | { readonly kind: 'fenced' }
  /** Nothing shows that the input topic is the one that Postgres has applied. */
  | { readonly kind: 'other_log'; readonly detail: string }
  | {
      readonly kind: 'rebuilt' | 'would_rebuild'
      readonly ledger: number
      readonly imported: number
      /** What stood in the ledger's group. */
      readonly before: number | undefined
    }

interface Parts {
  readonly pool: pg.Pool
  readonly appId: string
  readonly offsets: OffsetReader
  readonly readers: OutputReaders
}

/**
 * Fences the lane, reads from its partition of the output topics what was emitted, brings Postgres up to it, and writes
 * the ledger: in this order, so that a run that dies may run again. The lane is halted meanwhile, so no owner writes;
 * one that fences in between makes the last step fail, and nothing is wrong. A dry run does not fence.
 */
export async function rebuildLedger(
  pool: pg.Pool,
  env: NodeJS.ProcessEnv,
  config: { readonly APP_ID: string; readonly SCHEMA_REGISTRY_URL: string },
  request: LedgerRequest,
): Promise<RebuildResult> {
  const { settings, topicPrefix } = await readKafka(env)
  const log = cliLog(env)
  const { createOffsetReader } = await import('../runtime/kafka/offset-reader.ts')
  const { createPartitionReader } = await import('../runtime/kafka/partition-reader.ts')
  const { createFenceProducer } = await import('../runtime/kafka/fence-producer.ts')
  const { APP_ID: appId, SCHEMA_REGISTRY_URL: registryUrl } = config
  const partitions = createPartitionReader(settings, log)
  const offsets = await createOffsetReader(settings, log)
  const readers = { partitions, events: createEventReader(registryUrl, topicPrefix), topicPrefix }
  let producer: LaneProducer | undefined
  const reach = (point: RebuildCrashPoint) => request.reach(point)
  try {
    await reach('rebuild_before_fence')
    if (!request.dryRun)
      producer = await createFenceProducer(settings, log).fence(transactionalId(appId, request.row.lane))
    return await rebuildFenced({ pool, appId, offsets, readers }, request, producer)
  } catch (error) {
    if (error instanceof ForeignRecord) return { kind: 'foreign', detail: error.message }
    if ((error as { type?: unknown }).type === 'INVALID_PRODUCER_EPOCH') return { kind: 'fenced' }
    throw error
  } finally {
    await producer?.close()
    await offsets.close()
    await partitions.close()
  }
}

async function rebuildFenced(
  { pool, appId, offsets, readers }: Parts,
  request: LedgerRequest,
  producer: LaneProducer | undefined,
): Promise<RebuildResult> {
  const { row, reason, actor, isVouched, fromStart } = request
  const reach = (point: RebuildCrashPoint) => request.reach(point)
  await reach('rebuild_fenced')
  const { topic, lane } = row
  const [group, before, ranges] = [
    await offsets.committed(inputGroup(appId), topic, lane),
    await offsets.committed(ledgerGroup(appId), topic, lane),
    await rangesOf(offsets, readers, lane),
  ]
  const log = await offsets.logRange(topic, lane)
  if (group === undefined && !fromStart) {
    const other = await otherLog(pool, readers, row, log)
    if (other !== undefined) return { kind: 'other_log', detail: other }
  }
  const tails = await readTails(readers, ranges, await lastSettled(pool, row))
  const topicOf = (laneSeq: number) => topicOfEvent(pool, lane, laneSeq)
  const judged = await judgeRebuild({ row, ledger: before, tails, isVouched, topicOf })
  if (judged.kind === 'unproven') return judged
  const { ledger } = judged
  const result = { ledger, imported: Math.max(0, ledger - row.nextSeq), before: before?.offset }
  const events = eventsBetween(readers, ranges, row.nextSeq, ledger)
  if (producer === undefined) {
    let found = 0
    if (result.imported > 0) for await (const page of events) found += page.length
    if (found < result.imported) return { kind: 'incomplete', found, wanted: result.imported }
    return { kind: 'would_rebuild', ...result }
  }
  const readAnewFrom = fromStart ? log.start : undefined
  await reach('rebuild_judged')
  const rebuilt = await rebuildLane(pool, { row, ledger, events, readAnewFrom, actor, reason }, (step) =>
    step === 'before_begin' ? undefined : reach(`rebuild_${step}`),
  )
  if (rebuilt.kind === 'ambiguous') return { kind: 'foreign', detail: rebuilt.detail }
  if (rebuilt.kind !== 'rebuilt') return rebuilt
  const at = { topic, partition: lane }
  await producer.commit(
    [],
    [
      // Else only where there is none: without it the lane would read its whole log again.
      ...(group === undefined || fromStart
        ? [{ ...at, group: inputGroup(appId), offset: readAnewFrom ?? row.appliedOffset }]
        : []),
      { ...at, group: ledgerGroup(appId), offset: ledger, metadata: ledgerMark(ledger) },
    ],
    () => reach('rebuild_ledger_sent'),
  )
  await reach('rebuild_ledger_committed')
  // Somebody else may have let it go on since; what has halted it then is no matter of its ledger.
  const resumed = await resumeLane(pool, appId, { topic, lane, actor, reason, haltedBy: row.halted?.reason }, (step) =>
    step === 'before_commit' || step === 'commit_sent' ? reach(`rebuild_resume_${step}`) : undefined,
  )
  if (resumed.kind === 'other_halt') return { kind: 'changed' }
  await reach('rebuild_resumed')
  return { kind: 'rebuilt', ...result }
}

/**
 * Kafka forgets a group's offsets with the topic. One that was made anew ends before `applied_offset` at first, and after
 * it later: going on there would pass over records in silence.
 * @returns undefined: the topic has a record that Postgres has applied, at its place
 */
async function otherLog(
  pool: pg.Pool,
  { partitions }: OutputReaders,
  row: LaneRow,
  { start, end }: { readonly start: number; readonly end: number },
): Promise<string | undefined> {
  if (row.appliedOffset === row.startOffset && row.appliedOffset <= end) return undefined
  if (row.appliedOffset > end) return `${row.topic} ${row.lane} ends at ${end}, and ${row.appliedOffset} is applied`
  const applied = await anAppliedRecord(pool, row, start)
  if (applied === undefined) return `no record of ${row.topic} ${row.lane} is known to be one that was applied`
  const { records } = await partitions.read(row.topic, row.lane, applied.offset)
  const key = records.find(({ offset }) => offset === applied.offset)?.key?.toString()
  if (key === applied.outTradeNo) return undefined
  return `offset ${applied.offset} of ${row.topic} ${row.lane} was about ${applied.outTradeNo}, and is about ${key ?? 'nothing'}`
}

const rangesOf = (offsets: OffsetReader, { topicPrefix }: OutputReaders, lane: number): Promise<OutputRange[]> =>
  Promise.all(
    OUTPUT_TOPICS.map(async (topic) => ({ topic, lane, ...(await offsets.logRange(topicPrefix + topic, lane)) })),
  )

async function readTails(
  readers: OutputReaders,
  ranges: readonly OutputRange[],
  held: ReadonlyMap<string, number>,
): Promise<Tail[]> {
  const tails: Tail[] = []
  for (const range of ranges) {
    const { topic, start, end } = range
    tails.push({ topic, start, end, last: (await lastEvent(readers, range))?.laneSeq, held: held.get(topic) })
  }
  return tails
}

async function* eventsBetween(
  readers: OutputReaders,
  ranges: readonly OutputRange[],
  from: number,
  below: number,
): AsyncGenerator<readonly ImportedEvent[]> {
  for (const range of ranges)
    for await (const page of readOutput(readers, await tailFrom(readers, range, from)))
      yield page.map((record) => eventOf(record, range)).filter(({ laneSeq }) => laneSeq >= from && laneSeq < below)
}
