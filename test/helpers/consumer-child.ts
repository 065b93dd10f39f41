/**
 * A shipment worker that dies or freezes at a named point (crash-here.ts). `MUTANT` breaks a rule on purpose: what the
 * rule is for shows in the test.
 */
import { shipmentEffects, TABLES } from '../../examples/shipment/effects.ts'
import { readConsumerConfig } from '../../src/consumer/config.ts'
import { inbox, once, type Effect } from '../../src/consumer/effect.ts'
import { startConsumer } from '../../src/consumer/start.ts'
import { runProcess } from '../../src/runtime/lifecycle.ts'
import { createLog } from '../../src/runtime/log.ts'
import { reachToCrash } from './crash-here.ts'

const { CARRIER_URL = '', CALL_MS = '1000', LATE_MS = '200', SETTLE_MS = '60000', MUTANT } = process.env

function mutate(effect: Effect | undefined): Effect | undefined {
  if (effect?.kind !== 'once') return effect
  // Whoever finds a call left behind makes it again.
  if (MUTANT === 'no_ask')
    return once({ ...effect, takesFence: true, ask: () => Promise.resolve({ kind: 'did_not_happen' }) })
  // Nothing is committed before the call.
  if (MUTANT === 'no_calling')
    return inbox(async (_tx, event) => {
      await effect.call(event, { fence: 0n, signal: AbortSignal.timeout(1_000) })
    })
  return effect
}

await runProcess(async () => {
  const config = readConsumerConfig(process.env)
  const log = createLog('consumer', config.LOG_LEVEL)
  const effects = shipmentEffects({
    ...{ url: CARRIER_URL, callMs: Number(CALL_MS), lateMs: Number(LATE_MS), settleMsMax: Number(SETTLE_MS) },
  })
  const ship = mutate(effects['ship'])
  return {
    running: await startConsumer(config, {
      ...{ topic: 'fulfillment.shipment.v1', log, reach: reachToCrash },
      effects: ship === undefined ? effects : { ...effects, ship },
      prepare: (pool) => pool.query(TABLES),
    }),
    log,
  }
})
