import type { Command } from 'commander'
import { KAFKA, POSTGRES, readConfig } from '../runtime/config.ts'
import type { PartitionReader } from '../runtime/kafka/port.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { readLane } from '../store/lane-row.ts'
import { readTopology } from '../store/topology.ts'
import { cliLog, readKafka, withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { mergeByTime } from './merge-by-time.ts'
import { table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'
import { writeRecords, type SavedRecord } from './saved-records.ts'

export const addInputSave = (noun: Command, run: Run) =>
  noun
    .command('save')
    .description(
      'write what no lane has applied to a file, also of partitions that were added, before the topic is deleted',
    )
    .argument('<file>', 'a new one; it holds callbacks as they came')
    .action((file: string, _: unknown, command: Command) => run((context) => save(context, file), command))

interface Part {
  readonly partition: number
  readonly from: number
  readonly to: number
}

async function save({ env }: CliContext, file: string): Promise<Output> {
  const { TOPIC_PREFIX } = readConfig({ ...KAFKA, ...POSTGRES }, env)
  const topic = TOPIC_PREFIX + INPUT_TOPIC
  const { settings } = await readKafka(env)
  const log = cliLog(env)
  const { createPartitionReader } = await import('../runtime/kafka/partition-reader.ts')
  const reader = createPartitionReader(settings, log)
  try {
    const parts = await partsOf(env, topic)
    const counts = new Map<number, number>()
    await writeRecords(file, mergeByTime(parts.map((part) => recordsOf(reader, topic, part, counts))))
    const rows = parts.map(({ partition, from, to }) => [partition, from, to, counts.get(partition) ?? 0])
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    return {
      json: {
        file,
        records: total,
        partitions: rows.map(([partition, from, to, records]) => ({ partition, from, to, records })),
      },
      text: `${table(['partition', 'from', 'to', 'records'], rows)}\n${total} records are in ${file}.`,
    }
  } finally {
    await reader.close()
  }
}

/** A lane's partition from where it stands; one that belongs to no lane from its first record. */
async function partsOf(env: NodeJS.ProcessEnv, topic: string): Promise<Part[]> {
  const { settings } = await readKafka(env)
  const { createTopicAdmin } = await import('../runtime/kafka/topic-admin.ts')
  const { createOffsetReader } = await import('../runtime/kafka/offset-reader.ts')
  const admin = createTopicAdmin(settings, cliLog(env))
  const offsets = await createOffsetReader(settings, cliLog(env))
  try {
    const count = (await admin.describeTopics([topic])).get(topic)?.partitions
    if (count === undefined) throw new CliFailure(EXIT.findings, `There is no topic ${topic}.`, 'Look at TOPIC_PREFIX.')
    return await withDatabase(env, async (pool) => {
      const lanes = (await readTopology(pool, topic)) ?? 0
      return Promise.all(
        Array.from({ length: count }, async (_, partition) => {
          const { start, end } = await offsets.logRange(topic, partition)
          const applied = partition < lanes ? (await readLane(pool, topic, partition))?.appliedOffset : undefined
          return { partition, from: Math.max(start, applied ?? start), to: end }
        }),
      )
    })
  } finally {
    await offsets.close()
    await admin.close()
  }
}

async function* recordsOf(
  reader: PartitionReader,
  topic: string,
  { partition, from, to }: Part,
  counts: Map<number, number>,
): AsyncGenerator<SavedRecord> {
  for (let at = from; at < to;) {
    const { records, next } = await reader.read(topic, partition, at)
    for (const record of records) {
      if (record.offset >= to) return
      counts.set(partition, (counts.get(partition) ?? 0) + 1)
      yield { ...record, partition }
    }
    if (next === at) return
    at = next
  }
}
