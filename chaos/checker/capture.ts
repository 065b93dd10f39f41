/**
 * What a run left behind, as others told it: the senders their log, Kafka's Java tools the topics and segments, `psql`
 * the tables. Nothing here knows the product's code; names of fields are those of the files.
 */

/** What a callback proves, by its sender's own knowledge. */
export interface Fact {
  readonly eventType: string
  readonly providerRef: string
  readonly paymentRef: string | null
  readonly amountMinor: number
  readonly currency: string
  readonly amountKind: string
  readonly eventTimeMs: number
}

interface Answered {
  readonly merchant: string
  readonly outTradeNo: string
  readonly atMs: number
  readonly latencyMs: number
}
export interface OrderLine extends Answered {
  readonly line: 'order'
  readonly amountMinor: number
  readonly currency: string
  readonly heard: 'created' | 'refused' | 'unknown'
}
export interface CloseLine extends Answered {
  readonly line: 'close'
  readonly heard: 'closed' | 'refused' | 'unknown'
}
export interface SentLine extends Answered {
  readonly line: 'delivery' | 'notice' | 'report'
  readonly provider: string
  readonly defect: string
  readonly gateway: string
  readonly status: number | null
  readonly heard: 'success' | 'failure' | 'wrong_form' | 'no_answer'
  readonly facts?: readonly (Fact & { readonly outTradeNo: string })[]
  readonly isSlow?: boolean
  /** Content type and body. */
  readonly answer?: string
  /** Of the body, a zero byte, and the value of the signature header if there is one. */
  readonly requestSha256?: string
}
/** A question that a provider was asked, and what it answered. */
export interface QueryLine {
  readonly line: 'query'
  readonly provider: string
  readonly atMs: number
  readonly latencyMs: number
  /** Method and address. */
  readonly asked: string
  readonly status: number | null
}
export type LogLine = OrderLine | CloseLine | SentLine | QueryLine

/** A record as Kafka's Java client saw it; the value is base64. */
export interface TopicRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly timestampMs: number
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly value: string | null
}

/** A batch of a segment, as DumpLogSegments prints it. */
export interface Batch {
  readonly node: string
  readonly topic: string
  readonly partition: number
  readonly baseOffset: number
  readonly lastOffset: number
  readonly producerId: number
  readonly epoch: number
  readonly isTransactional: boolean
  readonly marker: 'COMMIT' | 'ABORT' | null
  readonly crc: number
  /** In `__consumer_offsets`: what was committed. */
  readonly commits: readonly { group: string; topic: string; partition: number; offset: number; metadata: string }[]
}

/** Where a lane stands, by Kafka's own tools. */
export interface Place {
  readonly partition: number
  readonly input: number | null
  readonly ledger: number | null
}
export interface LogEnd {
  readonly topic: string
  readonly partition: number
  readonly end: number
  /** What read_committed consumers may read up to. */
  readonly stableEnd: number
}

/** One line of the log of faults. */
export interface FaultLine {
  readonly kind: string
  readonly target: string
  readonly fromMs: number
  readonly untilMs: number
  readonly observed: string | null
  /** From the heal until every lane was read and emitted; null: it was not measured. */
  readonly recoveryMs?: number | null
  /** Whether the gateways were stopped, or what they talk to held up. */
  readonly hinders?: readonly string[]
  /** Records that were written on purpose and cannot be read. */
  readonly poison?: readonly { readonly partition: number; readonly offset: number }[]
  /** What an operator did that must leave a row. */
  readonly actions?: readonly string[]
}

/** A row as Postgres made JSON of it. */
export type Row = Readonly<Record<string, unknown>>
export const TABLES = [
  ...['orders', 'facts', 'events', 'anomalies', 'dead_letters', 'lanes', 'commands', 'operator_actions'],
  ...['waiting_events', 'deliveries'],
] as const
export type TableName = (typeof TABLES)[number]

export interface About {
  readonly appId: string
  readonly topicPrefix: string
  readonly partitions: number
  readonly limits: {
    readonly answerMsMax: number
    readonly recoveryMsP95: number
    readonly samplesMax: Readonly<Record<Bounded, number>>
    readonly rssBytesPerMinMax: number
  }
  /** By the server's own word. */
  readonly postgresVersion: string
}

/** Something of a process or a lane that may not grow without end. */
export type Bounded = 'rss_bytes' | 'handles' | 'in_flight' | 'unsent' | 'pool_used' | 'pool_waiting'
/** Success answers of one life of a gateway by its own clock: all, and those later than 4 s. */
export type Counted = 'success_timed' | 'success_late'
export interface Sample {
  readonly name: string
  readonly what: Bounded | Counted
  readonly value: number
  readonly atMs: number
  /** Of the process that it was then. */
  readonly pid?: number
}

export interface Capture {
  readonly about: About
  readonly log: readonly LogLine[]
  readonly faults: readonly FaultLine[]
  readonly input: readonly TopicRecord[]
  /** Every output topic at the end, read_committed. */
  readonly output: readonly TopicRecord[]
  /** What a consumer saw that read on and on from the beginning of the run. */
  readonly probe: readonly TopicRecord[]
  readonly batches: readonly Batch[]
  readonly places: readonly Place[]
  readonly ends: readonly LogEnd[]
  readonly tables: Readonly<Record<TableName, readonly Row[]>>
  /** Avro schemas by their id in the registry. */
  readonly schemas: Readonly<Record<string, unknown>>
  /** The merchants' sections, each file's content in place of its name. */
  readonly merchants: Readonly<Record<string, unknown>>
  readonly secrets: readonly { readonly name: string; readonly value: string }[]
  readonly logs: readonly { readonly name: string; readonly text: string }[]
  readonly metrics: readonly { readonly name: string; readonly text: string }[]
  /** What an operator saw who looked at everything with the command line: name and both its outputs. */
  readonly cli: readonly { readonly name: string; readonly text: string }[]
  readonly samples: readonly Sample[]
}

export const INPUT = 'payments.callback.v1'
export const OUTPUTS = [
  ...['fulfillment.shipment.v1', 'fulfillment.inventory.v1', 'fulfillment.points.v1'],
  ...['payments.anomaly.v1', 'payments.callback.v1.dlq'],
]
