import type pg from 'pg'
import { pino } from 'pino'
import { DEFAULT_ROUTES } from '../../../src/orders/routes.ts'
import { applyBatch } from '../../../src/processor/apply-batch.ts'
import { applyWake } from '../../../src/processor/apply-wake.ts'
import { reachNothing } from '../../../src/processor/crash-points.ts'
import { eventsToEmit } from '../../../src/processor/events-to-emit.ts'
import { createExpiryGate } from '../../../src/processor/expiry-gate.ts'
import { openLaneSession, type LaneSession } from '../../../src/processor/lane-session.ts'
import type { Position } from '../../../src/processor/lane-types.ts'
import { transaction, type CreateConnection } from '../../../src/runtime/postgres.ts'
import { createOrders } from '../../../src/store/create-orders.ts'
import { fileCommand } from '../../../src/store/file-command.ts'
import { findTerms } from '../../../src/store/find-terms.ts'
import { haltLane } from '../../../src/store/lane-row.ts'
import { lockOrders } from '../../../src/store/lock-orders.ts'
import { releaseBrake } from '../../../src/store/release-brake.ts'
import { resumeLane } from '../../../src/store/resume-lane.ts'
import { setBrake } from '../../../src/store/set-brake.ts'
import { markAlone, outlive, unmarkAlone } from '../../../src/store/suspect.ts'
import { finishBrakes } from '../../../src/store/tell-lanes.ts'
import { clockAt, MERCHANT, TOPIC } from '../../helpers/lane-bench.ts'
import { LANES, START_MS, type Command } from './plan-commands.ts'

export interface DatabaseSide {
  readonly url: string
  readonly createConnection: CreateConnection
  readonly pool: pg.Pool
}

const APP = 'model'
const LOCK_LANE = 'select halted_reason from lanes where topic = $1 and lane = $2 for no key update'
const silent = pino({ level: 'silent' })

/** Does commands, with lane sessions of its own. */
export interface Player {
  readonly open: (lane: number, isOwn: boolean) => Promise<string>
  /** @returns what came of it. Nothing that is said depends on ids, which count otherwise. */
  readonly run: (command: Command) => Promise<string>
  readonly close: () => Promise<void>
}

export function createPlayer({ pool, url: databaseUrl, createConnection }: DatabaseSide): Player {
  const sessions: (LaneSession | undefined)[] = []
  const positions: Position[] = []
  const open = async (lane: number, isOwn: boolean): Promise<string> => {
    const before = sessions[lane]
    if (!isOwn) await before?.close()
    const survived = before && isOwn ? { incarnation: before.incarnation, wasAlone: lane === 0 } : undefined
    const { session, row } = await openLaneSession(
      {
        ...{ databaseUrl, appId: APP, topic: TOPIC, lane, startOffset: 0, before: survived, log: silent },
        ...{ onLost: () => undefined, createConnection },
      },
      reachNothing,
    )
    sessions[lane] = session
    const { appliedOffset: next, nextSeq: ledger, brakeVersion } = row
    positions[lane] = { topic: TOPIC, lane, next, ledger, brakeVersion }
    // Times are each side's own.
    return JSON.stringify({ ...row, updatedAtMs: undefined, halted: row.halted?.reason })
  }
  const at = (lane: number) => {
    const [session, position] = [sessions[lane], positions[lane]]
    if (session === undefined || position === undefined) throw new Error('no session')
    return { session, position }
  }
  const options = { routes: DEFAULT_ROUTES, heldLimitMs: 60_000, expiryGraceMs: 1_000 }

  const run = async (command: Command): Promise<unknown> => {
    switch (command.kind) {
      case 'create': {
        const orders = command.bodies.map((body) => ({ body, lane: Number(body.outTradeNo.slice(1)) % LANES }))
        return createOrders(pool, APP, orders)
      }
      case 'lock':
        return transaction(pool, async (tx) => {
          for (const row of command.rows) {
            if (typeof row === 'number') {
              await tx.query(LOCK_LANE, [TOPIC, row])
              continue
            }
            const [terms] = await findTerms(tx, [{ merchant: MERCHANT, outTradeNo: row }])
            await lockOrders(tx, terms?.kind === 'order' ? [terms.orderId] : [])
          }
        })
      case 'batch': {
        const { lane, records, again } = command
        const { session, position } = at(lane)
        const end = (records.at(-1)?.offset ?? 0) + 1
        const ahead = again ? records : records.filter(({ offset }) => offset >= position.next)
        const start = again ? { ...position, next: Math.min(position.next, records[0]?.offset ?? 0) } : position
        const applied = await applyBatch(
          session,
          start,
          ahead,
          end,
          { ...options, clock: clockAt(START_MS) },
          reachNothing,
        )
        if (applied.kind === 'fence') return applied.reason
        const rows = await eventsToEmit(session, start, applied)
        positions[lane] = {
          ...position,
          next: Math.max(position.next, applied.next),
          ledger: applied.nextSeq,
          brakeVersion: applied.brakeVersion,
        }
        const { baseSeq, nextSeq, outcomes, newDeadLetters, flooded } = applied
        return [
          baseSeq,
          nextSeq,
          outcomes,
          newDeadLetters,
          flooded,
          rows.map(({ laneSeq, kind, key, payload }) => [laneSeq, kind, key, payload]),
        ]
      }
      case 'wake': {
        const { session, position } = at(command.lane)
        const expiryGate = createExpiryGate({ readEnd: () => Promise.resolve(0), log: silent })
        const wake = { ...options, clock: clockAt(command.nowMs), expiryGate }
        const applied = await applyWake(session, position, wake, reachNothing)
        if (applied.kind === 'fence') return applied.reason
        if (applied.kind === 'nothing') return ['nothing', applied.nextSeq]
        positions[command.lane] = { ...position, ledger: applied.nextSeq, brakeVersion: applied.brakeVersion }
        return [applied.baseSeq, applied.nextSeq, applied.events.map(({ kind, key }) => [kind, key])]
      }
      case 'close': {
        const { outTradeNo, key: idempotencyKey } = command
        const bodyHash = Buffer.from(outTradeNo.padEnd(32))
        const request = { kind: 'close' as const, merchant: 'm1', outTradeNo, idempotencyKey, bodyHash }
        const filed = await fileCommand(pool, APP, { ...request, body: '{}', actor: 'a' })
        if (filed.kind !== 'filed') return filed.kind
        return [
          filed.isNew,
          filed.command.outTradeNo,
          filed.command.status,
          (filed.command.result as { kind?: string } | null)?.kind,
        ]
      }
      case 'brake': {
        const { eventType, outTradeNo } = command
        const scope = { merchant: 'm1', outTradeNo, eventType }
        const set = await setBrake(pool, APP, TOPIC, { ...scope, actor: 'a', reason: 'r' })
        return set.kind === 'too_many' ? set : [set.kind, set.stops, set.untold]
      }
      case 'release':
        return releaseBrake(pool, APP, TOPIC, { id: command.id, merchant: null, actor: 'a', reason: 'r' })
      case 'finish_brakes':
        return finishBrakes(pool, APP, TOPIC)
      case 'fence':
        return open(command.lane, command.isOwn)
      case 'halt':
        return haltLane(at(command.lane).session, TOPIC, command.lane, { reason: 'flood', detail: 'd' })
      case 'resume':
        return resumeLane(pool, APP, { topic: TOPIC, lane: command.lane, actor: 'a', reason: 'r' })
      case 'alone': {
        const { session } = at(command.lane)
        const mark = { topic: TOPIC, lane: command.lane, incarnation: session.incarnation, offset: command.offset }
        const deaths = await markAlone(session, mark)
        if (command.isTakenBack) await unmarkAlone(session, mark)
        return deaths
      }
      case 'outlive': {
        const { lane, incarnation, offset } = command
        return outlive(pool, { topic: TOPIC, lane, incarnation, aloneOffset: offset })
      }
    }
  }
  return {
    open,
    run: async (command) => {
      const result = await run(command).catch((error: unknown) => {
        const { code, name, constraint } = error as { code?: string; name: string; constraint?: string }
        return `${code ?? name} ${constraint ?? ''}`
      })
      return `${command.kind}: ${JSON.stringify(result)}`
    },
    close: async () => {
      for (const session of sessions) await session?.close()
    },
  }
}

/** Does what is planned, one after another, and says what came of each. */
export async function playCommands(commands: readonly Command[], side: DatabaseSide): Promise<string[]> {
  const player = createPlayer(side)
  for (let lane = 0; lane < LANES; lane++) await player.open(lane, false)
  const said: string[] = []
  for (const command of commands) said.push(await player.run(command))
  await player.close()
  return said
}
