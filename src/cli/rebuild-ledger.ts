import type pg from 'pg'
import type { LaneProducer, OffsetReader } from '../runtime/kafka/port.ts'
import type { Log } from '../runtime/log.ts'
import { createEventReader } from '../schemas/event-reader.ts'
import { ForeignRecord, HiddenRecords, type OutputReaders } from '../schemas/output-log.ts'
import { otherInput, readInputMark } from '../schemas/input-mark.ts'
import { writeMarks } from '../schemas/output-marks.ts'
import { readLedger } from '../store/read-ledger.ts'
import { inputGroup, ledgerGroup, ledgerMark, transactionalId } from '../schemas/topics.ts'
import { isTrueOf, judgeRebuild, lackingIn, type RebuildJudgement } from '../store/judge-rebuild.ts'
import type { LaneRow } from '../store/lane-row.ts'
import { eventAt, lastBelow, rebuildLane } from '../store/rebuild-lane.ts'
import { resumeLane } from '../store/resume-lane.ts'
import { cliLog, readKafka } from './connect.ts'
import type { CliReach, RebuildCrashPoint } from './crash-points.ts'
import { otherLog } from './other-log.ts'
import { eventsBetween, marksNow, rangesOf, readTails } from './output-ends.ts'
import { planSendAgain, sendAgain, type SendAgain } from './send-again.ts'

export interface LedgerRequest {
  readonly row: LaneRow
  readonly reason: string
  readonly actor: string
  readonly isVouched: boolean
  /** Reads the input topic from its first record: it is another one than Postgres has applied. */
  readonly fromStart: boolean
  /** What topics have lost is sent again if it was written since then; undefined: nobody has said. */
  readonly sendAgainSince: Date | undefined
  readonly dryRun: boolean
  readonly reach: CliReach
}

export type RebuildResult =
  | Extract<RebuildJudgement, { kind: 'unproven' }>
  | { readonly kind: 'incomplete'; readonly found: number; readonly wanted: number }
  | { readonly kind: 'foreign'; readonly detail: string }
  /** Topics have lost events, and nobody has said which of them are to be sent again. */
  | { readonly kind: 'lacking'; readonly topics: Readonly<Record<string, number>> }
  /** The end of an output topic cannot be read: somebody's transaction is open. */
  | { readonly kind: 'hidden'; readonly detail: string }
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
      /** By topic, how many events are sent again; of those that have lost any. */
      readonly sentAgain: Readonly<Record<string, number>>
    }

interface Parts {
  readonly pool: pg.Pool
  readonly appId: string
  readonly registryUrl: string
  readonly log: Log
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
    return await rebuildFenced({ pool, appId, registryUrl, log, offsets, readers }, request, producer)
  } catch (error) {
    if (error instanceof ForeignRecord) return { kind: 'foreign', detail: error.message }
    if (error instanceof HiddenRecords) return { kind: 'hidden', detail: error.message }
    if ((error as { type?: unknown }).type === 'INVALID_PRODUCER_EPOCH') return { kind: 'fenced' }
    throw error
  } finally {
    await producer?.close()
    await offsets.close()
    await partitions.close()
  }
}

async function rebuildFenced(
  parts: Parts,
  request: LedgerRequest,
  producer: LaneProducer | undefined,
): Promise<RebuildResult> {
  const { pool, appId, offsets, readers } = parts
  const { row, reason, actor, isVouched, fromStart, sendAgainSince } = request
  const reach = (point: RebuildCrashPoint) => request.reach(point)
  await reach('rebuild_fenced')
  const { topic, lane } = row
  const [group, before, ranges] = [
    await offsets.committed(inputGroup(appId), topic, lane),
    producer === undefined
      ? await offsets.committed(ledgerGroup(appId), topic, lane)
      : await readLedger(producer, offsets, { appId, topic, topicPrefix: readers.topicPrefix, lane }),
    await rangesOf(offsets, readers, lane),
  ]
  const log = await offsets.logRange(topic, lane)
  const inputId = (await offsets.topicIds([topic])).get(topic) ?? ''
  if (!fromStart) {
    const [mark, now] = [readInputMark(group?.metadata), { id: inputId, log: row.logId ?? '' }]
    const said = otherInput(mark, now)
    // A topic that was brought back has another id. Nothing brings back what Postgres has of a log begun since.
    const isLaterLog = mark !== undefined && mark.log !== now.log
    const isDoubtful = group === undefined || said !== undefined
    const other = isLaterLog || !isDoubtful ? said : await otherLog(pool, readers, row, log)
    if (other !== undefined) return { kind: 'other_log', detail: other }
  }
  const tails = await readTails(pool, readers, ranges, row)
  const topicOf = async (laneSeq: number) => (await eventAt(pool, lane, laneSeq))?.topic
  const judged = isTrueOf(row, before)
    ? { kind: 'ledger' as const, ledger: before.offset }
    : await judgeRebuild({ row, ledger: before, tails, isVouched, topicOf })
  if (judged.kind === 'unproven') return judged
  const { ledger } = judged
  const plan = await planSendAgain(
    pool,
    lane,
    lackingIn(tails, await lastBelow(pool, lane, ledger)),
    ledger,
    sendAgainSince,
  )
  const sentAgain = countsOf(plan)
  if (plan.length > 0 && sendAgainSince === undefined) return { kind: 'lacking', topics: sentAgain }
  const result = { ledger, imported: Math.max(0, ledger - row.nextSeq), before: before?.offset, sentAgain }
  const events = eventsBetween(readers, ranges, row.nextSeq, ledger)
  if (producer === undefined) {
    let found = 0
    if (result.imported > 0) for await (const page of events) found += page.length
    if (found < result.imported) return { kind: 'incomplete', found, wanted: result.imported }
    return { kind: 'would_rebuild', ...result }
  }
  const readAnewFrom = fromStart ? log.start : undefined
  await reach('rebuild_judged')
  const change = { row, ledger, events, readAnewFrom, inputId, sentAgain, actor, reason }
  const rebuilt = await rebuildLane(pool, change, (step) =>
    step === 'before_begin' ? undefined : reach(`rebuild_${step}`),
  )
  if (rebuilt.kind === 'ambiguous') return { kind: 'foreign', detail: rebuilt.detail }
  if (rebuilt.kind !== 'rebuilt') return rebuilt
  const at = { topic, partition: lane }
  const written = { ...at, group: ledgerGroup(appId), offset: ledger, metadata: ledgerMark(ledger) }
  await sendAgain(producer, plan, written, { ...parts, topicPrefix: readers.topicPrefix })
  // Without an offset the lane would read its whole log again.
  const offset = readAnewFrom ?? group?.offset ?? row.appliedOffset
  // The topics are what they are now: from here on the lane goes by that.
  const metadata = writeMarks(await marksNow(offsets, readers, lane), { id: inputId, log: rebuilt.logId ?? '' })
  await producer.commit([], [{ ...at, group: inputGroup(appId), offset, metadata }, written], () =>
    reach('rebuild_ledger_sent'),
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

const countsOf = (plan: readonly SendAgain[]) => Object.fromEntries(plan.map(({ topic, events }) => [topic, events]))
