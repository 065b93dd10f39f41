import { pino } from 'pino'
import type pg from 'pg'
import type { Fact } from '../../src/orders/model.ts'
import type { OrderBody } from '../../src/orders/order-body.ts'
import { DEFAULT_ROUTES } from '../../src/orders/routes.ts'
import { systemClock, type Clock } from '../../src/runtime/clock.ts'
import { applyBatch } from '../../src/processor/apply-batch.ts'
import { brakesOf } from '../../src/processor/brakes-of.ts'
import { applyWake, type WakeOptions } from '../../src/processor/apply-wake.ts'
import { reachNothing, type Reach } from '../../src/processor/crash-points.ts'
import { createExpiryGate, type LogEnd } from '../../src/processor/expiry-gate.ts'
import { openLaneSession, type LaneSession } from '../../src/processor/lane-session.ts'
import type { Applied, LaneRecord, Position } from '../../src/processor/lane-types.ts'
import { createOrders, type CreateResult } from '../../src/store/create-orders.ts'

export const TOPIC = 'payments.callback.v1'
export const APP = 'paidonce'
const silent = pino({ level: 'silent' })

/** A lane's incarnation without Kafka: it "emits" by raising the ledger. */
export interface LaneBench {
  readonly session: LaneSession
  readonly wakeOptions: WakeOptions
  position: Position
  readonly apply: (records: readonly LaneRecord[], end?: number, reach?: Reach) => Promise<Applied>
  /** undefined: nothing to do. */
  readonly wake: (more?: Partial<Pick<LogEnd, 'readEnd'>>, reach?: Reach) => Promise<Applied | undefined>
}

const applyOptions = (clock: Clock = systemClock): Omit<WakeOptions, 'expiryGate'> => ({
  clock,
  routes: DEFAULT_ROUTES,
  heldLimitMs: 86_400_000,
  expiryGraceMs: 60_000,
})
/** A backlog: nothing expires unless a test says so. */
const readNoEnd = () => Promise.resolve(Number.MAX_SAFE_INTEGER)

/** A clock that stands until it is set. */
export const clockAt = (ms: number): Clock => ({ now: () => new Date(ms), elapsedMs: () => ms })

/** Opens a lane as a fence does. @param ledger what Kafka would have said */
export async function openLane(
  databaseUrl: string,
  {
    lane = 0,
    ledger,
    next,
    clock,
    appId = APP,
  }: { lane?: number; ledger?: number; next?: number; clock?: Clock; appId?: string } = {},
  reach: Reach = reachNothing,
): Promise<LaneBench> {
  const onLost = () => undefined
  const { session, row } = await openLaneSession(
    { databaseUrl, appId, topic: TOPIC, lane, startOffset: 0, onLost, log: silent },
    reach,
  )
  const options = applyOptions(clock)
  let readEndNow: LogEnd['readEnd'] = readNoEnd
  const expiryGate = createExpiryGate({ readEnd: () => readEndNow(), log: silent })
  const wakeOptions = { ...options, expiryGate }
  const bench: LaneBench = {
    session,
    wakeOptions,
    position: {
      topic: TOPIC,
      lane,
      next: next ?? row.appliedOffset,
      ledger: ledger ?? row.nextSeq,
      brakeVersion: row.brakeVersion,
      hasImported: row.hasImported,
    },
    apply: async (records, end, reachIn = reach) => {
      const last = records.at(-1)?.offset ?? bench.position.next - 1
      const applied = await applyBatch(session, bench.position, records, end ?? last + 1, options, reachIn)
      if (applied.kind === 'fence') throw new MustFenceError(applied.reason)
      bench.position = { ...bench.position, next: applied.next, brakeVersion: applied.brakeVersion }
      return applied
    },
    wake: async ({ readEnd = readNoEnd } = {}, reachIn = reach) => {
      readEndNow = readEnd
      const applied = await applyWake(session, bench.position, wakeOptions, reachIn)
      if (applied.kind === 'fence') throw new MustFenceError(applied.reason)
      if (applied.kind === 'nothing') return undefined
      bench.position = { ...bench.position, brakeVersion: applied.brakeVersion }
      return applied
    },
  }
  await brakesOf(session, bench.position) // as a fence does
  return bench
}

export class MustFenceError extends Error {
  override readonly name = 'MustFenceError'
}

export const MERCHANT = 'm1'

export const aFact = (ref: string, more: Partial<Fact> = {}): Fact => ({
  eventType: 'payment_succeeded',
  providerRef: `wechatpay:${ref}`,
  paymentRef: null,
  amountMinor: 100,
  currency: 'CNY',
  amountKind: 'individual',
  eventTimeMs: 1_790_000_000_000,
  detail: null,
  ...more,
})

/** A record of one callback about one order. */
export const aRecord = (
  offset: number,
  outTradeNo: string,
  facts: readonly Fact[],
  more: Partial<Pick<LaneRecord, 'timestampMs' | 'traceparent'>> & { merchant?: string } = {},
): LaneRecord => ({
  offset,
  timestampMs: more.timestampMs ?? 1_790_000_100_000,
  key: Buffer.from(outTradeNo),
  value: Buffer.from('raw'),
  headers: {},
  traceparent: more.traceparent ?? null,
  content: {
    kind: 'callback',
    callback: {
      merchant: more.merchant ?? MERCHANT,
      outTradeNo,
      provider: 'wechatpay',
      source: 'callback',
      messageType: 'TRANSACTION.SUCCESS',
      messageId: `message-${offset}`,
      receivedAtMs: 1_790_000_050_000,
      facts,
      instead: null,
      rawBody: Buffer.from('raw'),
      rawHeaders: {},
    },
  },
})

export const aDeadLetter = (
  offset: number,
  reason: Extract<LaneRecord['content'], { kind: 'dead_letter' }>['reason'] = 'undecodable',
): LaneRecord => ({
  offset,
  timestampMs: 1_790_000_100_000,
  key: Buffer.from(`key-${offset}`),
  value: Buffer.from([0, 1, 2, offset & 0xff]),
  headers: { ce_id: Buffer.from('abc') },
  traceparent: null,
  content: { kind: 'dead_letter', reason, detail: 'magic byte is 1' },
})

export const anOrder = (outTradeNo: string, more: Partial<OrderBody> = {}): OrderBody => ({
  merchant: MERCHANT,
  outTradeNo,
  amountMinor: 100,
  currency: 'CNY',
  expiresAtMs: 1_790_003_600_000,
  groupKey: null,
  payload: null,
  ...more,
})

/** Creates orders as the api does. */
export const create = (pool: pg.Pool, bodies: readonly OrderBody[], lane = 0): Promise<CreateResult[]> =>
  createOrders(
    pool,
    APP,
    bodies.map((body) => ({ lane, body })),
  )

/** The lane's events as `kind@topic` by number, to compare whole histories. */
export async function eventsOf(pool: pg.Pool, lane = 0): Promise<string[]> {
  const { rows } = await pool.query<{ e: string }>(
    `select lane_seq || ' ' || coalesce(merchant || '/', '') || key || ' ' || kind || ' ' || coalesce(sequence::text, '-') as e
     from events where lane = $1 order by lane_seq`,
    [lane],
  )
  return rows.map(({ e }) => e)
}

/** Everything in the tables that a lane writes, without what differs from run to run. */
export async function stateOf(pool: pg.Pool): Promise<unknown> {
  const all = async (sql: string) => (await pool.query<{ row: unknown }>(sql)).rows.map(({ row }) => row)
  const order = `(select o.merchant || '/' || o.out_trade_no from orders o where o.id = t.order_id)`
  return {
    orders: await all(
      `select jsonb_build_array(t.merchant, t.out_trade_no, t.status, t.accepted_ref, t.version, t.held_count, t.sequence) as row
       from orders t order by t.merchant, t.out_trade_no`,
    ),
    facts: await all(
      `select jsonb_build_array(${order}, event_type, provider_ref, outcome, kafka_offset) as row from facts t
       order by order_id, event_type, provider_ref`,
    ),
    events: await all(
      `select jsonb_build_array(lane, lane_seq, topic, event_id, kind, key, sequence, cause) as row from events t order by lane, lane_seq`,
    ),
    deliveries: await all(
      `select jsonb_build_array(lane, kafka_offset, ${order}, event_type, provider_ref, outcome) as row from deliveries t
       order by lane, kafka_offset, event_type, provider_ref`,
    ),
    anomalies: await all(
      `select jsonb_build_array(${order}, kind, cause, resolution) as row from anomalies t order by order_id, kind, cause`,
    ),
    deadLetters: await all(
      `select jsonb_build_array(lane, kafka_offset, reason) as row from dead_letters t order by lane, kafka_offset`,
    ),
    lanes: await all(`select jsonb_build_array(lane, next_seq, applied_offset) as row from lanes t order by lane`),
    timers: await all(
      `select jsonb_build_array(${order}, kind, ref) as row from timers t order by order_id, kind, ref`,
    ),
    commands: await all(`select jsonb_build_array(kind, status, result) as row from commands t order by id`),
    groups: await all(
      `select jsonb_build_array(merchant, group_key, ${order}) as row from groups t order by merchant, group_key`,
    ),
  }
}
