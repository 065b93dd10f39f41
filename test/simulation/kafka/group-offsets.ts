import { Refused } from './partition-log.ts'

export interface Committed {
  readonly offset: number
  readonly metadata: string
}

/** What a group has committed, and what a transaction will commit for it when its marker comes. */
export interface GroupOffsets {
  readonly committed: Map<string, Committed>
  readonly pending: Map<number, Map<string, Committed>>
  readonly epochs: Map<number, number>
  /** As it was before the last commit. */
  before: ReadonlyMap<string, Committed>
  /** What a coordinator that has just taken over answers with, until its high watermark is there. */
  behind: ReadonlyMap<string, Committed> | undefined
}

export const createGroupOffsets = (): GroupOffsets => ({
  ...{ committed: new Map(), pending: new Map(), epochs: new Map(), before: new Map(), behind: undefined },
})

export const readable = ({ behind, committed }: GroupOffsets) => behind ?? committed

/** TxnOffsetCommit, version 1: no generation and no member, so that only the producer's epoch refuses anybody. */
export function commitPending(
  group: GroupOffsets,
  { producerId, epoch }: { readonly producerId: number; readonly epoch: number },
  offsets: ReadonlyMap<string, Committed>,
  isInTransaction: () => boolean,
): void {
  if (epoch < (group.epochs.get(producerId) ?? 0)) throw new Refused('INVALID_PRODUCER_EPOCH')
  const known = group.pending.get(producerId)
  if (known === undefined && !isInTransaction()) throw new Refused('INVALID_TXN_STATE')
  group.epochs.set(producerId, epoch)
  const pending = known ?? new Map<string, Committed>()
  for (const [partition, committed] of offsets) pending.set(partition, committed)
  group.pending.set(producerId, pending)
  // It is acknowledged when the high watermark has passed it.
  group.behind = undefined
}

export function markOffsets(
  group: GroupOffsets,
  { producerId, epoch }: { readonly producerId: number; readonly epoch: number },
  isCommit: boolean,
): void {
  group.epochs.set(producerId, Math.max(epoch, group.epochs.get(producerId) ?? 0))
  const pending = group.pending.get(producerId)
  group.pending.delete(producerId)
  if (!isCommit || pending === undefined) return
  group.before = new Map(group.committed)
  for (const [partition, committed] of pending) group.committed.set(partition, committed)
}
