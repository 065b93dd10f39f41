/** A gateway in a process of its own that crashes as `crash-here.ts` is told. */
import { readGateway } from '../../src/gateway/config.ts'
import type { GatewayCrashPoint } from '../../src/gateway/crash-points.ts'
import { startGateway } from '../../src/gateway/start.ts'
import { runProcess } from '../../src/runtime/lifecycle.ts'
import { createLog } from '../../src/runtime/log.ts'
import { reachToCrashNow } from './crash-here.ts'

/** The client has the records then, and writes them within the next turns: so that they may be on their way. */
const reach = (point: GatewayCrashPoint) => {
  if (point === 'produce_called') setImmediate(() => setImmediate(reachToCrashNow, point))
  else reachToCrashNow(point)
}

await runProcess(async () => {
  const { config, merchants } = readGateway(process.env)
  const log = createLog('gateway', 'info')
  return { running: await startGateway(config, { log, merchants, reach }), log }
})
