/** A worker whose handlers end their process, in the way that the event's order is named after. */
import { inbox, once, type Effect } from '../../src/consumer/effect.ts'
import { readConsumerConfig } from '../../src/consumer/config.ts'
import { startConsumer } from '../../src/consumer/start.ts'
import { runProcess } from '../../src/runtime/lifecycle.ts'
import { createLog } from '../../src/runtime/log.ts'

const WAYS: Readonly<Record<string, () => unknown>> = {
  exit: () => process.exit(7),
  /** As a fault in native code does. */
  abort: () => process.abort(),
  /** No memory left: V8 ends the process. */
  memory: () => {
    for (const all: unknown[][] = []; ;) all.push(Array.from({ length: 100_000 }, (_, n) => ({ n })))
  },
  /** Nobody catches it. */
  late: async () => {
    setTimeout(() => {
      throw new Error('nobody catches this')
    })
    await new Promise(() => undefined)
  },
}
const endAs = (outTradeNo: string) => WAYS[outTradeNo.replace(/-.*/, '')]?.()

const ship = inbox(async (tx, { eventId, outTradeNo }) => {
  await tx.query('insert into effects (event_id) values ($1)', [eventId])
  await endAs(outTradeNo)
})
/** Behind it in its order. */
const back = inbox(async (tx, { eventId }) => {
  await tx.query('insert into effects (event_id) values ($1)', [eventId])
})
const cancel = once({
  call: async ({ outTradeNo }) => {
    await endAs(outTradeNo)
    return { kind: 'happened' }
  },
  ask: () => Promise.resolve({ kind: 'did_not_happen' }),
  ...{ callMs: 5_000, lateMs: 0, takesFence: true },
})

await runProcess(async () => {
  const config = readConsumerConfig(process.env)
  const log = createLog('consumer', config.LOG_LEVEL)
  const effects: Readonly<Record<string, Effect>> = { ship, cancel, return: back }
  return { running: await startConsumer(config, { topic: 'fulfillment.shipment.v1', log, effects }), log }
})
