import type { Clock } from '../../../src/runtime/clock.ts'
import type { Log } from '../../../src/runtime/log.ts'
import { inputGroup, INPUT_TOPIC, ledgerGroup, TOPICS } from '../../../src/schemas/topics.ts'
import { ALONE_DEATHS_MAX } from '../../../src/store/suspect.ts'
import { createBroker, partitionName, type Broker } from '../kafka/broker.ts'
import { createConsumerGroup, type ConsumerGroup } from '../kafka/consumer-group.ts'
import { createDatabaseOracle, type DatabaseOracle } from '../oracle/database-oracle.ts'
import { locksInOrder } from '../oracle/lock-order.ts'
import { createOutputOracle, type OutputOracle } from '../oracle/output-oracle.ts'
import { must, Violation } from '../oracle/violation.ts'
import { see, type Transaction } from '../postgres/cells.ts'
import { createServer, type Server } from '../postgres/server.ts'
import type { WireFaults } from '../postgres/connection.ts'
import { createNetwork, type Network } from '../world/network.ts'
import { createRandom, type Random } from '../world/random.ts'
import { createScheduler, type Scheduler } from '../world/scheduler.ts'
import { createTally, type Tally } from '../world/tally.ts'
import type { Aim } from './aim.ts'
import { createSimulatedCodec, type SimulatedCodec } from './codec.ts'
import type { Plan } from './plan.ts'
import { simulatedLog } from './silence.ts'

export const APP = 'app'
export const SESSION_TIMEOUT_MS = 6_000

/** So many requests are lost while the broker is away. */
export const AWAY = 0.5
const FAULT_OF_WEATHER = {
  ...{ lostRequest: 'lost_request', lostAnswer: 'lost_answer', lateRequest: 'late_request', slow: 'slow' },
} as const
const FAULT_OF_WIRE = { cut: 'wire_cut', hang: 'wire_hang', linger: 'linger' } as const

/** Everything that a process can reach, and what watches it. */
export interface World {
  readonly seed: number
  readonly plan: Plan
  readonly random: Random
  readonly scheduler: Scheduler
  readonly network: Network
  readonly wire: WireFaults
  readonly broker: Broker
  readonly group: ConsumerGroup
  readonly server: Server
  readonly codec: SimulatedCodec
  readonly clock: Clock
  readonly log: Log
  readonly databaseOracle: DatabaseOracle
  readonly outputOracle: OutputOracle
  /** Who hears NOTIFY. */
  readonly listeners: Set<(channel: string, payload: string) => void>
  /** The first thing that must not have happened. */
  readonly failed: () => Error | undefined
  readonly fail: (error: Error) => void
  /** Reasons for which a lane may be halted here, as faults or the plan give them. */
  readonly excused: Set<string>
  /** Processes that were killed. */
  readonly deaths: { count: number }
  /** After each step. */
  readonly watchers: (() => void)[]
  /** What faults have really done. */
  readonly tally: Tally
  readonly onWire: (what: keyof WireFaults) => void
  /** Faults at crash points, if this history has such. */
  aim: Aim | undefined
}

export interface WorldOptions {
  /** Hears each step and each line of the log. */
  readonly say?: ((line: string) => void) | undefined
  /** An oracle that looks away. */
  readonly blindTo?: string | undefined
}

export function createWorld(seed: number, plan: Plan, { say, blindTo }: WorldOptions): World {
  let failure: Error | undefined
  const fail = (error: Error) => {
    if (!(error instanceof Violation && error.oracle === blindTo)) failure ??= error
  }
  /** What an oracle finds must not be an answer to the product. */
  const watch = (look: () => void) => {
    try {
      look()
    } catch (error) {
      fail(error as Error)
    }
  }
  const watchers: (() => void)[] = []
  const excused = new Set<string>()
  const deaths = { count: 0 }
  const listeners = new Set<(channel: string, payload: string) => void>()
  const random = createRandom(seed, 1)
  const tally = createTally()
  const scheduler = createScheduler(() => {
    for (const look of watchers) look()
  }, say)
  const network: Network = createNetwork(scheduler, createRandom(seed, 2), (what) => {
    tally.count(network.weather.lostRequest >= AWAY ? 'broker_away' : FAULT_OF_WEATHER[what])
  })
  const codec = createSimulatedCodec()
  const server = createServer(scheduler, createRandom(seed, 3), {
    onTrouble: () => tally.count('database_trouble'),
    beforeCommit: (tx) => {
      watch(() => locksInOrder(tx))
      watch(() => databaseOracle.beforeCommit(tx))
    },
    onDeadlock: (where) => fail(new Violation('deadlock', where)),
    onNotify: (channel, payload) => {
      for (const listener of listeners) listener(channel, payload)
    },
  })
  const { tables } = server.database
  const laneIn = (text: string) => Number(/\d+$/.exec(text)?.[0] ?? -1)
  const isLedger = (group: string, partition: string) =>
    group === ledgerGroup(APP) && partition.startsWith(`${INPUT_TOPIC}/`)
  const broker: Broker = createBroker(
    scheduler,
    createRandom(seed, 4),
    { topics: TOPICS, partitions: plan.partitions },
    {
      onCommitted: (partition, records) => watch(() => outputOracle.onCommitted(partition, records)),
      onSlowMarker: () => tally.count('slow_markers'),
      onTransactionEnded: (id, isCommit) => {
        if (isCommit) watch(() => outputOracle.check(laneIn(id)))
      },
      onDecided: (group, partition, { offset }) => {
        if (isLedger(group, partition)) outputOracle.onDecided(laneIn(partition), offset)
      },
      onOffsets: (group, partition, { offset }) => {
        if (isLedger(group, partition)) watch(() => outputOracle.onLedger(laneIn(partition), offset))
      },
    },
  )
  const outputOracle = createOutputOracle(tables, codec.read)
  const input = (lane: number, from: number, to: number) =>
    broker.log(partitionName(INPUT_TOPIC, lane)).records.slice(from, to)
  const isBuried = (lane: number, offset: number, tx: Transaction) => {
    const letter = see(tables.deadLetters.cells.get(`${INPUT_TOPIC}/${lane}/${offset}`), tx)
    if (letter?.reason !== 'killed_owner') return false
    must(deaths.count >= ALONE_DEATHS_MAX, 'blame', () => `record ${offset} is blamed for ${deaths.count} deaths`)
    return true
  }
  const databaseOracle = createDatabaseOracle(
    { tables, partitions: plan.partitions, input, read: codec.read, isBuried },
    outputOracle.ledgerOf,
    (reason, detail) => {
      if (!excused.has(reason)) throw new Violation('halt', `${reason}: ${detail}`)
    },
  )
  return {
    ...{ seed, plan, random, scheduler, network, broker, server, codec, databaseOracle, outputOracle },
    ...{ listeners, watchers, excused, deaths, fail, failed: () => failure },
    wire: { cut: 0, hang: 0, linger: 0 },
    onWire: (what) => tally.count(FAULT_OF_WIRE[what]),
    ...{ tally, aim: undefined },
    group: createConsumerGroup(scheduler, createRandom(seed, 5), {
      partitions: plan.partitions,
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
    }),
    clock: { now: () => new Date(scheduler.wallMs()), elapsedMs: () => scheduler.nowMs() },
    log: simulatedLog(say),
  }
}

export const inputLog = ({ broker }: World, lane: number) => broker.log(partitionName(INPUT_TOPIC, lane))
export const ledgerOffset = ({ broker }: World, lane: number) =>
  broker.group(ledgerGroup(APP)).committed.get(partitionName(INPUT_TOPIC, lane))
export const groupOffset = ({ broker }: World, lane: number) =>
  broker.group(inputGroup(APP)).committed.get(partitionName(INPUT_TOPIC, lane))
