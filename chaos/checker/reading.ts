import { createHash } from 'node:crypto'
import { decoder, type Callback, type Message } from './avro.ts'
import type { Capture, SentLine, TopicRecord } from './capture.ts'

/** A capture, read once for all oracles. */
export interface Reading extends Capture {
  readonly sent: readonly SentLine[]
  /** Deliveries by what tells them apart. */
  readonly sentBy: ReadonlyMap<string, readonly SentLine[]>
  readonly callbacks: readonly ReadCallback[]
  /** Records of the input that no schema reads. */
  readonly unreadable: readonly TopicRecord[]
  readonly messages: readonly ReadMessage[]
  readonly probed: readonly ReadMessage[]
}
export interface ReadCallback {
  readonly record: TopicRecord
  readonly callback: Callback
  readonly requestSha256: string
}
export interface ReadMessage {
  readonly record: TopicRecord
  /** Without the installation's prefix. */
  readonly topic: string
  readonly message: Message
}

/** Something that is not as it must be. */
export interface Violation {
  readonly clause: string
  readonly what: string
}
export interface Finding {
  /** How many things were looked at. */
  readonly examined: number
  readonly violations: readonly Violation[]
  /** What would have been one, had there been no good reason for it: by the reason, how often. */
  readonly excused?: Readonly<Record<string, number>>
}
export interface Oracle {
  readonly id: string
  readonly about: string
  /** What it can report. */
  readonly clauses: readonly string[]
  readonly check: (reading: Reading) => Finding | Promise<Finding>
}

const SIGNATURE_HEADERS = ['wechatpay-signature', 'stripe-signature', 'webhook-signature']

export function read(capture: Capture): Reading {
  const decode = decoder(capture)
  const callbacks: ReadCallback[] = []
  const unreadable: TopicRecord[] = []
  for (const record of capture.input) {
    const callback = decode.callback(record)
    if (callback === undefined) unreadable.push(record)
    else callbacks.push({ record, callback, requestSha256: requestSha256(callback) })
  }
  const messagesIn = (records: readonly TopicRecord[]) =>
    records.map((record): ReadMessage => {
      const message = decode.message(record)
      const topic = record.topic.slice(capture.about.topicPrefix.length)
      return { record, topic, message: message ?? { eventId: '', lane: -1, laneSeq: -1, occurredAtMs: 0 } }
    })
  const sent = capture.log.filter(
    (line): line is SentLine => line.line === 'delivery' || line.line === 'notice' || line.line === 'report',
  )
  return {
    ...capture,
    ...{ sent, callbacks, unreadable },
    sentBy: Map.groupBy(sent, (line) => line.requestSha256 ?? ''),
    messages: messagesIn(capture.output),
    probed: messagesIn(capture.probe),
  }
}

function requestSha256({ rawBody, rawHeaders }: Callback): string {
  const signature = SIGNATURE_HEADERS.map((name) => rawHeaders[name] ?? '').join('')
  return createHash('sha256').update(rawBody).update('\0').update(signature).digest('hex')
}

export const placeOf = ({ topic, partition, offset }: Pick<TopicRecord, 'topic' | 'partition' | 'offset'>) =>
  `${topic}-${partition}@${offset}`
export const nameOf = ({ merchant, outTradeNo }: { merchant?: string; outTradeNo?: string | null }) =>
  `${merchant ?? ''}/${outTradeNo ?? ''}`
