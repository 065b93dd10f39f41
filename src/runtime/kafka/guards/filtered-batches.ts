import type { Internals } from './internals.ts'

/**
 * Stock kafkajs advances over a fetch that holds only control or aborted records without telling `eachBatch`. The lane
 * compares each batch's position with its own and would take the silent advance for a gap, seek back, and meet it again
 * for ever. Here such a fetch is handed over like any other, with no records.
 */
export function guardFilteredBatches(internals: Internals): void {
  const { prototype } = internals.load('src/consumer/batch.js') as { prototype: Record<string, unknown> }
  prototype['isEmptyDueToFiltering'] = () => false
  prototype['isEmpty'] = function (this: { readonly rawMessages: readonly unknown[] }) {
    return this.rawMessages.length === 0
  }
}
