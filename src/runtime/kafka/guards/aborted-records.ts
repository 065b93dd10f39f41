import type { Internals } from './internals.ts'

export interface FetchedMessage {
  readonly offset: string
  readonly key: Buffer | null
  readonly isControlRecord?: boolean
  readonly batchContext: { readonly producerId: unknown; readonly inTransaction: boolean }
}
export interface AbortedTransaction {
  readonly producerId: unknown
  readonly firstOffset: unknown
}

const ABORT_MARKER = 0

/**
 * Drops the records of aborted transactions from one fetch, as Kafka's own consumer does (`CompletedFetch`).
 *
 * Stock kafkajs leaks them when transactions of two writers interleave or a fetch starts inside two: it takes the
 * broker's list as sorted by first offset (it is sorted by abort marker), begins at most one transaction per record, and
 * takes a data record with the key 00000000 for an abort marker. Measured with four writers: 57 of 852 leaked.
 */
export function filterAborted({
  messages,
  abortedTransactions,
}: {
  messages: readonly FetchedMessage[]
  abortedTransactions?: readonly AbortedTransaction[] | null
}): readonly FetchedMessage[] {
  if (abortedTransactions == null || abortedTransactions.length === 0) return messages
  const upcoming = abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId: String(producerId), first: BigInt(String(firstOffset)) }))
    .sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))
  const aborting = new Set<string>()
  let next = 0
  return messages.filter((message) => {
    const offset = BigInt(message.offset)
    for (let begun = upcoming[next]; begun !== undefined && begun.first <= offset; begun = upcoming[++next])
      aborting.add(begun.producerId)
    const producerId = String(message.batchContext.producerId)
    if (message.isControlRecord === true) {
      // A control record's key is its version and its type, two bytes each.
      if (message.key !== null && message.key.length >= 4 && message.key.readInt16BE(2) === ABORT_MARKER)
        aborting.delete(producerId)
      return true
    }
    return !(message.batchContext.inTransaction && aborting.has(producerId))
  })
}

export function guardAbortedRecords(internals: Internals): void {
  internals.replace('src/consumer/filterAbortedMessages.js', filterAborted)
}
