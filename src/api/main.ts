import { createLog } from '../runtime/log.ts'
import { runProcess } from '../runtime/lifecycle.ts'
import { readApiConfig } from './config.ts'
import { startApi } from './start.ts'

await runProcess(async () => {
  const config = readApiConfig(process.env)
  const log = createLog('api', config.LOG_LEVEL)
  return { running: await startApi(config, { log }), log }
})
