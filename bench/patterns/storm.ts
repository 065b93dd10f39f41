import { setTimeout as delay } from 'node:timers/promises'
import type { System } from './system.ts'

const DELIVERIES = 5
/** A provider sends again what was not answered with success; its 15 s are 50 ms here. */
const AGAIN_MS = 50
const CHUNK = 200

export interface StormOptions {
  readonly prefix: string
  /** Orders whose callbacks are under way at once. */
  readonly width: number
  /** After each order, so that a long test does not become a long queue. */
  readonly pauseMs?: number
  /** Asked before each order. */
  readonly goesOn: (begun: number) => boolean
}

/**
 * Pays orders: each callback is sent five times at the same moment to both workers, and again until it is answered with
 * success; so that whoever was killed at it is asked again.
 * @returns the orders, all of whose callbacks have been answered with success
 */
export async function storm(system: System, { prefix, width, pauseMs = 0, goesOn }: StormOptions): Promise<string[]> {
  const orders: string[] = []
  let created = 0
  let creating: Promise<void> = Promise.resolve()
  const next = async (): Promise<string | undefined> => {
    if (!goesOn(orders.length)) return undefined
    const order = `${prefix}${orders.length}`
    if (orders.push(order) > created) {
      const chunk = Array.from({ length: CHUNK }, (_, i) => `${prefix}${created + i}`)
      created += CHUNK
      creating = creating.then(() => system.createOrders(chunk))
    }
    await creating
    return order
  }
  const sender = async () => {
    for (let order = await next(); order !== undefined; order = await next()) {
      const outTradeNo = order
      await Promise.all(Array.from({ length: DELIVERIES }, (_, at) => sendUntilSuccess(system, outTradeNo, at)))
      if (pauseMs > 0) await delay(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: width }, sender))
  return orders
}

/** One more delivery of each, as a provider's late repeat. */
export async function repeatAll(system: System, orders: readonly string[]): Promise<void> {
  for (let from = 0; from < orders.length; from += 50)
    await Promise.all(orders.slice(from, from + 50).map((order, at) => sendUntilSuccess(system, order, at)))
}

async function sendUntilSuccess(system: System, outTradeNo: string, at: number): Promise<void> {
  for (let tries = 0; ; tries++) {
    const callback = { outTradeNo, eventType: 'payment_succeeded', messageId: `${outTradeNo}/${at}/${tries}` }
    if (await system.deliver(callback, at + tries)) return
    await delay(AGAIN_MS)
  }
}
