// Question: how long does an audit take, and how much memory?
// node bench/audit.ts [events] [lanes]   (needs the local stack; makes its own topics and database)
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readAuditConfig } from '../src/reconcile/audit/config.ts'
import { runAudit } from '../src/reconcile/audit/start.ts'
import { createLog } from '../src/runtime/log.ts'
import { createPool } from '../src/runtime/postgres.ts'
import { createInstallation } from '../test/helpers/installation.ts'
import { fillOutbox } from '../test/helpers/fill-outbox.ts'

const DAY_MS = 86_400_000
if (process.send !== undefined) await audit()
else await prepare()

async function prepare() {
  const [events = '1000000', lanes = '12'] = process.argv.slice(2)
  const it = await createInstallation({ partitions: Number(lanes) })
  try {
    const startedMs = performance.now()
    await fillOutbox(it, Math.ceil(Number(events) / 3))
    console.log({ filledSec: Math.round((performance.now() - startedMs) / 1_000) })
    for (const round of [1, 2]) {
      const child = fork(import.meta.filename, { env: it.env() })
      const [report] = (await once(child, 'message')) as [object]
      console.log({ round, ...report })
      await once(child, 'exit')
    }
  } finally {
    await it.drop()
  }
}

/** In a process of its own, so that its memory is the audit's alone. */
async function audit() {
  const config = readAuditConfig(process.env)
  const pool = createPool(config.DATABASE_URL, 'bench', createLog('bench', 'silent'), 2)
  const [startedMs, before] = [performance.now(), process.memoryUsage.rss()]
  const window = { sinceMs: Date.now() - DAY_MS, untilMs: Date.now() + DAY_MS }
  const request = { actor: 'bench', window, onProgress: () => undefined }
  const end = await runAudit(config, pool, request, createLog('bench', 'silent'))
  await pool.end()
  if (end.kind !== 'done') throw new Error(end.kind)
  const { result, digest, counts, events, messages, orders, undecided } = end.report
  const seconds = Math.round((performance.now() - startedMs) / 100) / 10
  const { maxRSS } = process.resourceUsage()
  const mb = { before: Math.round(before / 1_048_576), most: Math.round(maxRSS / 1_024) }
  process.send?.({ result, digest, counts, undecided, events, messages, orders, seconds, mb })
}
