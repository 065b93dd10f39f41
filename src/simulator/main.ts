#!/usr/bin/env node
import { BadConfiguration, readConfig, readTogether } from '../runtime/config.ts'
import { createLog } from '../runtime/log.ts'
import { readSimulatorConfig, SIMULATOR } from './config.ts'
import { loadKeys } from './keys.ts'
import { runPlan } from './run-plan.ts'

/** Plays one plan and ends: 0 if nothing was accepted wrongly, 1 if something was, 2 for a bad configuration. */
try {
  const { config, keys } = readTogether({
    config: () => readSimulatorConfig(process.env),
    keys: () => loadKeys(readConfig({ SENDERS_DIR: SIMULATOR.SENDERS_DIR }, process.env).SENDERS_DIR),
  })
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  process.exitCode = await runPlan(config, keys, createLog('simulator', config.LOG_LEVEL), stop.signal)
} catch (error) {
  if (!(error instanceof BadConfiguration)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}
