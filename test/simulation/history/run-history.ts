import { partitionName } from '../kafka/broker.ts'
import { INPUT_TOPIC } from '../../../src/schemas/topics.ts'
import { createRandom, type Random } from '../world/random.ts'
import { takeGlobals } from '../world/globals.ts'
import { ordersAgree } from '../oracle/database-oracle.ts'
import { releaseHeld } from '../oracle/reference-fact.ts'
import { must, Violation } from '../oracle/violation.ts'
import { createActors } from './actors.ts'
import { aimedActions, createAim } from './aim.ts'
import { createNemesis, FAULTS, type FaultKind } from './faults.ts'
import { createFleet } from './fleet.ts'
import { BUSY_MS, planHistory } from './plan.ts'
import { createOperator, isFinal, laneRow, whyBusy } from './quiet.ts'
import { createWorld, type World, type WorldOptions } from './world.ts'

export interface HistoryResult {
  readonly seed: number
  readonly digest: string
  readonly steps: number
  readonly faults: number
  readonly kinds: readonly FaultKind[]
  readonly events: number
  /** What faults have really done, by fault, and by crash point and fault. */
  readonly tally: Readonly<Record<string, number>>
  /** What must not have happened; undefined: all is well. */
  readonly failure: { readonly oracle: string; readonly detail: string } | undefined
}

export interface HistoryOptions extends WorldOptions {
  /** Instead of those that the seed chooses. */
  readonly kinds?: readonly FaultKind[]
  /** Besides those that the seed chooses. */
  readonly also?: readonly FaultKind[] | undefined
}

/** After the last fault all must be done within so long, in simulated time. */
const QUIET_MS_MAX = 240_000
const STEPS_MAX = 60_000
/** Looking whether all is done costs more than a step. */
const LOOK_STEPS = 40

/** It halts lanes for good, so that little more happens on them. */
const ANEW_SHARE = 0.05
const MOVED_SHARE = 0.2
/** Of histories with faults at crash points. No seed that was kept before there were such is among them. */
const AIMED_SHARE = 0.4
const AIM_STREAM = 102

function chooseKinds(seed: number, random: Random, also: readonly FaultKind[]): FaultKind[] {
  const share = random.pick([0, 0.15, 0.3, 0.5])
  const isAnew = createRandom(seed, 9).chance(ANEW_SHARE)
  const isMoved = createRandom(seed, 10).chance(MOVED_SHARE)
  const isChosen = (kind: FaultKind) =>
    kind === 'output_anew' ? isAnew : kind === 'coordinator_moved' ? isMoved : random.chance(share)
  const kinds = FAULTS.filter((kind) => isChosen(kind) || also.includes(kind))
  // Postgres set back to before a lane's first batch and its ledger lost; an output topic made anew and a tool's offset in
  // the place of the one that tells of it: nothing is left that could tell.
  const isBeyond = (kind: FaultKind) =>
    (kind === 'ledger_reset' && kinds.includes('restore')) || (kind === 'group_reset' && kinds.includes('output_anew'))
  return kinds.filter((kind) => !isBeyond(kind))
}

/** One whole history, of its seed alone. */
export async function runHistory(seed: number, options: HistoryOptions = {}): Promise<HistoryResult> {
  const planned = createRandom(seed)
  const plan = planHistory(planned)
  const kinds = new Set(options.kinds ?? chooseKinds(seed, planned, options.also ?? []))
  const world = createWorld(seed, plan, options)
  const { scheduler } = world
  const aiming = createRandom(seed, AIM_STREAM)
  if (aiming.chance(AIMED_SHARE)) world.aim = createAim(world, aiming)
  const actions = world.aim === undefined ? plan.actions : [...plan.actions, ...aimedActions(aiming)]
  if (plan.actions.some((action) => action.kind === 'raw' && action.key === 'flood')) world.excused.add('flood')
  const giveBack = takeGlobals(scheduler, createRandom(seed, 7))
  let faults = 0
  try {
    const fleet = createFleet(world)
    const outside = scheduler.host('outside')
    const actors = createActors(world, fleet.gateway, outside)
    for (const action of actions) scheduler.at(action.atMs, outside, action.kind, () => actors.begin(action))
    const nemesis = createNemesis(world, fleet, createRandom(seed, 8), kinds)
    const hasFailed = () => world.failed() !== undefined
    await scheduler.run(hasFailed, { steps: STEPS_MAX, ms: BUSY_MS + planned.next() * 6_000 })
    faults = nemesis.count()
    nemesis.heal()
    world.aim?.heal()
    createOperator(world, outside).look()
    await untilQuiet(world, actors.areDone)
    if (!hasFailed()) checkEnd(world)
  } catch (error) {
    world.fail(error as Error)
  } finally {
    giveBack()
  }
  const failure = world.failed()
  return {
    ...{ seed, faults, kinds: [...kinds], steps: scheduler.steps(), digest: scheduler.digest() },
    events: world.outputOracle.visible(),
    tally: world.tally.all(),
    failure:
      failure === undefined
        ? undefined
        : {
            oracle: failure instanceof Violation ? failure.oracle : failure.name,
            detail: failure.message + (failure instanceof Violation ? '' : (failure.stack ?? '')),
          },
  }
}

async function untilQuiet(world: World, areDone: () => boolean): Promise<void> {
  const { scheduler, broker, plan } = world
  const lanes = Array.from({ length: plan.partitions }, (_, lane) => lane)
  const why = () => {
    if (!areDone()) return 'somebody waits for an answer'
    for (const lane of lanes) {
      const busy = whyBusy(world, lane)
      if (busy !== undefined) return `lane ${lane}: ${busy}`
    }
    return broker.coordinator.isIdle() ? undefined : 'a transaction is open'
  }
  let looked = 0
  const isOver = () => {
    if (world.failed() !== undefined) return true
    if (scheduler.steps() - looked < LOOK_STEPS) return false
    looked = scheduler.steps()
    return why() === undefined
  }
  await scheduler.run(isOver, { steps: scheduler.steps() + STEPS_MAX, ms: scheduler.nowMs() + QUIET_MS_MAX })
  const left = world.failed() === undefined ? why() : undefined
  if (left !== undefined) throw new Violation('liveness', left)
}

/** What must hold when nothing is left to do. */
function checkEnd(world: World): void {
  const { plan, outputOracle, databaseOracle, server, broker } = world
  for (let lane = 0; lane < plan.partitions; lane++) {
    outputOracle.check(lane)
    if (isFinal(laneRow(world, lane))) return // Its orders stand still.
    must(broker.isPartition(partitionName(INPUT_TOPIC, lane)), 'end', () => `no lane ${lane}`)
  }
  const { reference } = databaseOracle
  for (const order of reference.orders.values()) {
    ordersAgree(reference, server.database.tables, undefined, order.key)
    const before = order.sequence + [...order.facts.values()].filter(({ outcome }) => outcome === 'held').length
    releaseHeld({ reference, order, events: [] })
    const after = order.sequence + [...order.facts.values()].filter(({ outcome }) => outcome === 'held').length
    must(before === after, 'held', () => `held facts of ${order.key} could have gone`)
  }
}
