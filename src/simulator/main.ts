#!/usr/bin/env node
import { randomInt } from 'node:crypto'
import { BadConfiguration, readConfig, readTogether } from '../runtime/config.ts'
import { createLog } from '../runtime/log.ts'
import { readSimulatorConfig, SIMULATOR, type SimulatorConfig } from './config.ts'
import { expectedOf } from './expected.ts'
import { loadKeys, type SenderKeys } from './keys.ts'
import { readLog } from './log.ts'
import { planOf } from './plan.ts'
import { runSimulation } from './start.ts'

/** Plays one plan and ends: 0 if nothing was accepted wrongly, 1 if something was, 2 for a bad configuration. */
async function main(config: SimulatorConfig, keys: readonly SenderKeys[]): Promise<number> {
  const log = createLog('simulator', config.LOG_LEVEL)
  const [first, ...others] = keys.map(({ merchant }) => merchant)
  if (first === undefined) throw new BadConfiguration(`${config.SENDERS_DIR}: senders.json names no merchant`)
  const seed = config.SEED ?? randomInt(1, 2 ** 31)
  const runId = `S${Date.now().toString(36)}`
  log.info({ seed, runId, orders: config.ORDERS }, 'simulation starts')
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  const tally = await runSimulation({
    orders: planOf({
      ...{ seed, runId, merchants: [first, ...others], orders: config.ORDERS },
      ...{ deliveriesPerOrder: config.DELIVERIES_PER_ORDER, spreadMs: config.SPREAD_MS, againMs: config.AGAIN_MS },
      ...{ alipayShare: config.ALIPAY_SHARE, reportShare: config.REPORT_SHARE },
    }),
    keys,
    gateways: config.GATEWAY_URLS,
    api: { url: config.API_URL, token: config.API_TOKEN },
    logFile: config.SIMULATION_LOG,
    inFlightMax: config.IN_FLIGHT_MAX,
    retryScale: config.RETRY_SCALE,
    signal: stop.signal,
  })
  const { paid, uncertain, unpaid, wronglyAccepted } = expectedOf(readLog(config.SIMULATION_LOG))
  const expected = { paid: paid.length, uncertain: uncertain.length, unpaid: unpaid.length }
  log.info(
    { ...tally, expected, wronglyAccepted: wronglyAccepted.length, log: config.SIMULATION_LOG },
    'simulation ends',
  )
  return wronglyAccepted.length > 0 ? 1 : 0
}

try {
  const { config, keys } = readTogether({
    config: () => readSimulatorConfig(process.env),
    keys: () => loadKeys(readConfig({ SENDERS_DIR: SIMULATOR.SENDERS_DIR }, process.env).SENDERS_DIR),
  })
  process.exitCode = await main(config, keys)
} catch (error) {
  if (!(error instanceof BadConfiguration)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}
