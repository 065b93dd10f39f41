import { parsedMetadata } from './output-marks.ts'
import { isOtherTopic } from './topic-id.ts'

/** Which log an offset of the input group is about: the same offset of another one is another record. */
export interface InputMark {
  /** The topic's id (`OffsetReader.topicIds`); empty: not known. */
  readonly id: string
  /** What the lane's row calls the log (`LaneRow.logId`); empty: it is the first. */
  readonly log: string
}

/** @returns undefined: an older version, or a tool, has set the offset */
export function readInputMark(metadata: string | undefined): InputMark | undefined {
  const { input } = parsedMetadata(metadata ?? '')
  const [id, log] = Array.isArray(input) ? (input as unknown[]) : []
  return typeof id === 'string' && typeof log === 'string' ? { id, log } : undefined
}

/**
 * Why the log that is there now, or the one that Postgres has applied, is not the one that the lane has read.
 * @returns undefined: nothing says so
 */
export function otherInput(mark: InputMark | undefined, now: InputMark): string | undefined {
  if (mark === undefined) return undefined
  if (mark.log !== now.log) return `the lane has read ${nameOf(mark.log)}, and Postgres has applied ${nameOf(now.log)}`
  return isOtherTopic(mark.id, now.id) ? `the input topic had the id ${mark.id}, and has ${now.id}` : undefined
}

const nameOf = (log: string) => (log === '' ? 'the first log' : `the log ${log}`)
