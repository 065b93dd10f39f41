import { readFileSync } from 'node:fs'
import type { RawAvroSchema } from '@kafkajs/confluent-schema-registry/dist/@types.js'
import {
  ANOMALY_TOPIC,
  DEAD_LETTER_TOPIC,
  INPUT_TOPIC,
  INVENTORY_TOPIC,
  POINTS_TOPIC,
  SHIPMENT_TOPIC,
  type TopicName,
} from './topics.ts'

const read = (file: string) =>
  JSON.parse(readFileSync(new URL(`./${file}.avsc`, import.meta.url), 'utf8')) as RawAvroSchema

const callback = read('callback')
const fulfillment = read('fulfillment')

/** What this version of the code writes to each topic; registered as they lie in this folder. */
export const SCHEMAS: Readonly<Record<TopicName, RawAvroSchema>> = {
  [INPUT_TOPIC]: callback,
  [SHIPMENT_TOPIC]: fulfillment,
  [INVENTORY_TOPIC]: fulfillment,
  [POINTS_TOPIC]: fulfillment,
  [ANOMALY_TOPIC]: read('anomaly'),
  [DEAD_LETTER_TOPIC]: read('dead-letter'),
}

/** The registry's name for a topic's schemas (TopicNameStrategy); the library's default is `namespace.name`. */
export const subjectOf = (topicPrefix: string, topic: string) => `${topicPrefix}${topic}-value`
