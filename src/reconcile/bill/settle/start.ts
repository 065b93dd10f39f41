import type pg from 'pg'
import { z } from 'zod'
import { loadQueryClients } from '../../../providers/query-clients.ts'
import type { QueryClient } from '../../../providers/query.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { BadConfiguration, KAFKA, readConfig, REGISTRY } from '../../../runtime/config.ts'
import { kafkaSettings } from '../../../runtime/kafka/connection.ts'
import { createPlainProducer } from '../../../runtime/kafka/plain-producer.ts'
import type { Log } from '../../../runtime/log.ts'
import { createCodec } from '../../../schemas/codec.ts'
import { INPUT_TOPIC } from '../../../schemas/topics.ts'
import { readTopology } from '../../../store/topology.ts'
import { factCause } from '../../../orders/identity.ts'
import { publishLearnt, type Learnt } from '../../publish.ts'
import type { BillReach } from '../crash-points.ts'
import type { BillFinding } from '../finding.ts'
import { forAPerson } from './for-a-person.ts'
import { settleFindings, type Answered } from './settle-findings.ts'

export interface Settling {
  readonly settle: (findings: readonly BillFinding[]) => Promise<BillFinding[]>
  readonly close: () => Promise<void>
}

export interface SettlingOptions {
  /** Of the bill. */
  readonly provider: string
  readonly merchant: string
  /** China's; the bill's. */
  readonly day: string
  /** Providers of which one is asked: the first that there are keys for. */
  readonly asked: readonly string[]
  readonly pool: pg.Pool
  readonly clock: Clock
  readonly log: Log
  readonly onProgress?: (done: number, total: number) => void
  readonly reach?: BillReach
  /** By provider; left out: as QUERY_KEYS_DIR says. */
  readonly clients?: ReadonlyMap<string, QueryClient>
}

/** Left out: nobody may be asked. */
const KEYS = { QUERY_KEYS_DIR: z.string().min(1).optional(), MERCHANTS_DIR: z.string().min(1) }
const PUBLISH_MS_MAX = 30_000

/**
 * Connects what asking and publishing need. Without keys nobody is asked, and all that is published is what nobody could
 * be asked about.
 * @throws BadConfiguration
 */
export async function startSettling(env: NodeJS.ProcessEnv, options: SettlingOptions): Promise<Settling> {
  const { merchant, asked, clock, onProgress = () => undefined } = options
  const clients = options.clients ?? clientsOf(env, merchant)
  const provider = asked.find((name) => clients.has(name))
  const publisher = await connectPublisher(env, options)
  const publish = async (learnt: Omit<Learnt, 'merchant' | 'source' | 'receivedAtMs'>) => {
    const receivedAtMs = clock.now().getTime()
    const published = await publishLearnt(
      publisher,
      [{ ...learnt, merchant, source: 'bill', receivedAtMs }],
      PUBLISH_MS_MAX,
    )
    if (published.kind === 'too_large')
      throw new Error(`an answer of ${published.bytes} bytes is more than a record may have`)
  }
  const raise = async (finding: BillFinding) => {
    const message = forAPerson(finding, options)
    if (message === undefined) return undefined
    const rawBody = Buffer.from(JSON.stringify(finding))
    await publish({ provider: options.provider, messages: [message], rawBody, rawHeaders: {} })
    return factCause(message.facts[0])
  }
  const deps = {
    client: provider === undefined ? undefined : clients.get(provider),
    publish: ({ messages, rawBody, rawHeaders }: Answered) =>
      publish({ provider: provider ?? options.provider, messages, rawBody, rawHeaders }),
    ...{ raise, onProgress, ...(options.reach && { reach: options.reach }) },
  }
  return { settle: (findings) => settleFindings(findings, deps), close: () => publisher.producer.close() }
}

function clientsOf(env: NodeJS.ProcessEnv, merchant: string): ReadonlyMap<string, QueryClient> {
  const { QUERY_KEYS_DIR: queryKeysDir, MERCHANTS_DIR: merchantsDir } = readConfig(KEYS, env)
  if (queryKeysDir === undefined) return new Map()
  return loadQueryClients({ queryKeysDir, merchantsDir }).get(merchant) ?? new Map<string, QueryClient>()
}

async function connectPublisher(env: NodeJS.ProcessEnv, { pool, log }: SettlingOptions) {
  const config = readConfig({ ...KAFKA, ...REGISTRY }, env)
  const topic = config.TOPIC_PREFIX + INPUT_TOPIC
  const codec = await createCodec(config.SCHEMA_REGISTRY_URL, config.TOPIC_PREFIX, log)
  const producer = await createPlainProducer(kafkaSettings(config), [topic], log)
  const [recorded, found] = [await readTopology(pool, topic), producer.partitionCount(topic)]
  if (recorded === found) return { codec, producer, topic }
  await producer.close()
  throw new BadConfiguration(
    `✖ ${topic} has ${found} partitions, and its orders were dealt to ${recorded ?? 'none yet'}: see "partition count" in docs/operations.md`,
  )
}
