/** An inventory or points worker (`WORKER`) that dies or freezes at a named point (crash-here.ts). */
import { inventoryEffects, TABLES as INVENTORY } from '../../examples/inventory/effects.ts'
import { pointsEffects, TABLES as POINTS } from '../../examples/points/effects.ts'
import { readConsumerConfig } from '../../src/consumer/config.ts'
import { startConsumer } from '../../src/consumer/start.ts'
import { runProcess } from '../../src/runtime/lifecycle.ts'
import { createLog } from '../../src/runtime/log.ts'
import { reachToCrash } from './crash-here.ts'

const WORKERS = {
  inventory: { topic: 'fulfillment.inventory.v1', effects: inventoryEffects, tables: INVENTORY },
  points: { topic: 'fulfillment.points.v1', effects: pointsEffects, tables: POINTS },
} as const

const { topic, effects, tables } = WORKERS[process.env['WORKER'] === 'points' ? 'points' : 'inventory']
await runProcess(async () => {
  const config = readConsumerConfig(process.env)
  const log = createLog('consumer', config.LOG_LEVEL)
  const running = await startConsumer(config, {
    ...{ topic, effects, log, reach: reachToCrash },
    prepare: (pool) => pool.query(tables),
  })
  return { running, log }
})
