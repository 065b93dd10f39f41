import pg from 'pg'
import { DEFAULT_ROUTES } from '../../orders/routes.ts'
import { kafkaSettings } from '../../runtime/kafka/connection.ts'
import { createOffsetReader } from '../../runtime/kafka/offset-reader.ts'
import { createPartitionReader } from '../../runtime/kafka/partition-reader.ts'
import type { Log } from '../../runtime/log.ts'
import { endConnections } from '../../runtime/end-connections.ts'
import type { TransactionStep } from '../../runtime/postgres.ts'
import { createEventReader } from '../../schemas/event-reader.ts'
import { saveAuditOrders, type AuditRun } from '../../store/audit-runs.ts'
import { droppedMonths } from '../../store/audit-archived.ts'
import { readTopology } from '../../store/topology.ts'
import { auditLanes } from './audit-lanes.ts'
import { auditOrders, NO_ORDERS, type OrdersReport } from './audit-orders.ts'
import { beginRun, scopeOf, type Begun } from './begin.ts'
import { conclude, type AuditReport } from './conclude.ts'
import type { AuditConfig } from './config.ts'
import { FINDINGS_SHOWN_MAX, stored } from './finding.ts'
import type { Undecided } from './lane-window.ts'
import { reachNothing, type AuditRequest } from './request.ts'

export type { AuditReport } from './conclude.ts'

export type AuditEnd =
  | { readonly kind: 'done'; readonly report: AuditReport }
  /** Another audit runs. */
  | { readonly kind: 'busy' }
  | Exclude<Begun, { kind: 'run' }>

/** Any number that nothing else in the database locks. */
const LOCK = 7_205_711_306
/** Beyond the statement's own limit: the server is frozen, or its network is gone. */
const ANSWER_MS_MAX = 90_000
const CONNECT_MS_MAX = 10_000
const SESSION = {
  default_transaction_read_only: 'on',
  statement_timeout: '60s',
  idle_in_transaction_session_timeout: '60s',
  // As a lane's: a plan that was made while a day's partition was empty walks all of it later.
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  jit: 'off',
}

/**
 * Compares every payment transition in Postgres with the events in the topics, and the rows of each order with one
 * another. It changes nothing but its own tables; beside live traffic it judges what is surely out.
 */
export async function runAudit(config: AuditConfig, pool: pg.Pool, request: AuditRequest, log: Log): Promise<AuditEnd> {
  const settings = kafkaSettings(config)
  const client = new pg.Client({
    ...{ connectionString: config.DATABASE_URL, application_name: 'paidonce-audit' },
    ...{ connectionTimeoutMillis: CONNECT_MS_MAX, query_timeout: ANSWER_MS_MAX, keepAlive: true },
  })
  client.on('error', () => undefined)
  await client.connect()
  const partitions = createPartitionReader(settings, log)
  try {
    for (const [name, value] of Object.entries(SESSION))
      await client.query('select set_config($1, $2, false)', [name, value])
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [LOCK])
    if (rows[0]?.mine !== true) return { kind: 'busy' }
    const { reach = reachNothing } = request
    const scope = await scopeOf(config, log)
    await reach('audit_before_begin')
    const begun = await beginRun(pool, request, scope)
    if (begun.kind !== 'run') return begun
    const { run } = begun
    await reach('audit_begun')
    const offsets = await createOffsetReader(settings, log)
    try {
      const events = createEventReader(config.SCHEMA_REGISTRY_URL, config.TOPIC_PREFIX)
      const readers = { partitions, events, topicPrefix: config.TOPIC_PREFIX }
      const { sinceMs, untilMs } = run
      const { inputTopic } = scope
      const options = { db: client, offsets, readers, appId: config.APP_ID, inputTopic, sinceMs, untilMs }
      const lanes = await auditLanes(pool, run, options, request)
      const orders = await judgeOrders(pool, client, run, inputTopic, request)
      await reach('audit_judged')
      const gone = [...(await lanesLacking(pool, inputTopic, lanes.length)), ...(await notArchived(client, run))]
      const report = await conclude(pool, run, lanes, orders, gone)
      await reach('audit_concluded')
      return { kind: 'done', report }
    } finally {
      await offsets.close()
    }
  } finally {
    await partitions.close()
    await endConnections(() => client.end(), [client])
  }
}

/** An audit that looks at the topics of nobody, or in an empty database, finds nothing, and has proven nothing. */
async function lanesLacking(pool: pg.Pool, inputTopic: string, lanes: number): Promise<Undecided[]> {
  const partitions = await readTopology(pool, inputTopic)
  if (lanes > 0 && lanes >= (partitions ?? 0)) return []
  const detail =
    lanes === 0
      ? `Postgres knows no lane of ${inputTopic}: check TOPIC_PREFIX and DATABASE_URL; or no processor has run yet`
      : `${(partitions ?? 0) - lanes} of the ${partitions ?? 0} partitions of ${inputTopic} never had a lane`
  return [{ lane: null, reason: 'no_lane', detail }]
}

async function judgeOrders(
  pool: pg.Pool,
  client: pg.Client,
  run: AuditRun,
  inputTopic: string,
  { onProgress, reach = reachNothing }: AuditRequest,
): Promise<OrdersReport> {
  const { sinceMs, untilMs, ordersAfter } = run
  let report = (run.orders as OrdersReport | null) ?? NO_ORDERS
  let named = 0
  const options = { client, sinceMs, untilMs, inputTopic, routes: DEFAULT_ROUTES }
  for await (const page of auditOrders(options, { afterId: ordersAfter, report })) {
    report = page.report
    const findings = page.findings.slice(0, Math.max(0, FINDINGS_SHOWN_MAX - named)).map(stored)
    named += findings.length
    await reach('audit_page_judged')
    const onStep = (step: TransactionStep) => (step === 'before_begin' ? undefined : reach(`audit_page_${step}`))
    await saveAuditOrders(pool, run.id, { afterId: page.afterId, orders: report, findings }, onStep)
    if (report.orders % 50_000 < 1_000) onProgress(`${report.orders} orders`)
  }
  return report
}

/** Orders that were archived within the window, and that nobody can judge any more. */
const notArchived = async (client: pg.ClientBase, { sinceMs }: AuditRun): Promise<Undecided[]> =>
  (await droppedMonths(client, sinceMs)).map((month) => ({
    ...{ lane: null, reason: 'archive_dropped' },
    detail: `the orders that were archived in ${month} are gone, and may have changed in the window`,
  }))
