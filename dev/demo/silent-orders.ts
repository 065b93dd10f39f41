import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { OrderRef } from '../../src/simulator/timeline.ts'
import type { Expected } from '../../src/simulator/expected.ts'
import type { LogLine } from '../../src/simulator/log.ts'
import type { PlannedOrder } from '../../src/simulator/planned.ts'
import { randomOf } from '../../src/simulator/random.ts'
import { say } from '../parts/progress.ts'

/** Of the orders, those whose callbacks are all lost: only the reconciler's question tells that they are paid. */
const SHARE = 0.05
/** Standard Webhooks has no way to ask. */
const ASKED = new Set<string>(['wechatpay', 'wechatpay-v2', 'alipay', 'stripe'])

/** Silences orders to which nothing but a payment happens, so that how they end is plain. */
export function silence(orders: readonly PlannedOrder[], seed: number): PlannedOrder[] {
  const random = randomOf(seed + 1)
  return orders.map((order) => {
    const canBeAsked = order.callbacks.every(({ transaction }) => ASKED.has(transaction.provider))
    return random.chance(SHARE) && order.story === 'paid' && canBeAsked ? { ...order, isSilent: true } : order
  })
}

/** What the log of the senders cannot tell: silent orders that were created are paid, as their providers say. */
export function withSilent(expected: Expected, log: readonly LogLine[], silent: readonly OrderRef[]): Expected {
  const created = new Set(
    log.flatMap((line) => (line.line === 'order' && line.heard === 'created' ? [nameOf(line)] : [])),
  )
  const names = new Set(silent.map(nameOf).filter((name) => created.has(name)))
  const isSilent = (order: OrderRef) => names.has(nameOf(order))
  return {
    ...expected,
    paid: [...expected.paid, ...expected.unpaid.filter(isSilent)],
    unpaid: expected.unpaid.filter((order) => !isSilent(order)),
  }
}

/** Waits until they are no longer pending; says so if that takes too long. */
export async function untilHeardOf(
  databaseUrl: string,
  silent: readonly OrderRef[],
  msMax: number,
  signal: AbortSignal,
): Promise<void> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
  pool.on('error', () => undefined)
  const deadline = performance.now() + msMax
  try {
    while (!signal.aborted) {
      const { rows } = await pool.query<{ count: string }>(
        `select count(*) from orders where status <> 'pending' and out_trade_no = any($1)`,
        [silent.map(({ outTradeNo }) => outTradeNo)],
      )
      if (Number(rows[0]?.count) >= silent.length) return
      if (performance.now() > deadline) {
        say(
          `  of ${silent.length} orders without callbacks only ${rows[0]?.count ?? 0} are paid after ${msMax / 1_000} s`,
        )
        return
      }
      await sleep(200, undefined, { signal }).catch(() => undefined)
    }
  } finally {
    await pool.end()
  }
}

const nameOf = ({ merchant, outTradeNo }: OrderRef) => `${merchant}/${outTradeNo}`
