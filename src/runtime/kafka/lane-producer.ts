import type { Producer, Transaction } from 'kafkajs'
import { checkAck } from './check-ack.ts'
import { withDeadline } from './deadline.ts'
import { delay } from './delay.ts'
import type {
  Acknowledged,
  CommittedOffset,
  LaneProducer,
  OffsetsToCommit,
  OnCommitStep,
  PartitionMessages,
} from './port.ts'
import { splitMessages } from './split-messages.ts'

/** After this the coordinator aborts an open transaction, and a dead owner no longer blocks readers. */
export const TRANSACTION_TIMEOUT_MS = 15_000
const COMMIT_MS_MAX = 30_000
const PRODUCE_TIMEOUT_MS = 10_000
const CONCURRENT_TRIES_MAX = 80

/** Thrown by a producer that has failed before: its incarnation is over. */
export class DeadProducer extends Error {
  override readonly name = 'DeadProducer'
}

/** The incarnation around a kafkajs producer that has fenced already. */
export function laneProducer(producer: Producer, transactionalId: string): LaneProducer {
  let dead: { readonly cause: unknown } | undefined
  let busy = false

  const assertAlive = () => {
    if (dead !== undefined)
      throw new DeadProducer(`The producer of ${transactionalId} has failed and must be replaced`, {
        cause: dead.cause,
      })
  }
  // Not awaited: it waits for requests that a frozen broker may answer after the request timeout only.
  const close = () => {
    dead ??= { cause: undefined }
    producer.disconnect().catch(() => undefined)
  }
  const run = async (messages: readonly PartitionMessages[], given: OffsetsToCommit, onStep?: OnCommitStep) => {
    const sent: Acknowledged[] = []
    const transaction = await producer.transaction()
    for (const [index, entry] of messages.entries()) {
      await sendPartition(transaction, entry, sent, assertAlive)
      if (onStep !== undefined) await onStep('messages', index + 1)
    }
    const offsets = await decided(transaction, given, sent)
    for (const [index, offset] of offsets.entries()) {
      await sendOffset(transaction, offset, assertAlive)
      if (onStep !== undefined) await onStep('offset', index + 1)
    }
    assertAlive()
    await transaction.commit()
  }
  const probe = async (offset: CommittedOffset) => {
    const transaction = await producer.transaction()
    await sendOffset(transaction, offset, assertAlive)
    await transaction.abort()
  }
  const guarded = async (work: () => Promise<void>) => {
    assertAlive()
    try {
      if (busy) throw new Error(`Two transactions at a time on ${transactionalId}`)
      busy = true
      await withDeadline(work(), COMMIT_MS_MAX, `The transaction of ${transactionalId}`)
      busy = false
    } catch (error) {
      dead ??= { cause: error }
      close()
      throw error
    }
  }

  return {
    commit: (messages, offsets, onStep) => guarded(() => run(messages, offsets, onStep)),
    prove: (offset) => guarded(() => probe(offset)),
    isDead: () => dead !== undefined,
    close: () => {
      close()
      return Promise.resolve()
    },
  }
}

/** One partition per produce call: kafkajs' retry of a call to several brokers can lose or double records. */
async function sendPartition(
  transaction: Transaction,
  entry: PartitionMessages,
  sent: Acknowledged[],
  assertAlive: () => void,
) {
  const { topic, partition } = entry
  for (const run of splitMessages(entry.messages)) {
    assertAlive()
    const messages = run.map(({ key, value, headers }) => ({
      key,
      value,
      partition,
      ...(headers === undefined ? {} : { headers }),
    }))
    const acks = await transaction.send({ topic, messages, acks: -1, timeout: PRODUCE_TIMEOUT_MS })
    sent.push({ topic, partition, baseOffset: checkAck(topic, partition, acks), count: messages.length })
  }
}

/** Aborts where the caller must not commit what it sees: else readers wait until the transaction times out. */
async function decided(
  transaction: Transaction,
  offsets: OffsetsToCommit,
  sent: readonly Acknowledged[],
): Promise<readonly CommittedOffset[]> {
  if (typeof offsets !== 'function') return offsets
  try {
    return offsets(sent)
  } catch (error) {
    await transaction.abort().catch(() => undefined)
    throw error
  }
}

/**
 * kafkajs does not retry AddOffsetsToTxn, which the broker refuses while the markers of the previous transaction are
 * still being written. It is the only error after which a transaction may go on.
 */
async function sendOffset(transaction: Transaction, offset: CommittedOffset, assertAlive: () => void) {
  const { group, topic, partition } = offset
  const entry = { partition, offset: String(offset.offset), metadata: offset.metadata ?? '' }
  for (let tries = 1; ; tries++) {
    assertAlive()
    try {
      await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic, partitions: [entry] }] })
      return
    } catch (error) {
      const concurrent = (error as { type?: unknown }).type === 'CONCURRENT_TRANSACTIONS'
      if (!concurrent || tries >= CONCURRENT_TRIES_MAX) throw error
      await delay(2 + tries)
    }
  }
}
