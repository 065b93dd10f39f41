import { javaRead, javaWrite, type JavaRecord, type ReadOptions } from '../../dev/parts/java-topics.ts'
import { stackEnv } from './stack.ts'

/** Reads topics as a read_committed Java consumer sees them; `brokers` default to the stack's. */
export function javaConsume(options: Omit<ReadOptions, 'brokers'> & { brokers?: string }): Promise<JavaRecord[]> {
  return javaRead({ brokers: stackEnv().KAFKA_BROKERS, ...options })
}

/** Appends records with Kafka's Java producer, to the stack's brokers by default. */
export function javaProduce(records: Parameters<typeof javaWrite>[1], brokers = stackEnv().KAFKA_BROKERS) {
  return javaWrite(brokers, records)
}
