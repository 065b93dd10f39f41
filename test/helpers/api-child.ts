/**
 * An api that dies at a statement of the first request that looks for an anomaly: `CRASH_STATEMENT` counts them from
 * there, 1 is the first. `CRASH_WHEN=sent`: it is on its way, and nobody knows what becomes of it; `answered`: Postgres
 * has answered, and nobody was told. Or at a point that has a name, as a processor does (`crash-here.ts`).
 */
import pg from 'pg'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi } from '../../src/api/start.ts'
import { runProcess } from '../../src/runtime/lifecycle.ts'
import { createLog } from '../../src/runtime/log.ts'
import { reachToCrash } from './crash-here.ts'

const { CRASH_STATEMENT = '0', CRASH_WHEN = 'sent' } = process.env
const FIRST = /from anomalies a join orders/
/** What runs besides. */
const OTHERS = /from api_tokens|from topology|from replays where sent_at is null|^listen|^select$/
let count = 0

type Query = (this: pg.Client, config: string | pg.QueryConfig, ...rest: unknown[]) => unknown
const prototype = pg.Client.prototype as unknown as { query: Query }
const { query } = prototype
const die = () => process.kill(process.pid, 'SIGKILL')

prototype.query = function (config, ...rest) {
  const text = typeof config === 'string' ? config : config.text
  if (OTHERS.test(text) || (count === 0 && !FIRST.test(text)) || ++count !== Number(CRASH_STATEMENT))
    return query.call(this, config, ...rest)
  // A turn later all of it is written.
  if (CRASH_WHEN === 'sent') setImmediate(die)
  // The pool asks with a callback, a transaction with a promise.
  else if (typeof rest.at(-1) === 'function') rest.splice(-1, 1, die)
  const answer = query.call(this, config, ...rest)
  if (CRASH_WHEN !== 'sent' && answer instanceof Promise) answer.then(die, die)
  return answer
}

await runProcess(async () => {
  const config = readApiConfig(process.env)
  const log = createLog('api', 'info')
  return { running: await startApi(config, { log, reach: reachToCrash }), log }
})
