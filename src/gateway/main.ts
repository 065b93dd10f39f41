import { runProcess } from '../runtime/lifecycle.ts'
import { createLog } from '../runtime/log.ts'
import { readGatewayConfig } from './config.ts'
import { startGateway } from './start.ts'

await runProcess(async () => {
  const config = readGatewayConfig(process.env)
  const log = createLog('gateway', config.LOG_LEVEL)
  return { running: await startGateway(config, { log }), log }
})
