import type { Random } from '../world/random.ts'
import type { Scheduler } from '../world/scheduler.ts'
import { createCoordinator, type Coordinator, type Identity } from './coordinator.ts'
import { commitPending, createGroupOffsets, markOffsets, type Committed, type GroupOffsets } from './group-offsets.ts'
import {
  append,
  appendTransactional,
  createPartitionLog,
  Refused,
  writeMarker,
  type LogRecord,
  type PartitionLog,
  type Sent,
} from './partition-log.ts'

/** What the oracles are told of. */
export interface BrokerEvents {
  /** Records of a partition whose transaction is committed, in the order of their offsets. */
  readonly onCommitted: (partition: string, records: readonly LogRecord[]) => void
  readonly onTransactionEnded: (transactionalId: string, isCommit: boolean) => void
  /** What a group's offset will be for certain, although nobody reads it yet. */
  readonly onDecided: (group: string, partition: string, committed: Committed) => void
  readonly onOffsets: (group: string, partition: string, committed: Committed) => void
  /** A marker comes later than it usually does. */
  readonly onSlowMarker?: () => void
}

/** So long a marker takes at most, as a rule. */
export const MARKERS_MS = 4

export const partitionName = (topic: string, partition: number) => `${topic}/${partition}`
const GROUP = 'group:'

/** One broker with all partitions, groups and transactional ids; every method is what one request does there. */
export interface Broker {
  readonly coordinator: Coordinator
  readonly log: (partition: string) => PartitionLog
  readonly group: (name: string) => GroupOffsets
  readonly isPartition: (partition: string) => boolean
  readonly produce: (partition: string, sent: readonly Sent[]) => number
  readonly produceTransactional: (
    by: Identity & { sequence: number },
    partition: string,
    sent: readonly Sent[],
  ) => number
  readonly addOffsets: (by: Identity, group: string) => void
  readonly commitOffsets: (by: Identity, group: string, offsets: ReadonlyMap<string, Committed>) => void
  readonly topicId: (topic: string) => string | undefined
  /** Deletes a topic, and makes it anew. */
  readonly recreate: (topic: string) => void
  /** Of an operator's tool. */
  readonly setOffset: (group: string, partition: string, committed: Committed | undefined) => void
  /** How long markers take; the slow ones let old values be read. */
  markersMs: number
  /** Markers that are still to be written. */
  readonly markersLeft: () => number
}

export function createBroker(
  scheduler: Scheduler,
  random: Random,
  { topics, partitions }: { readonly topics: readonly string[]; readonly partitions: number },
  events: BrokerEvents,
): Broker {
  const logs = new Map<string, PartitionLog>()
  for (const topic of topics)
    for (let index = 0; index < partitions; index++) {
      const name = partitionName(topic, index)
      logs.set(name, createPartitionLog(name))
    }
  const ids = new Map(topics.map((topic, index) => [topic, `id-${index}`]))
  const groups = new Map<string, GroupOffsets>()
  let markersLeft = 0
  const log = (partition: string): PartitionLog => {
    const found = logs.get(partition)
    if (found === undefined) throw new Refused('UNKNOWN_TOPIC_OR_PARTITION')
    return found
  }
  const group = (name: string): GroupOffsets => {
    const found = groups.get(name) ?? createGroupOffsets()
    groups.set(name, found)
    return found
  }
  const mark = (member: string, by: { producerId: number; epoch: number }, isCommit: boolean) => {
    if (!member.startsWith(GROUP)) {
      const decided = writeMarker(log(member), scheduler.wallMs(), by, isCommit)
      if (isCommit && decided.length > 0) events.onCommitted(member, decided)
      return
    }
    const name = member.slice(GROUP.length)
    const pending = isCommit ? group(name).pending.get(by.producerId) : undefined
    markOffsets(group(name), by, isCommit)
    for (const [partition, committed] of pending ?? []) events.onOffsets(name, partition, committed)
  }
  const coordinator = createCoordinator({
    writeMarker: (member, by, isCommit, done) => {
      markersLeft++
      const delayMs = random.chance(0.1) ? random.next() * broker.markersMs : random.next() * 2
      if (delayMs > MARKERS_MS) events.onSlowMarker?.()
      scheduler.at(delayMs, undefined, `marker ${member}`, () => {
        markersLeft--
        mark(member, by, isCommit)
        done()
      })
    },
    after: (ms, what, run) => void scheduler.at(ms, undefined, what, run),
    onDecided: (producerId, members, isCommit) => {
      for (const member of members)
        if (isCommit && member.startsWith(GROUP)) {
          const name = member.slice(GROUP.length)
          for (const [partition, committed] of group(name).pending.get(producerId) ?? [])
            events.onDecided(name, partition, committed)
        }
    },
    onEnded: events.onTransactionEnded,
  })
  const broker: Broker = {
    coordinator,
    log,
    group,
    isPartition: (partition) => logs.has(partition),
    produce: (partition, sent) => {
      const target = log(partition)
      const first = target.records.length
      append(target, scheduler.wallMs(), sent, -1, false)
      return first
    },
    produceTransactional: (by, partition, sent) => {
      const isInTransaction = () => coordinator.isInTransaction(by, partition)
      return appendTransactional(log(partition), scheduler.wallMs(), sent, by, isInTransaction)
    },
    addOffsets: (by, name) => coordinator.add(by, [GROUP + name]),
    commitOffsets: (by, name, offsets) =>
      commitPending(group(name), by, offsets, () => coordinator.isInTransaction(by, GROUP + name)),
    topicId: (topic) => ids.get(topic),
    recreate: (topic) => {
      ids.set(topic, `${ids.get(topic) ?? ''}'`)
      for (let index = 0; index < partitions; index++) {
        const name = partitionName(topic, index)
        logs.set(name, createPartitionLog(name))
      }
    },
    setOffset: (name, partition, committed) => {
      if (committed === undefined) group(name).committed.delete(partition)
      else group(name).committed.set(partition, committed)
    },
    markersMs: MARKERS_MS,
    markersLeft: () => markersLeft,
  }
  return broker
}
