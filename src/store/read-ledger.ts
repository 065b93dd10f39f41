import { delay } from '../runtime/kafka/delay.ts'
import type { LaneProducer, OffsetReader } from '../runtime/kafka/port.ts'
import { DEAD_LETTER_TOPIC, ledgerGroup } from '../schemas/topics.ts'

export interface LedgerPlace {
  readonly appId: string
  /** The input topic's full name. */
  readonly topic: string
  readonly topicPrefix: string
  readonly lane: number
}

const WAIT_MS_MIN = 2
const WAIT_MS_MAX = 200
const READS_MAX = 60

/**
 * The ledger as it is for certain, read after the fence that made the producer. A coordinator that has just taken over
 * answers from below its high watermark, which may lie behind what its predecessor has acknowledged until another
 * replica is in sync: seen with two of three brokers killed, 0.6 s long, one transaction behind. Its reader would emit
 * that transaction's events once more. So a witness is committed first, into the ledger's own group and so into the
 * same log: whoever reads it, reads all that was committed before it. Nobody needs it afterwards.
 * @throws whatever Kafka throws: the producer is dead then
 */
export async function readLedger(
  producer: Pick<LaneProducer, 'commit'>,
  offsets: Pick<OffsetReader, 'committedAtOnce'>,
  { appId, topic, topicPrefix, lane }: LedgerPlace,
): Promise<{ readonly offset: number; readonly metadata: string } | undefined> {
  const group = ledgerGroup(appId)
  const beside = topicPrefix + DEAD_LETTER_TOPIC
  const witness = `witness ${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`
  await producer.commit([], [{ group, topic: beside, partition: lane, offset: 0, metadata: witness }])
  for (let reads = 1; ; reads++) {
    const committed = await offsets.committedAtOnce(group, [topic, beside], lane)
    if (committed.get(beside)?.metadata === witness) return committed.get(topic)
    if (reads >= READS_MAX) throw new Error(`${group} does not show what was committed ${reads} reads ago`)
    await delay(Math.min(WAIT_MS_MIN * 2 ** reads, WAIT_MS_MAX))
  }
}
