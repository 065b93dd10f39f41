import avro from 'avsc'
import type { Capture, TopicRecord } from './capture.ts'

/** A zero byte and the schema's id, before the Avro. */
const FRAME_BYTES = 5

export interface DecodedFact {
  readonly eventType: string
  readonly providerRef: string
  readonly paymentRef: string | null
  readonly amountMinor: number
  readonly currency: string
  readonly amountKind: string
  readonly eventTimeMs: number
}
export interface Callback {
  readonly merchant: string
  readonly outTradeNo: string | null
  readonly provider: string
  readonly source: string
  readonly receivedAtMs: number
  readonly facts: readonly DecodedFact[]
  readonly instead: { readonly kind: string } | null
  readonly rawBody: Buffer
  readonly rawHeaders: Readonly<Record<string, string>>
}
export interface Message {
  readonly eventId: string
  readonly kind?: string
  readonly merchant?: string
  readonly outTradeNo?: string
  readonly sequence?: number
  readonly lane: number
  readonly laneSeq: number
  readonly cause?: string
  readonly amountMinor?: number | null
  readonly currency?: string | null
  readonly paymentRef?: string | null
  readonly occurredAtMs: number
  readonly attrs?: string | null
  readonly payload?: string | null
}

/** A reader of record values by the schemas of the registry; undefined: they cannot be read. */
export function decoder({ schemas }: Pick<Capture, 'schemas'>) {
  const types = new Map<string, avro.Type>()
  const typeOf = (id: string) => {
    const known = types.get(id)
    if (known !== undefined) return known
    const schema = schemas[id]
    if (schema === undefined) return undefined
    const type = avro.Type.forSchema(schema as avro.Schema)
    types.set(id, type)
    return type
  }
  const read = (record: Pick<TopicRecord, 'value'>): object | undefined => {
    if (record.value === null) return undefined
    const bytes = Buffer.from(record.value, 'base64')
    if (bytes.length < FRAME_BYTES || bytes[0] !== 0) return undefined
    try {
      const type = typeOf(String(bytes.readUInt32BE(1)))
      return type === undefined ? undefined : { ...(type.fromBuffer(bytes.subarray(FRAME_BYTES)) as object) }
    } catch {
      return undefined
    }
  }
  return {
    callback: (record: Pick<TopicRecord, 'value'>) => read(record) as Callback | undefined,
    message: (record: Pick<TopicRecord, 'value'>) => read(record) as Message | undefined,
  }
}
