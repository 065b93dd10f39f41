import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock, type Clock } from '../runtime/clock.ts'
import { createOrders, type ApiAccess } from './create-orders.ts'
import { playOrder, type Stage } from './play-order.ts'
import type { SenderKeys } from './keys.ts'
import { openLog, type LogLine } from './log.ts'
import type { PlannedOrder } from './plan.ts'
import { ANSWER_MS_MAX, createSender } from './send.ts'
import { createTally, type Tally } from './tally.ts'

export interface SimulationOptions {
  readonly orders: readonly PlannedOrder[]
  readonly keys: readonly SenderKeys[]
  /** Base addresses: `http://127.0.0.1:8080`. */
  readonly gateways: readonly string[]
  readonly api: ApiAccess
  readonly logFile: string
  readonly inFlightMax?: number
  /** How long a sender waits for an answer; five seconds, as the providers do, unless it is said here. */
  readonly answerMsMax?: number
  /** What a provider's waiting time is multiplied with before it sends again; 0.01 makes 15 s of it 150 ms. */
  readonly retryScale?: number
  readonly clock?: Clock
  /** After each delivery. */
  readonly onProgress?: (tally: Tally) => void
  /** Aborting stops sending; what was sent is in the log. */
  readonly signal?: AbortSignal
}

const DEFAULTS = { inFlightMax: 64, retryScale: 0.01 }

/**
 * Plays a plan against a running system: creates the orders through the api, then plays provider and worker of each,
 * each callback at its time. Resolves when all has been sent and heard, and the log is written.
 */
export async function runSimulation(options: SimulationOptions): Promise<Tally> {
  const { orders, api, clock = systemClock } = options
  const keysOf = keyRing(options.keys, orders)
  // A play that breaks off stops the others: nothing may be sent once the log is closed.
  const broken = new AbortController()
  const signal = AbortSignal.any([broken.signal, ...(options.signal === undefined ? [] : [options.signal])])
  const log = await openLog(options.logFile)
  const { gateways, inFlightMax = DEFAULTS.inFlightMax, answerMsMax = ANSWER_MS_MAX } = options
  const sender = createSender({ gateways, inFlightMax, answerMsMax, clock })
  const tally = createTally()
  const record = (line: LogLine) => {
    log.write(line)
    tally.add(line)
    options.onProgress?.(tally.read())
  }
  try {
    const first = orders.filter(({ createAtMs }) => createAtMs === 0)
    for (const line of await createOrders(first, api, clock, signal)) record(line)
    const startedMs = clock.elapsedMs()
    const stage: Stage = {
      ...{ sender, record, clock, retryScale: options.retryScale ?? DEFAULTS.retryScale },
      create: async (order) => (await createOrders([order], api, clock, signal)).forEach(record),
      isStopped: () => signal.aborted,
      until: async (atMs) => {
        const restMs = atMs - (clock.elapsedMs() - startedMs)
        // An abort only cuts the waiting short; what comes next looks whether the run is stopped.
        if (restMs > 0) await sleep(restMs, undefined, { signal }).catch(() => undefined)
      },
      elapsedMs: () => clock.elapsedMs() - startedMs,
    }
    const plays = orders.map(async (order) => {
      try {
        await playOrder(order, keysOf(order), stage)
      } catch (error) {
        broken.abort(error)
      }
    })
    await Promise.all(plays)
    broken.signal.throwIfAborted()
    return tally.read()
  } finally {
    sender.close()
    await log.close()
  }
}

function keyRing(keys: readonly SenderKeys[], orders: readonly PlannedOrder[]) {
  const byMerchant = new Map(keys.map((one) => [one.merchant, one]))
  const find = ({ merchant }: PlannedOrder) => {
    const found = byMerchant.get(merchant)
    if (found === undefined) throw new Error(`the plan names merchant ${merchant}, of whom there are no keys`)
    return found
  }
  orders.forEach(find)
  return find
}
