import { createWriteStream, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { AMOUNT_KINDS, FACT_KINDS } from '../orders/model.ts'
import { DEFECTS } from './planned.ts'
import { QUERY_FAULTS } from './query-faults.ts'

const time = { atMs: z.number(), latencyMs: z.number() }
const named = { merchant: z.string(), outTradeNo: z.string() }
const order = { ...named, amountMinor: z.int(), currency: z.string() }

/** An order that the api was asked to create, and what it answered; `unknown`: nothing that can be relied on. */
const OrderLine = z.object({
  line: z.literal('order'),
  ...order,
  ...time,
  heard: z.enum(['created', 'refused', 'unknown']),
})

/** The merchant asks the api to close an order. */
const CloseLine = z.object({
  line: z.literal('close'),
  ...named,
  ...time,
  heard: z.enum(['closed', 'refused', 'unknown']),
})

/** What a callback proves, by its sender's own knowledge. */
const StatedFact = z.object({
  outTradeNo: z.string(),
  eventType: z.enum(FACT_KINDS),
  providerRef: z.string(),
  paymentRef: z.string().nullable(),
  amountMinor: z.int(),
  currency: z.string(),
  amountKind: z.enum(AMOUNT_KINDS),
  eventTimeMs: z.int(),
})

/** One delivery of a payment's callback, and what its sender heard. */
const DeliveryLine = z.object({
  line: z.literal('delivery'),
  ...order,
  ...time,
  provider: z.string(),
  /** As facts name it: `wechatpay:4200…`. */
  paymentRef: z.string(),
  defect: z.enum(DEFECTS),
  gateway: z.string(),
  status: z.int().nullable(),
  /** `wrong_form`: 2xx, but not the exact answer; `no_answer`: the connection ended or the time ran out. */
  heard: z.enum(['success', 'failure', 'wrong_form', 'no_answer']),
  /** What it tells, whatever its provider calls it; absent in older logs, as all that follows. */
  event: z.string().optional(),
  messageId: z.string().optional(),
  /** Without it: that payment of that amount. */
  facts: z.array(StatedFact).optional(),
  isSlow: z.boolean().optional(),
  /** The answer's content type and body, for whoever judges its form without asking us. */
  answer: z.string().optional(),
  requestSha256: z.string().optional(),
})

/** One delivery of a provider's callback about anything but a payment alone: `amountMinor` is its own. */
const NoticeLine = DeliveryLine.extend({ line: z.literal('notice') })
/** One delivery of a worker's report. */
const ReportLine = DeliveryLine.extend({ line: z.literal('report') })

/** Somebody asked a provider. */
const QueryLine = z.object({
  line: z.literal('query'),
  ...time,
  provider: z.string(),
  asked: z.string(),
  /** Null: the connection was ended instead. */
  status: z.int().nullable(),
  /** What was made wrong with the answer; absent: nothing. */
  fault: z.enum(QUERY_FAULTS).optional(),
})

const Line = z.discriminatedUnion('line', [OrderLine, CloseLine, DeliveryLine, NoticeLine, ReportLine, QueryLine])
export type LogLine = z.infer<typeof Line>
export type OrderLine = z.infer<typeof OrderLine>
export type CloseLine = z.infer<typeof CloseLine>
export type DeliveryLine = z.infer<typeof DeliveryLine>
export type NoticeLine = z.infer<typeof NoticeLine>
export type ReportLine = z.infer<typeof ReportLine>
export type QueryLine = z.infer<typeof QueryLine>
export type SentLine = DeliveryLine | NoticeLine | ReportLine
export type StatedFact = z.infer<typeof StatedFact>
export type Heard = DeliveryLine['heard']

export interface SimulationLog {
  readonly write: (line: LogLine) => void
  /** Resolves when every line is with the operating system. */
  readonly close: () => Promise<void>
}

/** Opens a log of JSON lines; an older one of the same name is replaced. */
export async function openLog(file: string): Promise<SimulationLog> {
  await mkdir(dirname(file), { recursive: true })
  const stream = createWriteStream(file)
  const failed = new Promise<never>((_resolve, reject) => stream.once('error', reject))
  // Whoever closes hears of it; until then a failure must not end the process.
  failed.catch(() => undefined)
  return {
    write: (line) => void stream.write(`${JSON.stringify(line)}\n`),
    close: () => Promise.race([new Promise<void>((resolve) => stream.end(resolve)), failed]),
  }
}

/** Reads a log back; throws, naming the line, if one is not as `openLog` writes it. */
export const readLog = (file: string): LogLine[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((text) => text !== '')
    .map((text, index) => {
      const parsed = Line.safeParse(JSON.parse(text))
      if (!parsed.success) throw new Error(`${file}:${index + 1}: ${z.prettifyError(parsed.error)}`)
      return parsed.data
    })
