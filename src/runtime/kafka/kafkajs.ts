import { createRequire } from 'node:module'
import { loadKafkajs } from './load-kafkajs.ts'

/** The guarded kafkajs; nothing else loads it. Types come from `import type … from 'kafkajs'`. */
export const { Kafka, logLevel, ConfigResourceTypes } = loadKafkajs(createRequire(import.meta.url))
