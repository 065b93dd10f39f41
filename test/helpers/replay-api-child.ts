/** An api whose sender of replays dies at `CRASH_AT`, on the `CRASH_PASSAGE`-th passage. */
import { readApiConfig } from '../../src/api/config.ts'
import { startApi } from '../../src/api/start.ts'
import { runProcess } from '../../src/runtime/lifecycle.ts'
import { createLog } from '../../src/runtime/log.ts'

const { CRASH_AT, CRASH_PASSAGE = '1' } = process.env
let passages = 0

await runProcess(async () => {
  const log = createLog('api', 'info')
  const reachReplay = (point: string) => {
    if (point === CRASH_AT && ++passages === Number(CRASH_PASSAGE)) process.kill(process.pid, 'SIGKILL')
  }
  return { running: await startApi(readApiConfig(process.env), { log, reachReplay }), log }
})
