import { INPUT_TOPIC, ledgerGroup, ledgerMark } from '../../../src/schemas/topics.ts'
import { resumeLane } from '../../../src/store/resume-lane.ts'
import { partitionName } from '../kafka/broker.ts'
import { logEnd } from '../kafka/partition-log.ts'
import { simulatedConnections } from '../postgres/connection.ts'
import { simulatedPool } from '../postgres/pool.ts'
import type { LaneRow } from '../postgres/tables.ts'
import type { Host } from '../world/queue.ts'
import { APP, inputLog, type World } from './world.ts'

/** No command brings such a lane back here: the newer database is gone, and so are the records. */
const FINAL = new Set(['ledger_above_counter', 'log_trimmed', 'output_made_anew'])
/** An expiry is taken up to so long after it is due: the grace, and the slow timer. */
const TIMER_MS = 10_000

export const laneRow = ({ server }: World, lane: number): LaneRow | undefined =>
  server.database.tables.lanes.cells.get(`${INPUT_TOPIC}/${lane}`)?.committed

export const isFinal = (row: LaneRow | undefined) => row?.haltedReason != null && FINAL.has(row.haltedReason)

/** Why a lane has still something to do; undefined: it has nothing. */
export function whyBusy(world: World, lane: number): string | undefined {
  const row = laneRow(world, lane)
  if (row === undefined) return 'no row'
  if (isFinal(row)) return undefined
  if (row.haltedReason !== null) return `halted: ${row.haltedReason}`
  const end = logEnd(inputLog(world, lane))
  if (row.appliedOffset < end) return `applied ${row.appliedOffset} of ${end}`
  // Not what a tool has written over it: an owner that lives does not look.
  const ledger = world.outputOracle.ledgerOf(lane)
  if (ledger !== row.nextSeq) return `the ledger is ${ledger}, the counter ${row.nextSeq}`
  const { commands, timers, waiting, brakes } = world.server.database.tables
  for (const { committed } of commands.cells.values())
    if (committed?.lane === lane && committed.status === 'pending') return `command ${committed.id} is pending`
  const nowMs = world.scheduler.wallMs()
  for (const { committed } of timers.cells.values())
    if (committed?.lane === lane && committed.kind !== 'query' && committed.dueAtMs < nowMs - TIMER_MS)
      return `timer ${committed.id} is due`
  for (const { committed } of waiting.cells.values())
    if (committed?.lane === lane && brakes.cells.get(committed.brakeId)?.committed?.isReleased === true)
      return `event ${committed.id} waits for a brake that is released`
  return undefined
}

/** Does for halted lanes what the remedy says, as far as it is a matter of Kafka alone. */
export function createOperator(world: World, outside: Host): { readonly look: () => void } {
  const pool = simulatedPool(simulatedConnections(outside, world), 'cli')
  const busy = new Set<number>()
  const mend = (lane: number) => {
    const row = laneRow(world, lane)
    if (row?.haltedReason == null || isFinal(row) || busy.has(lane)) return
    busy.add(lane)
    if (row.haltedReason !== 'flood') {
      // As rebuilding from the output topics tells it.
      const ledger = world.outputOracle.ledgerOf(lane)
      const committed = { offset: ledger, metadata: ledgerMark(ledger) }
      world.broker.setOffset(ledgerGroup(APP), partitionName(INPUT_TOPIC, lane), committed)
    }
    resumeLane(pool, APP, { topic: INPUT_TOPIC, lane, actor: 'ann', reason: 'mended' })
      .catch(() => undefined)
      .finally(() => busy.delete(lane))
  }
  const look = () => {
    for (let lane = 0; lane < world.plan.partitions; lane++) mend(lane)
    world.scheduler.at(1_500, outside, 'operator looks', look)
  }
  return { look: () => void world.scheduler.at(0, outside, 'operator looks', look) }
}
