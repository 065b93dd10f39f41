import type { OffsetReader } from '../runtime/kafka/port.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { inputGroup, ledgerGroup, ledgerMark } from '../schemas/topics.ts'
import { remedyOf } from './halt.ts'
import { listLanes, type LaneRow } from './lane-row.ts'

/** One lane as Postgres and Kafka have it; read without a fence, so Kafka's part may be a moment old. */
export interface LaneStatus {
  readonly lane: number
  readonly row: LaneRow
  readonly groupOffset: number | undefined
  readonly ledger: number | undefined
  /** False: somebody else than a lane set the ledger. */
  readonly hasMark: boolean
  readonly logStart: number
  readonly logEnd: number
  /** Records that are not applied yet. */
  readonly lag: number
  /** Events that are numbered and not emitted yet; undefined: there is no ledger. */
  readonly unemitted: number | undefined
  readonly halted:
    { readonly reason: string; readonly detail: string; readonly atMs: number; readonly remedy: string } | undefined
}

/** @param topic the input topic's full name */
export async function readLaneStatuses(
  db: Queryable,
  offsets: OffsetReader,
  { appId, topic }: { readonly appId: string; readonly topic: string },
): Promise<LaneStatus[]> {
  return Promise.all(
    (await listLanes(db, topic)).map(async (row): Promise<LaneStatus> => {
      const [group, ledger, log] = await Promise.all([
        offsets.committed(inputGroup(appId), topic, row.lane),
        offsets.committed(ledgerGroup(appId), topic, row.lane),
        offsets.logRange(topic, row.lane),
      ])
      return {
        lane: row.lane,
        row,
        groupOffset: group?.offset,
        ledger: ledger?.offset,
        hasMark: ledger !== undefined && ledger.metadata === ledgerMark(ledger.offset),
        logStart: log.start,
        logEnd: log.end,
        lag: Math.max(0, log.end - row.appliedOffset),
        unemitted: ledger === undefined ? undefined : Math.max(0, row.nextSeq - ledger.offset),
        halted: row.halted && { ...row.halted, remedy: remedyOf(row.halted.reason, row.lane) },
      }
    }),
  )
}
