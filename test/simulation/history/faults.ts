import { inputGroup, INPUT_TOPIC, ledgerGroup, ledgerMark, OUTPUT_TOPICS } from '../../../src/schemas/topics.ts'
import { MARKERS_MS, partitionName, type Broker } from '../kafka/broker.ts'
import { logEnd, stableEnd } from '../kafka/partition-log.ts'
import type { State } from '../postgres/database.ts'
import type { LaneRow } from '../postgres/tables.ts'
import type { Random } from '../world/random.ts'
import { CALM } from '../world/network.ts'
import type { Reference } from '../oracle/reference.ts'
import type { Fleet } from './fleet.ts'
import { APP, AWAY, groupOffset, inputLog, ledgerOffset, type World } from './world.ts'

export const FAULTS = [
  'kill',
  'freeze',
  'stop',
  'rebalance',
  'group_reset',
  'ledger_reset',
  'restore',
  'database_stop',
  'database_trouble',
  'wire_cut',
  'wire_hang',
  'linger',
  'lost_request',
  'lost_answer',
  'late_request',
  'slow',
  'broker_away',
  'slow_markers',
  'gateway_kill',
  'trim',
  'output_anew',
  'coordinator_moved',
] as const
export type FaultKind = (typeof FAULTS)[number]

export interface Nemesis {
  readonly kinds: ReadonlySet<FaultKind>
  /** How many faults have happened. */
  readonly count: () => number
  /** From here on nothing fails any more. */
  readonly heal: () => void
}

/** Faults come at steps, and not at times: so that they hit what is going on, however quick it is. */
const STEPS_BETWEEN = 260

/** What is wrong all the time, if its kind is chosen. */
function startWeather(world: World, kinds: ReadonlySet<FaultKind>): void {
  const { network, wire, server, broker } = world
  const if_ = (kind: FaultKind, value: number) => (kinds.has(kind) ? value : 0)
  network.weather = {
    lostRequest: if_('lost_request', 0.008),
    lostAnswer: if_('lost_answer', 0.012),
    lateRequest: if_('late_request', 0.015),
    slow: if_('slow', 0.04),
  }
  Object.assign(wire, {
    cut: if_('wire_cut', 0.004),
    hang: if_('wire_hang', 0.0015),
    linger: if_('linger', 0.4),
  })
  server.trouble = if_('database_trouble', 0.01)
  if (kinds.has('slow_markers')) broker.markersMs = 800
}

export function createNemesis(world: World, fleet: Fleet, random: Random, kinds: ReadonlySet<FaultKind>): Nemesis {
  const { scheduler, server, broker, network } = world
  const strikes = [...kinds].filter((kind) => STRIKES[kind] !== undefined)
  let nextStep = random.below(2 * STEPS_BETWEEN)
  let count = 0
  let isOver = strikes.length === 0
  const saved: { state: State; reference: Reference; numbered: Map<number, number> }[] = []

  const strike = (kind: FaultKind) => {
    count++
    scheduler.note(kind)
    world.log.info({ kind }, 'FAULT')
    STRIKES[kind]?.({ world, fleet, random, saved })
  }
  world.watchers.push(() => {
    if (isOver || scheduler.steps() < nextStep) return
    nextStep = scheduler.steps() + 1 + random.below(2 * STEPS_BETWEEN)
    // So that there is something to go back to.
    if (kinds.has('restore') && random.chance(0.5)) saved.push(saveAll(world))
    strike(random.pick(strikes))
  })
  startWeather(world, kinds)
  return {
    ...{ kinds, count: () => count },
    heal: () => {
      isOver = true
      network.weather = { ...CALM }
      Object.assign(world.wire, { cut: 0, hang: 0, linger: 0 })
      server.trouble = 0
      broker.markersMs = MARKERS_MS
      fleet.heal()
    },
  }
}

interface Scene {
  readonly world: World
  readonly fleet: Fleet
  readonly random: Random
  readonly saved: { state: State; reference: Reference; numbered: Map<number, number> }[]
}

function saveAll({ server, databaseOracle }: World): Scene['saved'][number] {
  const { reference, numbered } = databaseOracle
  return { state: server.database.take(), reference: structuredClone(reference), numbered: new Map(numbered) }
}

const anyProcessor = ({ fleet, random }: Scene) => {
  const up = fleet.processors().filter(({ host }) => host.state === 'up')
  return up.length === 0 ? undefined : random.pick(up)
}
const anyLane = ({ world, random }: Scene) => random.below(world.plan.partitions)
const inputName = (lane: number) => partitionName(INPUT_TOPIC, lane)

/** What happens once. */
const STRIKES: Partial<Record<FaultKind, (scene: Scene) => void>> = {
  kill: (scene) => {
    const victim = anyProcessor(scene)
    if (victim !== undefined) scene.fleet.kill(victim, !scene.random.chance(0.3))
  },
  freeze: (scene) => {
    const victim = anyProcessor(scene)
    if (victim !== undefined)
      scene.fleet.freeze(victim, scene.random.next() * (scene.random.chance(0.6) ? 20_000 : 1_000))
  },
  stop: (scene) => {
    const victim = anyProcessor(scene)
    if (victim !== undefined) scene.fleet.stop(victim)
  },
  rebalance: ({ world }) => {
    const before = world.group.generation()
    world.group.rebalance()
    if (world.group.generation() > before) world.tally.count('rebalance')
  },
  gateway_kill: ({ fleet }) => fleet.killGateway(),
  database_stop: ({ world, random }) => {
    if (world.server.stop(random.next() * 4_000) > 0) world.tally.count('database_stop')
  },
  broker_away: ({ world, random }) => {
    const before = world.network.weather
    world.network.weather = { ...before, lostRequest: AWAY, lostAnswer: 0.5 }
    world.scheduler.at(random.next() * 4_000, undefined, 'broker back', () => {
      if (world.network.weather.lostRequest === AWAY) world.network.weather = before
    })
  },
  group_reset: (scene) => {
    const { world, random } = scene
    const lane = anyLane(scene)
    const { start } = inputLog(world, lane)
    const end = logEnd(inputLog(world, lane))
    const offset = random.pick([start, end, random.between(start, end), end + 5, undefined])
    if (groupOffset(world, lane)?.offset !== offset) world.tally.count('group_reset')
    setOffset(world.broker, inputGroup(APP), lane, offset, '')
  },
  ledger_reset: (scene) => {
    const { world, random } = scene
    const lane = anyLane(scene)
    const ledger = ledgerOffset(world, lane)
    if (ledger === undefined) return
    // A tool cannot write the mark; whoever restores a backup of offsets brings an old value with its mark.
    const row = world.server.database.tables.lanes.cells.get(`${INPUT_TOPIC}/${lane}`)?.committed
    const [value, mark] = random.pick<readonly [number | undefined, string]>([
      [undefined, ''],
      [random.below(ledger.offset + 3), ''],
      ...(row === undefined || row.settledSeq === 0 ? [] : [oldLedger(random.below(row.settledSeq))]),
    ])
    if (value !== ledger.offset || mark !== ledger.metadata) world.tally.count('ledger_reset')
    setOffset(world.broker, ledgerGroup(APP), lane, value, mark)
    if (value !== undefined) world.outputOracle.onTool(lane, value)
    for (const halt of ['ledger_missing', 'offsets_missing', 'ledger_without_mark', 'ledger_below_settled'])
      world.excused.add(halt)
  },
  trim: (scene) => {
    const { world, random } = scene
    const lane = anyLane(scene)
    const log = inputLog(world, lane)
    const row = world.server.database.tables.lanes.cells.get(`${INPUT_TOPIC}/${lane}`)?.committed
    if (row === undefined) return
    const before = log.start
    log.start = Math.max(log.start, random.between(0, row.appliedOffset))
    if (log.start > before) world.tally.count('trim')
  },
  output_anew: ({ world, random }) => {
    const topic = random.pick(OUTPUT_TOPICS)
    const lanes = Array.from({ length: world.plan.partitions }, (_, lane) =>
      world.broker.log(partitionName(topic, lane)),
    )
    // What is on its way may still become visible in the old one, which nobody could tell here.
    if (lanes.some((log) => stableEnd(log) < logEnd(log))) return
    world.broker.recreate(topic)
    world.tally.count('output_anew')
    world.excused.add('output_made_anew')
  },
  coordinator_moved: ({ world: { broker, tally }, random }) => {
    const group = broker.group(random.pick([ledgerGroup(APP), ledgerGroup(APP), inputGroup(APP)]))
    const isOlder = [...group.committed].some(([name, { offset }]) => group.before.get(name)?.offset !== offset)
    if (group.behind === undefined && isOlder) tally.count('coordinator_moved')
    group.behind ??= group.before
  },
  restore: (scene) => restore(scene),
}

const oldLedger = (value: number) => [value, ledgerMark(value)] as const

function setOffset(broker: Broker, group: string, lane: number, offset: number | undefined, metadata: string): void {
  broker.setOffset(group, inputName(lane), offset === undefined ? undefined : { offset, metadata })
}

/** Postgres becomes what it was, with every session cut. */
function restore({ world, random, saved }: Scene): void {
  if (saved.length === 0) return
  const { server, databaseOracle, outputOracle } = world
  const chosen = random.pick(saved)
  const { state, reference, numbered } = chosen
  // What was saved after it is of a history that never was now: whoever goes back to that too is beyond the promise
  // (docs/operations.md), as the counter of either may pass for the other's.
  saved.length = saved.indexOf(chosen) + 1
  server.stop(200 + random.next() * 2_000)
  const { events } = server.database.tables
  for (const [key, { committed }] of events.cells)
    if (committed !== undefined) outputOracle.lost.set(String(key), committed.eventId)
  const isOlder = [...server.database.tables.lanes.cells].some(([key, { committed }]) => {
    const before = state.snapshot.get('lanes')?.get(key) as LaneRow | undefined
    return committed !== undefined && (before?.appliedOffset ?? -1) < committed.appliedOffset
  })
  if (isOlder) world.tally.count('restore')
  server.restore(state)
  databaseOracle.reference = structuredClone(reference)
  databaseOracle.numbered = new Map(numbered)
  for (const halt of ['ledger_above_counter', 'log_trimmed']) world.excused.add(halt)
}
