import type { SenderKeys } from './keys.ts'
import { playCallback } from './play-callback.ts'
import { playReports } from './play-reports.ts'
import type { PlannedOrder } from './planned.ts'
import type { Stage } from './stage.ts'

/** Plays everybody who has to do with one order: the merchant, the providers, the worker. */
export async function playOrder(order: PlannedOrder, keys: SenderKeys, stage: Stage): Promise<void> {
  const closed = closeLater(order, stage)
  if (order.isSilent === true) {
    await Promise.all([createLater(order, stage), closed])
    if (!(await stage.late()) || stage.isStopped()) return
  }
  const accepted = order.callbacks.map((callback) => playCallback({ order, callback, keys, closed }, stage))
  const payment = order.callbacks.findIndex(({ event }) => event === 'payment')
  await Promise.all([
    order.isSilent === true ? undefined : createLater(order, stage),
    closed,
    ...accepted,
    playReports(order, { payment: order.callbacks[payment], accepted: accepted[payment] }, keys, stage),
  ])
}

async function createLater(order: PlannedOrder, stage: Stage): Promise<void> {
  if (order.createAtMs === null || order.createAtMs === 0) return
  await stage.until(order.createAtMs)
  if (!stage.isStopped()) await stage.create(order)
}

async function closeLater(order: PlannedOrder, stage: Stage): Promise<void> {
  if (order.closeAtMs === null) return
  await stage.until(order.closeAtMs)
  if (!stage.isStopped()) stage.record(await stage.close(order))
}
