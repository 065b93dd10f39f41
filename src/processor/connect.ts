import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { BadConfiguration } from '../runtime/config.ts'
import type { KafkaSettings } from '../runtime/kafka/connection.ts'
import { createOffsetReader } from '../runtime/kafka/offset-reader.ts'
import type { OffsetReader } from '../runtime/kafka/port.ts'
import type { TopicAdmin } from '../runtime/kafka/topic-admin.ts'
import { describeError, type Log } from '../runtime/log.ts'
import { createCodec, type Codec } from '../schemas/codec.ts'
import { checkTopology, WrongTopology } from './check-topology.ts'
import type { ProcessorConfig } from './config.ts'
import { backoffMs } from './fate.ts'

export interface Connections {
  readonly partitions: number
  readonly codec: Codec
  readonly offsets: OffsetReader & { readonly close: () => Promise<void> }
}

/** What to do about errors that do not explain themselves. */
const HINTS: Readonly<Record<string, string>> = {
  '42P01': 'the tables are not there: run paidonce migrate',
  '3D000': 'the database is not there: create it, then run paidonce migrate',
  '28P01': 'Postgres refuses the password in DATABASE_URL',
}

/**
 * Waits until topics, tables and schemas are there: whatever is away is tried again with backoff, for ever.
 * @param say what is missing now, for the readiness probe
 * @returns undefined: stopped meanwhile
 * @throws WrongTopology, BadConfiguration: waiting does not mend it
 */
export async function connectPatiently(
  parts: { readonly admin: TopicAdmin; readonly pool: pg.Pool; readonly settings: KafkaSettings },
  config: ProcessorConfig,
  log: Log,
  isStopped: () => boolean,
  say: (missing: string) => void,
): Promise<Connections | undefined> {
  const { APP_ID: appId, TOPIC_PREFIX: topicPrefix, ALLOW_SINGLE_REPLICA: allowSingleReplica } = config
  for (let failures = 1; !isStopped(); failures++) {
    // Later on the last error says more.
    const doing = (what: string) => {
      if (failures === 1) say(what)
    }
    try {
      doing('reading the topics from Kafka')
      const partitions = await checkTopology(parts.admin, parts.pool, { appId, topicPrefix, allowSingleReplica })
      doing('reading the schemas from the registry')
      const codec = await createCodec(config.SCHEMA_REGISTRY_URL, topicPrefix, log)
      doing('connecting to Kafka')
      const offsets = await createOffsetReader(parts.settings, log)
      return { partitions, codec, offsets }
    } catch (error) {
      if (error instanceof WrongTopology || error instanceof BadConfiguration) throw error
      const said = describeError(error)
      const hint = HINTS[said.code ?? '']
      say(hint ?? `${said.name}: ${said.message}`)
      log.warn({ error: said, failures, hint }, 'not ready yet; trying again')
      await delay(backoffMs(failures, Math.random()))
    }
  }
  return undefined
}
