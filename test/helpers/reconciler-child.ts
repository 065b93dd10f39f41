/** A reconciler that dies at a named point (`crash-here.ts`), with the keys and addresses of QUERY_KEYS_DIR. */
import { readReconcilerSetup } from '../../src/reconcile/config.ts'
import { startReconciler } from '../../src/reconcile/start.ts'
import { runProcess } from '../../src/runtime/lifecycle.ts'
import { createLog } from '../../src/runtime/log.ts'
import { reachToCrash } from './crash-here.ts'

await runProcess(async () => {
  const { config, keys } = readReconcilerSetup(process.env)
  const log = createLog('reconcile', 'info')
  return { running: await startReconciler(config, { log, clients: keys.clients, keys, reach: reachToCrash }), log }
})
