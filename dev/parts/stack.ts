import { mkdirSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { startKafka, type KafkaCluster } from './kafka.ts'
import type { Part } from './part.ts'
import { createDatabase, startPostgres, type Postgres } from './postgres.ts'
import { GO, JAVA, MAVEN, requirePrograms } from './prerequisites.ts'
import { isKafkaCached, kafkaProgram } from './kafka-program.ts'
import { step } from './progress.ts'
import { isRegistryCached, registryProgram, REGISTRY_DATABASE, startRegistry, type SchemaRegistry } from './registry.ts'
import { ALLOW_SINGLE_REPLICA, type StackEnv } from './state.ts'

export interface StackOptions {
  /** Holds data, logs and (for `up`) the state; made if it does not exist. */
  readonly dir: string
  /** Ports that people remember, if they are free; otherwise any free ones. */
  readonly preferPorts?: boolean
  readonly kafkaNodes?: number
  /** Keeps the registry's schemas in memory, so that it does not fall with Postgres. Default: in Postgres. */
  readonly registryInMemory?: boolean
}

export interface Stack {
  readonly env: StackEnv
  readonly kafka: KafkaCluster
  readonly postgres: Postgres
  readonly registry: SchemaRegistry
  readonly parts: readonly Part[]
  /** Stops every part; data and logs stay. */
  readonly stop: () => Promise<void>
  /** Stops every part and removes the data; logs stay. */
  readonly drop: () => Promise<void>
}

/** The conventional ports with a 1 in front, so that what a developer runs anyway keeps its own. */
const PORTS = { kafka: 19092, postgres: 15432, registry: 18081 }

/**
 * Starts Kafka, Postgres and a schema registry on the loopback and waits until each answers.
 * @throws MissingPrograms when a program that npm does not bring is missing
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const dir = resolve(options.dir)
  mkdirSync(dir, { recursive: true })
  await preparePrograms()
  const started: Part[] = []
  const prefer = (port: number) => (options.preferPorts === true ? { preferredPort: port } : {})
  try {
    return await step('starting Kafka, Postgres and the schema registry', 'about 5 s', async () => {
      const kafkaStarts = startKafka({ dir, nodes: options.kafkaNodes ?? 1, ...prefer(PORTS.kafka) }).then((kafka) => {
        started.push(...kafka.nodes)
        return kafka
      })
      kafkaStarts.catch(() => undefined) // awaited below
      const postgres = await startPostgres({ dir, ...prefer(PORTS.postgres) })
      started.push(postgres)
      if (options.registryInMemory !== true) await createDatabase(postgres.url, REGISTRY_DATABASE)
      const registry = await startRegistry({
        dir,
        ...prefer(PORTS.registry),
        ...(options.registryInMemory === true ? {} : { postgresUrl: postgres.url }),
      })
      started.push(registry)
      const kafka = await kafkaStarts
      const parts = [...kafka.nodes, postgres, registry]
      return {
        env: {
          KAFKA_BROKERS: kafka.brokers,
          DATABASE_URL: postgres.url,
          SCHEMA_REGISTRY_URL: registry.url,
          ...(kafka.nodes.length === 1 ? ALLOW_SINGLE_REPLICA : {}),
        },
        kafka,
        postgres,
        registry,
        parts,
        stop: () => stopParts(parts),
        drop: async () => {
          await stopParts(parts)
          postgres.dropData()
          for (const { dataDir } of kafka.nodes) rmSync(dataDir, { recursive: true, force: true })
        },
      }
    })
  } catch (error) {
    await stopParts(started)
    throw error
  }
}

/** Names everything that is missing at once, before the first download, then fetches and builds. */
async function preparePrograms(): Promise<void> {
  await requirePrograms([JAVA, ...(isKafkaCached() ? [] : [MAVEN]), ...(isRegistryCached() ? [] : [GO])])
  await Promise.all([kafkaProgram(), registryProgram()])
}

async function stopParts(parts: readonly Part[]): Promise<void> {
  // The registry stands on Postgres; brokers and Postgres know nothing of each other.
  for (const part of parts.filter((p) => p.name === 'registry')) await part.stop()
  await Promise.all(parts.map((part) => part.stop()))
}
