import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock, type Clock } from '../runtime/clock.ts'
import type { BillDifferenceOptions } from './bill-entries.ts'
import { closeOrder } from './close-order.ts'
import { createOrders, type ApiAccess } from './create-orders.ts'
import { playOrder } from './play-order.ts'
import type { Stage } from './stage.ts'
import type { SenderKeys } from './keys.ts'
import { openLog, type LogLine } from './log.ts'
import type { PlannedOrder } from './planned.ts'
import type { QueryFaultOptions } from './query-faults.ts'
import { serveQueries } from './query-server.ts'
import { ANSWER_MS_MAX, createSender } from './send.ts'
import { createTally, type Tally } from './tally.ts'
import { truthOf } from './truth.ts'

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
  /** What a sender's own times are multiplied with: before it sends again (0.01 makes 15 s of it 150 ms), and between
   * two bytes of a slow one (a second). */
  readonly timeScale?: number
  /** Serves the providers' queries while the run lasts, and on until `until`. Port 0: any free one. */
  readonly queries?: {
    port: number
    onListening?: (url: string) => void
    /** A function is called when all has been sent. */
    until?: Promise<unknown> | (() => Promise<unknown>)
    faults?: QueryFaultOptions
    differences?: BillDifferenceOptions
  }
  /** When the callbacks of silent orders come after all; nothing given: never. */
  readonly late?: Promise<unknown>
  readonly clock?: Clock
  /** After each delivery. */
  readonly onProgress?: (tally: Tally) => void
  /** Aborting stops sending; what was sent is in the log. */
  readonly signal?: AbortSignal
}

const DEFAULTS = { inFlightMax: 64, timeScale: 0.01 }
const SLOW_BYTE_MS = 1_000

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
  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  const log = await openLog(options.logFile)
  const { gateways, inFlightMax = DEFAULTS.inFlightMax, answerMsMax = ANSWER_MS_MAX } = options
  const { timeScale = DEFAULTS.timeScale } = options
  const sender = createSender({ gateways, inFlightMax, answerMsMax, byteMs: SLOW_BYTE_MS * timeScale, clock })
  const startedAtMs = clock.now().getTime()
  // Whole seconds, as most providers write them.
  const dateOf = (atMs: number) => new Date(Math.floor((startedAtMs + atMs) / 1_000) * 1_000)
  const tally = createTally()
  const record = (line: LogLine) => {
    log.write(line)
    tally.add(line)
    options.onProgress?.(tally.read())
  }
  const queries = options.queries && (await openQueries(options.queries, { ...options, clock, dateOf, record }))
  try {
    const first = orders.filter(({ createAtMs }) => createAtMs === 0)
    for (const line of await createOrders(first, api, clock, signal)) record(line)
    const startedMs = clock.elapsedMs()
    const stage: Stage = {
      ...{ sender, record, clock, timeScale, dateOf },
      create: async (order) => (await createOrders([order], api, clock, signal)).forEach(record),
      close: (order) => closeOrder(order, api, { clock, signal }),
      isStopped: () => signal.aborted,
      until: async (atMs) => {
        const restMs = atMs - (clock.elapsedMs() - startedMs)
        // An abort only cuts the waiting short; what comes next looks whether the run is stopped.
        if (restMs > 0) await sleep(restMs, undefined, { signal }).catch(() => undefined)
      },
      elapsedMs: () => clock.elapsedMs() - startedMs,
      late: async () => {
        if (options.late === undefined) return false
        await Promise.race([options.late, aborted])
        return !signal.aborted
      },
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
    const until = options.queries?.until
    await (typeof until === 'function' ? until() : until)
    return tally.read()
  } finally {
    sender.close()
    await queries?.close()
    await log.close()
  }
}

async function openQueries(
  { port, onListening, faults, differences }: NonNullable<SimulationOptions['queries']>,
  world: Pick<SimulationOptions, 'orders' | 'keys'> & {
    readonly clock: Clock
    readonly dateOf: (atMs: number) => Date
    readonly record: (line: LogLine) => void
  },
) {
  const { orders, keys, clock, dateOf, record } = world
  const truth = truthOf(orders, dateOf, clock)
  const server = await serveQueries({
    port,
    keys,
    clock,
    record,
    truth,
    ...(faults && { faults }),
    ...(differences && { differences }),
  })
  onListening?.(server.url)
  return server
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
