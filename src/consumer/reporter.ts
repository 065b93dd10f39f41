import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { signReport } from '../providers/worker/sign.ts'
import { webhookSecret } from '../providers/standard-webhooks/keys.ts'
import { describeError, type Log } from '../runtime/log.ts'
import type { Transaction } from '../runtime/postgres.ts'
import type { Reach } from './crash-points.ts'
import { holdAndAct } from './hold-and-act.ts'
import type { ConsumerMetrics } from './metrics.ts'
import { backoffMs } from './parts.ts'

export interface ReporterOptions {
  readonly pool: pg.Pool
  readonly consumer: string
  readonly gatewayUrl: string
  /** Has `<merchant>.key` with the `whsec_…` of each merchant's `worker` section. */
  readonly keysDir: string
  readonly metrics: ConsumerMetrics
  readonly log: Log
  readonly reach: Reach
  readonly now: () => Date
}

export interface Reporter {
  readonly stop: () => Promise<void>
}

interface Report {
  readonly id: string
  readonly merchant: string
  readonly body: string
  readonly attempts: number
}

const POST_MS_MAX = 6_000
const POLL_MS = 500
const AT_ONCE = 20
const ACCEPTED = 'accepted'
const RETRY = { fromMs: 500, toMs: 300_000 }

/**
 * Sends what `report` left, until the gateway accepts it: a report that is sent twice has one id and is one fact. Two
 * senders take turns by the row's lock.
 */
export function createReporter(options: ReporterOptions): Reporter {
  const { pool, consumer, metrics, log, reach } = options
  const stopping = new AbortController()
  const sendSome = () =>
    holdAndAct(
      pool,
      POST_MS_MAX,
      async ({ tx }): Promise<boolean> => {
        const reports = await claimReports(tx, consumer)
        if (reports.length === 0) return false
        await reach('report_claimed')
        const answers = await Promise.all(reports.map((report) => post(report, options).catch(saying)))
        await reach('report_sent')
        for (const [index, report] of reports.entries()) {
          const answer = answers[index] ?? ''
          metrics.reports.inc({ consumer, outcome: answer === ACCEPTED ? 'accepted' : 'failed' })
          if (answer !== ACCEPTED)
            log.warn({ id: report.id, merchant: report.merchant, answer }, 'a report is sent again')
          await noteAnswer(tx, report, answer)
        }
        return true
      },
      (step) => (step === 'after_commit' ? reach('report_after_commit') : undefined),
    )
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      const found = await sendSome().catch((error: unknown) => {
        log.warn({ error: describeError(error) }, 'reports wait for Postgres')
        return false
      })
      if (!found) await pause(POLL_MS, stopping.signal)
    }
  })()
  return {
    stop: () => {
      stopping.abort()
      return loop
    },
  }
}

/** The first unsent one of each order, as a parcel comes back after it has left. */
async function claimReports(tx: Transaction, consumer: string): Promise<Report[]> {
  const { rows } = await tx.query<Report>({
    name: 'paidonce-due-reports',
    text: `select id, merchant, body, attempts from paidonce_consumer.reports r
           where consumer = $1 and sent_at is null and due_at <= statement_timestamp()
             and seq = (
               select earlier.seq from paidonce_consumer.reports earlier
               where earlier.consumer = r.consumer and earlier.order_key = r.order_key and earlier.sent_at is null
               order by earlier.consumer, earlier.order_key, earlier.seq limit 1)
           order by due_at limit $2 for update skip locked`,
    values: [consumer, AT_ONCE],
  })
  return rows
}

async function noteAnswer(tx: Transaction, { id, attempts }: Report, answer: string): Promise<void> {
  await tx.query({
    name: 'paidonce-note-report',
    text: `update paidonce_consumer.reports
           set attempts = attempts + 1, last_answer = $2, sent_at = case when $3 then clock_timestamp() end,
             due_at = clock_timestamp() + $4 * interval '1 millisecond'
           where id = $1`,
    values: [id, answer.slice(0, 300).replaceAll('\0', ''), answer === ACCEPTED, backoffMs(RETRY, attempts)],
  })
}

const saying = (error: unknown) => describeError(error).message

async function post({ id, merchant, body }: Report, options: ReporterOptions): Promise<string> {
  const { gatewayUrl, keysDir, now } = options
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(merchant)) return `no merchant's name: ${merchant}`
  // Read each time, so that a secret can be changed without a restart.
  const key = webhookSecret((await readFile(join(keysDir, `${merchant}.key`), 'utf8')).trim())
  if (key === undefined) return `${merchant}.key must hold whsec_ and the base64 of 24 to 64 bytes`
  const { headers, rawBody } = signReport(body, id, [key], now())
  const response = await fetch(`${gatewayUrl.replace(/\/$/, '')}/callbacks/worker/${merchant}`, {
    ...{ method: 'POST', headers, body: rawBody, redirect: 'error' },
    signal: AbortSignal.timeout(POST_MS_MAX - 1_000),
  })
  const text = await response.text()
  return response.ok ? ACCEPTED : `${response.status} ${text}`
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
