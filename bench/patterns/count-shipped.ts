import { createPartitionReader } from '../../src/runtime/kafka/partition-reader.ts'
import { createLog } from '../../src/runtime/log.ts'

/** How often each key is in the topic, as a `read_committed` consumer sees it. */
export async function countShipped(
  brokers: string,
  topic: string,
  partitions: number,
  isShipment: (value: Buffer | null, headers: Readonly<Record<string, Buffer>>) => boolean,
): Promise<Map<string, number>> {
  const reader = createPartitionReader({ brokers: brokers.split(','), ssl: false }, createLog('bench', 'silent'))
  const counts = new Map<string, number>()
  try {
    for (let partition = 0; partition < partitions; partition++)
      for (let from = 0; ;) {
        const { records, next } = await reader.read(topic, partition, from)
        for (const { key, value, headers } of records)
          if (key !== null && isShipment(value, headers))
            counts.set(key.toString(), (counts.get(key.toString()) ?? 0) + 1)
        if (next === from) break
        from = next
      }
    return counts
  } finally {
    await reader.close()
  }
}
