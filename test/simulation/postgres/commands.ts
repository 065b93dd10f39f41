import type pg from 'pg'
import { pino } from 'pino'
import type { Fact } from '../../../src/orders/model.ts'
import type { OrderBody } from '../../../src/orders/order-body.ts'
import { DEFAULT_ROUTES } from '../../../src/orders/routes.ts'
import { applyBatch } from '../../../src/processor/apply-batch.ts'
import { applyWake } from '../../../src/processor/apply-wake.ts'
import { reachNothing } from '../../../src/processor/crash-points.ts'
import { eventsToEmit } from '../../../src/processor/events-to-emit.ts'
import { createExpiryGate } from '../../../src/processor/expiry-gate.ts'
import { openLaneSession, type LaneSession } from '../../../src/processor/lane-session.ts'
import type { LaneRecord, Position } from '../../../src/processor/lane-types.ts'
import type { CreateConnection } from '../../../src/runtime/postgres.ts'
import { createOrders } from '../../../src/store/create-orders.ts'
import { fileCommand } from '../../../src/store/file-command.ts'
import { haltLane } from '../../../src/store/lane-row.ts'
import { releaseBrake } from '../../../src/store/release-brake.ts'
import { resumeLane } from '../../../src/store/resume-lane.ts'
import { setBrake } from '../../../src/store/set-brake.ts'
import { markAlone, outlive, unmarkAlone } from '../../../src/store/suspect.ts'
import { finishBrakes } from '../../../src/store/tell-lanes.ts'
import { aDeadLetter, aFact, anOrder, aRecord, clockAt, TOPIC } from '../../helpers/lane-bench.ts'
import { createRandom, type Random } from '../world/random.ts'

export interface DatabaseSide {
  readonly url: string
  readonly createConnection: CreateConnection
  readonly pool: pg.Pool
}

type Command =
  | { readonly kind: 'create'; readonly lane: number; readonly bodies: readonly OrderBody[] }
  | { readonly kind: 'batch'; readonly lane: number; readonly records: readonly LaneRecord[]; readonly again: boolean }
  | { readonly kind: 'wake'; readonly lane: number; readonly nowMs: number }
  | { readonly kind: 'close'; readonly outTradeNo: string; readonly key: string }
  | { readonly kind: 'brake'; readonly eventType: 'ship' | 'anomaly_opened' | null; readonly outTradeNo: string | null }
  | { readonly kind: 'release'; readonly id: number }
  | { readonly kind: 'finish_brakes' }
  | { readonly kind: 'fence'; readonly lane: number; readonly isOwn: boolean }
  | { readonly kind: 'halt' | 'resume'; readonly lane: number }
  | { readonly kind: 'alone'; readonly lane: number; readonly offset: number; readonly isTakenBack: boolean }
  | { readonly kind: 'outlive'; readonly lane: number; readonly incarnation: number; readonly offset: number | null }

const LANES = 2
const START_MS = 1_790_000_000_000
const APP = 'model'
const silent = pino({ level: 'silent' })

/** A random life of a database; the same for both sides. */
export function planCommands(seed: number, count = 120): Command[] {
  const random = createRandom(seed)
  const numbers = Array.from({ length: 8 }, (_, index) => `T${index}`)
  const laneOf = (outTradeNo: string) => Number(outTradeNo.slice(1)) % LANES
  const offsets = [0, 0]
  const bodyOf = (outTradeNo: string): OrderBody =>
    anOrder(outTradeNo, {
      expiresAtMs: START_MS + random.below(100) * 1_000,
      groupKey: random.chance(0.4) ? 'g' : null,
      payload: random.chance(0.3) ? '{"sku":1}' : null,
    })
  const batch = (): Command => {
    const lane = random.below(LANES)
    const mine = numbers.filter((number) => laneOf(number) === lane)
    const records = Array.from({ length: random.between(1, 4) }, () => {
      const offset = (offsets[lane] ?? 0) + random.below(2)
      offsets[lane] = offset + 1
      if (random.chance(0.08)) return aDeadLetter(offset)
      const number = random.pick(mine)
      return aRecord(offset, number, [factOf(random, number)])
    })
    return { kind: 'batch', lane, records, again: random.chance(0.2) }
  }
  const makers: readonly (() => Command)[] = [
    ...Array.from({ length: 6 }, () => batch),
    () => ({ kind: 'create', lane: 0, bodies: [random.pick(numbers)].map(bodyOf) }),
    () => {
      const lane = random.below(LANES)
      const some = random.shuffle(numbers.filter((number) => laneOf(number) === lane)).slice(0, 2)
      return { kind: 'create', lane, bodies: some.map(bodyOf) }
    },
    () => ({ kind: 'wake', lane: random.below(LANES), nowMs: START_MS + random.below(200) * 1_000 }),
    () => ({ kind: 'wake', lane: random.below(LANES), nowMs: START_MS + random.below(200) * 1_000 }),
    () => ({ kind: 'close', outTradeNo: random.pick(numbers), key: `k${random.below(20)}` }),
    () => ({
      ...{ kind: 'brake', eventType: random.pick(['ship', 'anomaly_opened', null] as const) },
      outTradeNo: random.chance(0.5) ? random.pick(numbers) : null,
    }),
    () => ({ kind: 'release', id: random.between(1, 5) }),
    () => ({ kind: 'finish_brakes' }),
    () => ({ kind: 'fence', lane: random.below(LANES), isOwn: random.chance(0.6) }),
    () => ({ kind: random.pick(['halt', 'resume', 'resume'] as const), lane: random.below(LANES) }),
    () => ({
      ...{ kind: 'alone', lane: random.below(LANES), offset: random.below(3), isTakenBack: random.chance(0.5) },
    }),
    () => ({
      ...{ kind: 'outlive', lane: random.below(LANES), incarnation: random.below(8) },
      offset: random.pick([null, 0, 1]),
    }),
  ]
  return Array.from({ length: count }, () => random.pick(makers)())
}

function factOf(random: Random, number: string): Fact {
  const ref = `${number}-${random.below(3)}`
  const atMs = START_MS + random.below(1_000)
  const detail = random.chance(0.04) ? 'a\0b' : null
  return random.pick<() => Fact>([
    () => aFact(ref, { eventTimeMs: atMs, detail, amountMinor: random.chance(0.1) ? 90 : 100 }),
    () => aFact(ref, { eventTimeMs: atMs }),
    () => aFact(`ship-${ref}`, { eventType: 'shipment_completed', amountMinor: 0, amountKind: 'none', currency: '' }),
    () =>
      aFact(`refund-${ref}`, {
        ...{ eventType: 'refund_succeeded', paymentRef: `wechatpay:${ref}`, eventTimeMs: atMs },
        amountMinor: random.pick([40, 100]),
      }),
    () => aFact(`closed-${ref}`, { eventType: 'provider_closed', amountMinor: 0, amountKind: 'none', currency: '' }),
  ])()
}

/** Does what is planned, and says what came of each. Nothing that is said depends on ids, which count otherwise. */
export async function playCommands(commands: readonly Command[], side: DatabaseSide): Promise<string[]> {
  const { pool, url: databaseUrl, createConnection } = side
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
  for (let lane = 0; lane < LANES; lane++) await open(lane, false)
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
  const said: string[] = []
  for (const command of commands) {
    const result = await run(command).catch((error: unknown) => {
      const { code, name, constraint } = error as { code?: string; name: string; constraint?: string }
      return `${code ?? name} ${constraint ?? ''}`
    })
    said.push(`${command.kind}: ${JSON.stringify(result)}`)
  }
  for (const session of sessions) await session?.close()
  return said
}
