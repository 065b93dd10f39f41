import type { InputMark } from './input-mark.ts'
import { isKnownId, isOtherTopic } from './topic-id.ts'
import { OUTPUT_TOPICS } from './topics.ts'

/** What a lane knows of its partition of an output topic, to which nobody else writes. */
export interface OutputMark {
  /** The topic's id (`OffsetReader.topicIds`); empty: not known. */
  readonly id: string
  /** The offset after the lane's last event; 0: not known. */
  readonly end: number
}
/** By topic, without the installation's prefix. What is not known has none. */
export type OutputMarks = ReadonlyMap<string, OutputMark>

/** A topic lies elsewhere than the lane left it: it was made anew, or has lost its end. Nothing was committed. */
export class OutputMoved extends Error {
  override readonly name = 'OutputMoved'
}

/**
 * The metadata of the input group's offset: committed with the events themselves, so that it is true of all that are
 * out, whatever becomes of Postgres; and a request that is made anyway. The ledger's own metadata stays as it is, as an
 * owner of an older version takes another one for a tool's.
 */
export const writeMarks = (marks: OutputMarks, input?: InputMark): string =>
  JSON.stringify({
    outputs: Object.fromEntries([...marks].map(([topic, { id, end }]) => [topic, [id, end]])),
    ...(input === undefined ? {} : { input: [input.id, input.log] }),
  })

/** @returns nothing where there are none: an older version, or a tool, has set the offset */
export function readMarks(metadata: string | undefined): OutputMarks {
  const marks = new Map<string, OutputMark>()
  const { outputs } = parsedMetadata(metadata ?? '')
  for (const topic of OUTPUT_TOPICS) {
    const [id, end] = Array.isArray(outputs?.[topic]) ? (outputs[topic] as unknown[]) : []
    if (typeof id === 'string' && Number.isSafeInteger(end)) marks.set(topic, { id, end: end as number })
  }
  return marks
}

export function parsedMetadata(metadata: string): {
  readonly outputs?: Readonly<Record<string, unknown>>
  readonly input?: unknown
} {
  try {
    const found: unknown = JSON.parse(metadata)
    return typeof found === 'object' && found !== null ? found : {}
  } catch {
    return {}
  }
}

/** What is known, with the ids as they are now where there was none. */
export function adoptIds(marks: OutputMarks, ids: ReadonlyMap<string, string>): OutputMarks {
  return new Map(
    [...ids].map(([topic, id]) => {
      const { id: before = '', end = 0 } = marks.get(topic) ?? {}
      return [topic, { id: isKnownId(before) ? before : id, end }]
    }),
  )
}

/** The topics that are not those that the lane wrote to, and how that shows; none where nothing is known. */
export function madeAnew(marks: OutputMarks, ids: ReadonlyMap<string, string>): readonly string[] {
  return [...marks].flatMap(([topic, { id }]) => {
    const now = ids.get(topic) ?? ''
    return isOtherTopic(id, now) ? [`${topic} had the id ${id}, and has ${now}`] : []
  })
}

/**
 * The marks after produce calls that were acknowledged.
 * @param sent topics without prefix, in the order of the calls
 * @throws OutputMoved one lies below what lay there before: the end of a log never falls
 */
export function marksAfter(
  marks: OutputMarks,
  sent: readonly { readonly topic: string; readonly baseOffset: number; readonly count: number }[],
): OutputMarks {
  if (sent.length === 0) return marks
  const after = new Map(marks)
  for (const { topic, baseOffset, count } of sent) {
    const { id = '', end = 0 } = after.get(topic) ?? {}
    if (baseOffset < 0) continue // The broker does not say.
    if (baseOffset < end) throw new OutputMoved(`${topic} took an event at offset ${baseOffset}, and had ${end} before`)
    after.set(topic, { id, end: baseOffset + count })
  }
  return after
}
