import { runProcess } from '../runtime/lifecycle.ts'
import { createLog } from '../runtime/log.ts'
import { readGateway } from './config.ts'
import { startGateway } from './start.ts'

await runProcess(async () => {
  const { config, merchants } = readGateway(process.env)
  const log = createLog('gateway', config.LOG_LEVEL)
  const gateway = await startGateway(config, { log, merchants })
  process.on('SIGHUP', () => void gateway.reloadMerchants())
  return { running: gateway, log }
})
