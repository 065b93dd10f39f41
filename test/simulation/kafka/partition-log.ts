/** One record or control record as it lies in a log. */
export interface LogRecord {
  readonly offset: number
  readonly timestampMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, Buffer>>
  readonly producerId: number
  /** `open` until its transaction's marker; `plain` belongs to none. */
  state: 'plain' | 'open' | 'committed' | 'aborted' | 'marker'
}

export interface Sent {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: Readonly<Record<string, Buffer>>
}

/** A refusal as the broker words it. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly type: string
  constructor(type: string) {
    super(type)
    this.type = type
  }
}

/** What a partition knows of a producer: the newest epoch, its last batches, where its open transaction begins. */
interface ProducerState {
  epoch: number
  batches: { readonly first: number; readonly last: number; readonly offset: number }[]
  openFrom: number | undefined
}

/** The broker remembers so many batches of a producer, to tell a repeated one. */
const BATCHES_KEPT = 5

export interface PartitionLog {
  readonly name: string
  readonly records: LogRecord[]
  start: number
  readonly producers: Map<number, ProducerState>
  readonly onAppend: (() => void)[]
}

export const createPartitionLog = (name: string): PartitionLog => ({
  name,
  records: [],
  start: 0,
  producers: new Map(),
  onAppend: [],
})

export const logEnd = (log: PartitionLog) => log.records.length

/** The last stable offset: a reader of committed records sees nothing from the first open transaction on. */
export function stableEnd(log: PartitionLog): number {
  let end = log.records.length
  for (const { openFrom } of log.producers.values()) if (openFrom !== undefined && openFrom < end) end = openFrom
  return end
}

export function append(log: PartitionLog, nowMs: number, sent: readonly Sent[], producerId: number, isOpen: boolean) {
  for (const { key, value, headers } of sent)
    log.records.push({
      ...{ offset: log.records.length, timestampMs: nowMs, key, value, headers, producerId },
      state: isOpen ? 'open' : 'plain',
    })
  for (const tell of log.onAppend.splice(0)) tell()
}

/**
 * A transactional produce request, as a partition's leader takes it.
 * @param isInTransaction whether the coordinator knows this partition in the producer's transaction (KIP-890's check)
 * @returns the offset of the first record; of a batch that was here before, where it lies: nothing is appended
 */
export function appendTransactional(
  log: PartitionLog,
  nowMs: number,
  sent: readonly Sent[],
  by: { readonly producerId: number; readonly epoch: number; readonly sequence: number },
  isInTransaction: () => boolean,
): number {
  const known = log.producers.get(by.producerId)
  if (known !== undefined && by.epoch < known.epoch) throw new Refused('INVALID_PRODUCER_EPOCH')
  const isSameEpoch = known?.epoch === by.epoch
  const last = by.sequence + sent.length - 1
  const same = isSameEpoch
    ? known.batches.find((batch) => batch.first === by.sequence && batch.last === last)
    : undefined
  if (same !== undefined) return same.offset
  // The check comes with a producer's first batch of a transaction.
  if ((!isSameEpoch || known.openFrom === undefined) && !isInTransaction()) throw new Refused('INVALID_TXN_STATE')
  const before = isSameEpoch ? known.batches.at(-1)?.last : undefined
  // An epoch that is new to the partition begins at 0, unless the partition knows nothing of the producer.
  if (before !== undefined && by.sequence !== before + 1) throw new Refused('OUT_OF_ORDER_SEQUENCE_NUMBER')
  if (known !== undefined && !isSameEpoch && by.sequence !== 0) throw new Refused('OUT_OF_ORDER_SEQUENCE_NUMBER')
  const state = known ?? { epoch: by.epoch, batches: [], openFrom: undefined }
  log.producers.set(by.producerId, state)
  if (!isSameEpoch) state.batches = []
  state.epoch = by.epoch
  const first = log.records.length
  state.batches.push({ first: by.sequence, last, offset: first })
  if (state.batches.length > BATCHES_KEPT) state.batches.shift()
  state.openFrom ??= first
  append(log, nowMs, sent, by.producerId, true)
  return first
}

/** A transaction's marker: what it wrote here becomes committed or aborted. @returns the records that are decided */
export function writeMarker(
  log: PartitionLog,
  nowMs: number,
  { producerId, epoch }: { readonly producerId: number; readonly epoch: number },
  isCommit: boolean,
): LogRecord[] {
  const state = log.producers.get(producerId) ?? { epoch, batches: [], openFrom: undefined }
  log.producers.set(producerId, state)
  if (epoch > state.epoch) state.batches = []
  state.epoch = Math.max(state.epoch, epoch)
  const decided: LogRecord[] = []
  for (let offset = state.openFrom ?? log.records.length; offset < log.records.length; offset++) {
    const record = log.records[offset]
    if (record?.producerId !== producerId || record.state !== 'open') continue
    record.state = isCommit ? 'committed' : 'aborted'
    decided.push(record)
  }
  state.openFrom = undefined
  const marker = { timestampMs: nowMs, key: null, value: null, headers: {}, producerId, state: 'marker' as const }
  log.records.push({ offset: log.records.length, ...marker })
  return decided
}
