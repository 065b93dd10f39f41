import type { Command } from 'commander'
import { KAFKA, POSTGRES, readConfig } from '../runtime/config.ts'
import type { OutgoingMessage, PlainProducer } from '../runtime/kafka/port.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { readTopology } from '../store/topology.ts'
import { cliLog, readKafka, withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import type { Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'
import { readRecords, type SavedRecord } from './saved-records.ts'

export const addInputSend = (noun: Command, run: Run) =>
  noun
    .command('send')
    .description('publish what input save has kept into the topic that was made anew; what is known is a duplicate')
    .argument('<file>', 'what input save has written')
    .option('--dry-run', 'say how many records it holds, publish nothing')
    .action((file: string, _: unknown, command: Command) => run((context) => send(context, file), command))

const RECORDS_AT_ONCE = 500
const DEADLINE_MS = 30_000

async function send({ env, dryRun }: CliContext, file: string): Promise<Output> {
  const { TOPIC_PREFIX } = readConfig({ ...KAFKA, ...POSTGRES }, env)
  const topic = TOPIC_PREFIX + INPUT_TOPIC
  const lanes = await withDatabase(env, (pool) => readTopology(pool, topic))
  const { settings } = await readKafka(env)
  const { createPlainProducer } = await import('../runtime/kafka/plain-producer.ts')
  const producer = await createPlainProducer(settings, [topic], cliLog(env))
  try {
    const count = producer.partitionCount(topic)
    if (count !== lanes)
      throw new CliFailure(
        EXIT.findings,
        `${topic} has ${count} partitions, ${lanes ?? 'none'} are recorded.`,
        `Delete it, and make it anew: paidonce topics create --partitions ${lanes ?? '<count>'}`,
      )
    let sent = 0
    let batch: SavedRecord[] = []
    const flush = async () => {
      if (!dryRun) await publish(producer, topic, count, batch)
      sent += batch.length
      batch = []
    }
    for await (const record of readRecords(file)) if (batch.push(record) >= RECORDS_AT_ONCE) await flush()
    await flush()
    const text = `${sent} records ${dryRun ? 'would be' : 'are'} in ${topic}.`
    return { json: { file, records: sent, result: dryRun ? 'would_send' : 'sent' }, text }
  } finally {
    await producer.close()
  }
}

/** Each to the lane of its key, in the order of the file; one without a key to where it lay, as a dead letter to be. */
async function publish(producer: PlainProducer, topic: string, count: number, records: readonly SavedRecord[]) {
  const { partitionFor } = await import('../runtime/kafka/partition.ts')
  const { splitMessages } = await import('../runtime/kafka/split-messages.ts')
  const byLane = new Map<number, OutgoingMessage[]>()
  for (const { partition, key, value, headers } of records) {
    const lane = key === null ? partition % count : partitionFor(key, count)
    byLane.set(lane, [...(byLane.get(lane) ?? []), { key, value: value ?? Buffer.alloc(0), headers }])
  }
  for (const [lane, messages] of byLane)
    for (const run of splitMessages(messages))
      await producer.send({ topic, partition: lane, messages: run }, DEADLINE_MS)
}
