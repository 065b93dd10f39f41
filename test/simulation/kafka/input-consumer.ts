import { createPauses } from '../../../src/runtime/kafka/pauses.ts'
import type { InputBatch, InputConsumer, InputHandlers } from '../../../src/runtime/kafka/port.ts'
import { requestTimeout } from './kafkajs-producer.ts'
import { partitionName, type Broker } from './broker.ts'
import type { ConsumerGroup, Member } from './consumer-group.ts'
import { logEnd } from './partition-log.ts'
import type { Host } from '../world/queue.ts'
import type { Network } from '../world/network.ts'
import type { Random } from '../world/random.ts'
import type { Scheduler } from '../world/scheduler.ts'

export interface ConsumerWorld {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly network: Network
  readonly broker: Broker
  readonly group: ConsumerGroup
}

/** How long a fetch waits for records. (The product's is 200 ms; nothing happens in between.) */
const WAIT_MS = 3_000
/** A partition that is resumed waits for the fetch that is running. */
const NOTICE_MS = 150
const RETRY_MS = 100

type Fetched = { readonly partition: number } & ({ readonly batch: InputBatch } | { readonly isOutOfRange: true })

/** The consumer behind the port: a group member that fetches all its partitions at once and hands them over side by side. */
export function createSimulatedConsumer(
  host: Host,
  { scheduler, random, network, broker, group }: ConsumerWorld,
  { groupId, topic, recordsMax }: { readonly groupId: string; readonly topic: string; readonly recordsMax: number },
): InputConsumer {
  let assigned: readonly number[] = []
  let handlers: InputHandlers | undefined
  let isStopping = false
  let joins = 0
  let wake: (() => void) | undefined
  const positions = new Map<number, number>()
  const changed = () => {
    scheduler.at(random.next() * NOTICE_MS, host, 'fetch again', () => wake?.())
  }
  const pauses = createPauses(changed)

  const readPositions = async (partitions: readonly number[], join: number) => {
    for (const partition of partitions) {
      if (positions.has(partition)) continue
      const name = partitionName(topic, partition)
      const offset = await network.call(
        host,
        `OffsetFetch ${name}`,
        () => broker.group(groupId).committed.get(name)?.offset ?? broker.log(name).start,
        requestTimeout,
      )
      if (join === joins && !positions.has(partition)) positions.set(partition, offset)
    }
  }
  const readPartition = (partition: number, from: number): Fetched | undefined => {
    const log = broker.log(partitionName(topic, partition))
    const end = logEnd(log)
    if (from < log.start || from > end) return { partition, isOutOfRange: true }
    if (from === end) return undefined
    const records = log.records.slice(from, Math.min(end, from + random.between(1, 2 * recordsMax)))
    const endOffset = from + records.length
    return { partition, batch: { partition, fetchedOffset: from, endOffset, highWatermark: end, records } }
  }
  /** A long poll. */
  const fetch = (asked: ReadonlyMap<number, number>): Promise<Fetched[]> =>
    new Promise((resolve) => {
      let isDone = false
      const waited = scheduler.at(WAIT_MS, host, 'fetch waited', () => answer('fetched nothing', []))
      const answer = (what: string, found: Fetched[]) => {
        if (isDone) return
        isDone = true
        scheduler.cancel(waited)
        scheduler.at(network.latencyMs(), host, what, () => resolve(found))
      }
      wake = () => answer('fetch left', [])
      const look = () => {
        if (isDone || host.state === 'gone') return
        const found = [...asked].flatMap(([partition, from]) => readPartition(partition, from) ?? [])
        if (found.length > 0) {
          answer(`fetched ${found.map(({ partition }) => partition).join()}`, found)
          return
        }
        for (const partition of asked.keys())
          broker.log(partitionName(topic, partition)).onAppend.push(() => {
            if (!isDone) scheduler.at(network.latencyMs(), undefined, 'fetch woken', look)
          })
      }
      scheduler.at(
        network.latencyMs(),
        undefined,
        `Fetch ${[...asked].map(([p, from]) => `${p}@${from}`).join()}`,
        look,
      )
    })
  const hand = async (fetched: Fetched, join: number) => {
    const { partition } = fetched
    const isCurrent = () => !isStopping && assigned.includes(partition)
    if (handlers === undefined || join !== joins || !isCurrent()) return
    if (!('batch' in fetched)) {
      pauses.pause(partition)
      handlers.onOutOfRange(partition)
      return
    }
    const { batch } = fetched
    for (let from = 0; from < batch.records.length; from += recordsMax) {
      if (!isCurrent()) return
      const records = batch.records.slice(from, from + recordsMax)
      const part = { ...batch, records, fetchedOffset: batch.fetchedOffset + from }
      const endOffset = part.fetchedOffset + records.length
      let resolvedTo = part.fetchedOffset
      await handlers.onBatch(
        { ...part, endOffset },
        {
          resolve: (end) => {
            resolvedTo = end
            if (assigned.includes(partition)) positions.set(partition, end)
          },
          pause: (ms) => pauses.pauseFor(partition, ms),
          isCurrent,
        },
      )
      if (resolvedTo < endOffset || join !== joins || pauses.isPaused(partition)) return
      if (positions.get(partition) !== endOffset) return
    }
  }
  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      wake = resolve
      scheduler.at(ms, host, 'fetch sleeps', resolve)
    })
  const loop = async () => {
    while (!isStopping) {
      const join = joins
      const active = assigned.filter((partition) => !pauses.isPaused(partition))
      if (active.length === 0) {
        await sleep(WAIT_MS)
        continue
      }
      try {
        await readPositions(active, join)
      } catch {
        await sleep(RETRY_MS)
        continue
      }
      if (join !== joins) continue
      const asked = new Map(
        active.flatMap((partition) => {
          const from = positions.get(partition)
          return from === undefined ? [] : [[partition, from] as const]
        }),
      )
      const found = await fetch(asked)
      wake = undefined
      const here = found.filter(({ partition }) => positions.get(partition) === asked.get(partition))
      await Promise.all(here.filter(({ partition }) => !pauses.isPaused(partition)).map((each) => hand(each, join)))
    }
  }
  const member: Member = {
    host,
    onAssigned: (partitions) => {
      if (isStopping) return
      joins++
      assigned = partitions
      positions.clear()
      pauses.reapply()
      handlers?.onAssigned(partitions)
      wake?.()
    },
  }
  return {
    run: (given) => {
      handlers = given
      group.join(member)
      loop().catch((error: unknown) => given.onCrash(error as Error))
      return Promise.resolve()
    },
    pause: pauses.pause,
    resume: pauses.resume,
    seek: (partition, offset) => {
      if (assigned.includes(partition)) positions.set(partition, offset)
      changed()
    },
    sincePollMs: () => 0,
    stop: () => {
      isStopping = true
      pauses.stop()
      group.leave(member)
      wake?.()
      return Promise.resolve()
    },
  }
}
