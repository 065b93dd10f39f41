import { createLog } from '../runtime/log.ts'
import { runProcess } from '../runtime/lifecycle.ts'
import { readProcessorConfig } from './config.ts'
import { startProcessor } from './start.ts'

await runProcess(async () => {
  const config = readProcessorConfig(process.env)
  const log = createLog('processor', config.LOG_LEVEL)
  const running = await startProcessor(config, { log })
  log.info({ metricsPort: running.metricsPort }, 'processor started')
  return { running, log }
})
