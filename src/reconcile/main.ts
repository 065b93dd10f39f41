import { runProcess } from '../runtime/lifecycle.ts'
import { createLog } from '../runtime/log.ts'
import { readReconcilerSetup } from './config.ts'
import { startReconciler } from './start.ts'

await runProcess(async () => {
  const { config, keys } = readReconcilerSetup(process.env)
  const log = createLog('reconcile', config.LOG_LEVEL)
  const running = await startReconciler(config, { log, clients: keys.clients, keys })
  log.info({ metricsPort: running.metricsPort }, 'reconciler started')
  return { running, log }
})
