import type { RecordMetadata } from 'kafkajs'

/** A produce call was answered, but not for what was sent. Nothing may be called published. */
export class AckMismatch extends Error {
  override readonly name = 'AckMismatch'
}

/**
 * kafkajs resolves a send that it never made: `[]` for a partition missing from its cached metadata, and fewer
 * entries than partitions after a leader has moved. So the acknowledgement is compared with what was sent.
 * @returns the offset of the first record
 * @throws AckMismatch unless it is one entry, without error, for exactly this partition.
 */
export function checkAck(topic: string, partition: number, acks: readonly RecordMetadata[]): number {
  const [ack] = acks
  if (
    ack === undefined ||
    acks.length !== 1 ||
    ack.topicName !== topic ||
    ack.partition !== partition ||
    ack.errorCode !== 0
  )
    throw new AckMismatch(
      `Sent to ${topic}-${partition}, acknowledged: ${JSON.stringify(
        acks.map((entry) => `${entry.topicName}-${entry.partition} (error ${entry.errorCode})`),
      )}`,
    )
  return Number(ack.baseOffset ?? -1)
}
