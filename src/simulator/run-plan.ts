import { randomInt } from 'node:crypto'
import { BadConfiguration } from '../runtime/config.ts'
import type { Log } from '../runtime/log.ts'
import type { SimulatorConfig } from './config.ts'
import { expectedOf } from './expected.ts'
import type { SenderKeys } from './keys.ts'
import { readLog } from './log.ts'
import { planOf } from './plan.ts'
import { runSimulation } from './start.ts'

/**
 * Draws a plan and plays it. Aborting stops sending, and serving queries.
 * @returns the exit code: 0 if nothing was accepted wrongly, 1 if something was
 */
export async function runPlan(
  config: SimulatorConfig,
  keys: readonly SenderKeys[],
  log: Log,
  signal: AbortSignal,
): Promise<number> {
  const [first, ...others] = keys.map(({ merchant }) => merchant)
  if (first === undefined) throw new BadConfiguration(`${config.SENDERS_DIR}: senders.json names no merchant`)
  const seed = config.SEED ?? randomInt(1, 2 ** 31)
  const runId = `S${Date.now().toString(36)}`
  log.info({ seed, runId, orders: config.ORDERS }, 'simulation starts')
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  const differences = { shares: config.BILL_DIFFERENCE_SHARES, seed }
  const faults = { shares: config.QUERY_FAULT_SHARES, seed, slowMs: config.QUERY_SLOW_MS }
  const tally = await runSimulation({
    orders: planOf({
      ...{ seed, runId, merchants: [first, ...others], orders: config.ORDERS },
      ...{ deliveriesPerOrder: config.DELIVERIES_PER_ORDER, spreadMs: config.SPREAD_MS, againMs: config.AGAIN_MS },
      ...{ reportShare: config.REPORT_SHARE, slowShare: config.SLOW_SHARE, cutOffShare: config.CUT_OFF_SHARE },
      ...(config.DUPLICATE_SHARE === undefined ? {} : { duplicateShare: config.DUPLICATE_SHARE }),
      silentShare: config.SILENT_SHARE,
      ...(config.PROVIDER_SHARES === undefined ? {} : { providers: config.PROVIDER_SHARES }),
      ...(config.STORY_SHARES === undefined ? {} : { stories: config.STORY_SHARES }),
    }),
    keys,
    gateways: config.GATEWAY_URLS,
    api: { url: config.API_URL, token: config.API_TOKEN },
    logFile: config.SIMULATION_LOG,
    inFlightMax: config.IN_FLIGHT_MAX,
    timeScale: config.TIME_SCALE,
    signal,
    ...(config.QUERY_PORT === undefined
      ? {}
      : { queries: { ...queriesAt(config.QUERY_PORT, log, stopped), faults, differences } }),
  })
  const { paid, uncertain, unpaid, wronglyAccepted, genuineRefused } = expectedOf(readLog(config.SIMULATION_LOG))
  const expected = { paid: paid.length, uncertain: uncertain.length, unpaid: unpaid.length }
  const found = { wronglyAccepted: wronglyAccepted.length, genuineRefused: genuineRefused.length }
  log.info({ ...tally, expected, ...found, log: config.SIMULATION_LOG }, 'simulation ends')
  return wronglyAccepted.length > 0 ? 1 : 0
}

const queriesAt = (port: number, log: Log, until: Promise<void>) => ({
  port,
  until: () => {
    log.info({}, 'all is sent; the providers answer queries until this process is stopped')
    return until
  },
  onListening: (url: string) => log.info({ url }, 'the providers answer queries'),
})
