import type pg from 'pg'
import { readGatewayConfig } from '../../src/gateway/config.ts'
import { startGateway, type Gateway } from '../../src/gateway/start.ts'
import type { Fact } from '../../src/orders/model.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createOrders } from '../../src/store/create-orders.ts'
import { readEvents } from '../helpers/check-exactly-once.ts'
import { ready } from '../helpers/gateway.ts'
import { post } from '../helpers/http.ts'
import { AMOUNT_MINOR, callbackOf, createInstallation, MERCHANT, type Installation } from '../helpers/installation.ts'
import type { SignedCallback } from '../helpers/merchant.ts'
import { eventsByOrder } from '../helpers/order-ends.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'
import { createSenders, type Senders } from './senders.ts'

const PARTITIONS = 2

/** A gateway and a processor on the real stack, and senders that sign. */
export interface System {
  readonly senders: Senders
  readonly gateway: Gateway
  readonly installation: Installation
  /** Posts them at once; the answers as `status body`. */
  readonly post: (...callbacks: readonly SignedCallback[]) => Promise<string[]>
  /** What a query or a bill told, as whoever asked publishes it. */
  readonly learn: (outTradeNo: string, facts: readonly Fact[]) => Promise<void>
  readonly create: (outTradeNo: string, amountMinor?: number) => Promise<void>
  /** Waits until the processor has done with everything that was accepted so far. */
  readonly settled: () => Promise<void>
  readonly order: (outTradeNo: string) => Promise<OrderNow>
  /** How often workers hear of each kind, by order: `{ T1: { ship: 1 } }`. All that the tables say is waited for. */
  readonly heard: () => Promise<Record<string, Record<string, number>>>
  readonly stop: () => Promise<void>
}

/** What an order has come to. */
export interface OrderNow {
  readonly status: string
  readonly paidAtMs: number | null
  /** `kind outcome providerRef`, in the order in which they became known. */
  readonly facts: readonly string[]
  /** Kinds of its events, by number; an anomaly's notices too. */
  readonly events: readonly string[]
  /** `kind` or `kind: resolution`. */
  readonly anomalies: readonly string[]
  /** Outcomes of all that was delivered about it, in order. */
  readonly deliveries: readonly string[]
}

export async function startSystem(): Promise<System> {
  const senders = createSenders()
  const installation = await createInstallation({ partitions: PARTITIONS })
  const { pool } = installation.database
  const config = readGatewayConfig(installation.env({ MERCHANTS_DIR: senders.dir, LOG_LEVEL: 'silent' }))
  const gateway = await startGateway(config, { log: createLog('gateway', 'silent') })
  const processor: RunningProcessor = await startTestProcessor(installation)
  await Promise.all([ready(gateway), untilSettled([processor], PARTITIONS)])
  let accepted = 0
  return {
    ...{ senders, gateway, installation },
    post: async (...callbacks) => {
      const answers = await Promise.all(callbacks.map((callback) => post(gateway.port, callback)))
      accepted += answers.filter(({ status }) => status === 200).length
      return answers.map(({ status, body }) => `${status} ${body.toString()}`)
    },
    learn: async (outTradeNo, facts) => {
      const [first] = facts
      if (first === undefined) throw new Error('nothing was learnt')
      const { key, callback } = callbackOf(outTradeNo, first)
      await installation.send([{ key, callback: { ...callback, source: 'query', facts } }])
      accepted += 1
    },
    create: async (outTradeNo, amountMinor = AMOUNT_MINOR) => {
      const body = {
        ...{ merchant: MERCHANT, outTradeNo, amountMinor, currency: 'CNY', groupKey: null, payload: null },
        expiresAtMs: Date.now() + 3_600_000,
      }
      const [result] = await createOrders(pool, installation.topics.appId, [
        { body, lane: installation.laneOf(outTradeNo) },
      ])
      if (result?.kind !== 'created') throw new Error(`not created: ${JSON.stringify(result)}`)
    },
    settled: async () => {
      await until('the lanes have read everything', () => {
        const read = processor.lanes().reduce((sum, { next }) => sum + (next ?? 0), 0)
        return read >= accepted
      })
    },
    order: (outTradeNo) => orderNow(pool, outTradeNo),
    heard: async () => {
      const { rows } = await pool.query<{ n: number }>(
        `select count(*)::int as n from events where sequence is not null`,
      )
      const events = eventsByOrder(await readEvents(installation.topics, { atLeast: rows[0]?.n ?? 0 }))
      return Object.fromEntries([...events].map(([name, counts]) => [name.slice(MERCHANT.length + 1), counts]))
    },
    stop: async () => {
      await gateway.stop()
      await processor.stop()
      await installation.drop()
      senders.remove()
    },
  }
}

async function orderNow(pool: pg.Pool, outTradeNo: string): Promise<OrderNow> {
  const { rows } = await pool.query<OrderNow>(
    `select status, round(extract(epoch from paid_at) * 1000)::float8 as "paidAtMs",
       array(select event_type || ' ' || outcome || ' ' || provider_ref from facts where order_id = o.id
         order by kafka_offset, outcome, event_type) as facts,
       array(select kind from events where order_id = o.id order by lane_seq) as events,
       array(select kind || coalesce(': ' || resolution, '') from anomalies where order_id = o.id order by id) as anomalies,
       array(select outcome::text from deliveries where order_id = o.id order by kafka_offset) as deliveries
     from orders o where out_trade_no = $1`,
    [outTradeNo],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`no order ${outTradeNo}`)
  return row
}
