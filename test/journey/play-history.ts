import { randomUUID } from 'node:crypto'
import type { Fact } from '../../src/orders/model.ts'
import { AMOUNT } from '../orders/build.ts'
import { isReport } from '../orders/history.ts'
import type { Step } from '../orders/shop.ts'
import { anOrder, type Call } from '../api/start-api.ts'
import { callbackOf, MERCHANT, type Installation } from '../helpers/installation.ts'
import type { Random } from '../helpers/seed.ts'
import { until } from '../helpers/until.ts'
import type { RealHistory } from './real-history.ts'
import type { Progress, watchOrders } from './watch-orders.ts'

/** What was done to one order, as far as whoever did it can know. */
export interface Played {
  /** In the order of the order's partition. */
  readonly sent: Fact[]
  /** The create came after the first so many facts at the earliest, at the latest. */
  createdAfter: readonly [number, number]
}
export type PlayedHistory = ReadonlyMap<number, Played>

const CREATE = '/v1/orders'

export interface World {
  readonly installation: Installation
  readonly call: Call
  readonly watch: ReturnType<typeof watchOrders>
}

/**
 * Lets a history happen to its orders. Facts go out in pieces of any size, at times while a command is under way, and
 * copies of them come later. A worker reports what its event asked for, so that one is waited for; where it does not
 * come, nor does the report.
 */
export async function playHistory(world: World, { of, steps }: RealHistory, random: Random) {
  const { nameOf, expiresAtMsOf } = of.real
  const played = new Map(of.orderIds.map((id): [number, Played] => [id, { sent: [], createdAfter: [0, 0] }]))
  let unsent: { readonly orderId: number; readonly fact: Fact }[] = []
  const flush = async () => {
    const batch = unsent
    unsent = []
    for (const { orderId, fact } of batch) played.get(orderId)?.sent.push(fact)
    if (batch.length > 0)
      await world.installation.send(batch.map(({ orderId, fact }) => callbackOf(nameOf(orderId), fact)))
  }
  const settled = async (orderId: number) => {
    await flush()
    const count = played.get(orderId)?.sent.length ?? 0
    const isSettled = ({ deliveries, isBusy }: Progress) => deliveries >= count && !isBusy
    return world.watch.untilOrder(nameOf(orderId), `has ${count} deliveries`, isSettled)
  }
  const isAsked = async ({ orderId, fact }: { orderId: number; fact: Fact }) => {
    const { isShipAsked, isShipped } = await settled(orderId)
    return fact.eventType === 'goods_returned' ? isShipped : isShipAsked
  }
  const doStep = async (step: Step, one: Played) => {
    const { orderId } = step
    if (step.kind === 'fact') {
      if (!isReport(step) || (await isAsked(step))) unsent.push(step)
      if (random.chance(0.2) && one.sent.length > 0) unsent.push(again({ orderId, fact: random.pick(one.sent) }))
      if (random.chance(0.5)) await flush()
    } else if (step.kind === 'create') {
      const from = random.chance(0.5) && one.sent.length > 0 ? (await settled(orderId), one.sent.length) : 0
      await Promise.all([ask(world.call, CREATE, bodyOf(orderId)), flush()])
      one.createdAfter = [from, one.sent.length]
    } else if (step.kind === 'close') {
      if (random.chance(0.5)) await settled(orderId)
      const path = `/v1/orders/${MERCHANT}/${nameOf(orderId)}/close`
      await Promise.all([ask(world.call, path, {}, { 'idempotency-key': randomUUID() }), flush()])
    } else {
      await flush()
      await world.watch.untilOrder(nameOf(orderId), 'is pending no more', ({ status }) => status !== 'pending')
    }
  }
  const bodyOf = (orderId: number) =>
    anOrder(nameOf(orderId), {
      merchant: MERCHANT,
      amount_minor: AMOUNT,
      expires_at: new Date(expiresAtMsOf(orderId)).toISOString(),
      group: of.orderIds.length > 1 ? nameOf(0) : null,
    })

  for (const step of steps) {
    const one = played.get(step.orderId)
    if (one !== undefined) await doStep(step, one)
  }
  await flush()
  return played
}

/** Asks again while the api is busy, as its 503 says; 202: the close is filed, and its result is read later. */
async function ask(call: Call, ...[path, body, headers]: [string, object, Record<string, string>?]) {
  await until(`${path} is answered`, async () => {
    const answer = await call('POST', path, body, headers)
    if (answer.status < 300 || (path !== CREATE && answer.status === 409)) return true
    throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
  })
}

/** The same fact as another messenger has it: with another time, in other words. */
export const again = <T extends { readonly fact: Fact }>(one: T): T => ({
  ...one,
  fact: { ...one.fact, eventTimeMs: one.fact.eventTimeMs + 1, detail: 'again' },
})
