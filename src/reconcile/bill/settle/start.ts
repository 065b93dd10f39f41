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
import { publishLearnt } from '../../publish.ts'
import type { BillReach } from '../crash-points.ts'
import type { BillFinding } from '../finding.ts'
import { settleFindings, type Answered } from './settle-findings.ts'

export interface Settling {
  readonly settle: (findings: readonly BillFinding[]) => Promise<BillFinding[]>
  readonly close: () => Promise<void>
}

export interface SettlingOptions {
  readonly merchant: string
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
 * Connects what asking and publishing need; without keys nothing, as nothing is published then.
 * @throws BadConfiguration
 */
export async function startSettling(env: NodeJS.ProcessEnv, options: SettlingOptions): Promise<Settling> {
  const { merchant, asked, clock, onProgress = () => undefined } = options
  const clients = options.clients ?? clientsOf(env, merchant)
  const provider = asked.find((name) => clients.has(name))
  const client = provider === undefined ? undefined : clients.get(provider)
  if (provider === undefined || client === undefined) {
    const publish = () => Promise.reject(new Error('nobody was asked'))
    const deps = { client: undefined, publish, onProgress }
    return { settle: (findings) => settleFindings(findings, deps), close: () => Promise.resolve() }
  }
  const publisher = await connectPublisher(env, options)
  const publish = async ({ messages, rawBody, rawHeaders }: Answered) => {
    const receivedAtMs = clock.now().getTime()
    const learnt = { merchant, provider, source: 'bill', receivedAtMs, messages, rawBody, rawHeaders } as const
    const published = await publishLearnt(publisher, [learnt], PUBLISH_MS_MAX)
    if (published.kind === 'too_large')
      throw new Error(`an answer of ${published.bytes} bytes is more than a record may have`)
  }
  const deps = { client, publish, onProgress, ...(options.reach && { reach: options.reach }) }
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
