import type { About, LogEnd, Place } from './capture.ts'
import { INPUT } from './capture.ts'

/** The tables that `kafka-consumer-groups --describe` prints for the group and for its ledger. */
export function readPlaces(input: string, ledger: string, { topicPrefix, partitions }: About): Place[] {
  const [inputs, ledgers] = [input, ledger].map((text) => committed(text, topicPrefix + INPUT))
  return Array.from({ length: partitions }, (_, partition) => ({
    partition,
    input: inputs?.get(partition) ?? null,
    ledger: ledgers?.get(partition) ?? null,
  }))
}

/** GROUP TOPIC PARTITION CURRENT-OFFSET …; a dash: never committed. */
function committed(text: string, topic: string): Map<number, number> {
  const rows = text.split('\n').map((line) => line.trim().split(/\s+/))
  return new Map(
    rows.flatMap(([, name, partition, offset]) =>
      name === topic && offset !== undefined && /^\d+$/.test(offset) ? [[Number(partition), Number(offset)]] : [],
    ),
  )
}

/** `topic partition end stableEnd` a line. */
export const readEnds = (text: string): LogEnd[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [topic = '', partition, end, stableEnd] = line.split(' ')
      return { topic, partition: Number(partition), end: Number(end), stableEnd: Number(stableEnd) }
    })
