import type pg from 'pg'
import {
  noSteps,
  transaction,
  type OnStep,
  type Queryable,
  type Transaction,
  type TransactionStep,
} from '../runtime/postgres.ts'
import { int, intOrNull, ms } from './statement.ts'

export type AuditResult = 'ok' | 'findings' | 'undecided'

/** What a run looks at, beside this database. */
export interface AuditScope {
  readonly appId: string
  readonly inputTopic: string
  readonly kafkaCluster: string
}

export interface AuditRun {
  readonly id: number
  readonly actor: string
  readonly sinceMs: number
  readonly untilMs: number
  /** Null: it was begun by an older version, which did not say. */
  readonly scope: AuditScope | null
  readonly startedAtMs: number
  readonly finishedAtMs: number | null
  readonly result: AuditResult | null
  readonly digest: string | null
  readonly report: unknown
  /** The last order that is judged, and what all up to it came to. */
  readonly ordersAfter: number
  readonly orders: unknown
}

/** Of one lane, or of some orders. */
export interface StoredFinding {
  readonly lane: number | null
  readonly finding: string
  readonly document: unknown
}

/** So many runs are kept with their findings; older ones go when a new one begins. */
const RUNS_KEPT = 1_000

const COLUMNS = `id, actor, ${ms('since')} as since_ms, ${ms('until')} as until_ms, scope,
  ${ms('started_at')} as started_ms,
  ${ms('finished_at')} as finished_ms, result, digest, report, orders_after, orders`
interface Row {
  id: string
  actor: string
  since_ms: string
  until_ms: string
  scope: AuditScope | null
  started_ms: string
  finished_ms: string | null
  result: AuditResult | null
  digest: string | null
  report: unknown
  orders_after: string
  orders: unknown
}
const runOf = (row: Row): AuditRun => ({
  id: int(row.id),
  actor: row.actor,
  sinceMs: int(row.since_ms),
  untilMs: int(row.until_ms),
  scope: row.scope,
  startedAtMs: int(row.started_ms),
  finishedAtMs: intOrNull(row.finished_ms),
  ...{
    result: row.result,
    digest: row.digest,
    report: row.report,
    ordersAfter: int(row.orders_after),
    orders: row.orders,
  },
})

export const beginAudit = (
  pool: pg.Pool,
  { actor, sinceMs, untilMs, scope }: Pick<AuditRun, 'actor' | 'sinceMs' | 'untilMs' | 'scope'>,
): Promise<AuditRun> =>
  transaction(pool, async (tx) => {
    const { rows } = await tx.query<Row>(
      `insert into audit_runs (actor, since, until, scope) values ($1, $2, $3, $4) returning ${COLUMNS}`,
      [actor, new Date(sinceMs), new Date(untilMs), JSON.stringify(scope)],
    )
    for (const table of ['audit_findings', 'audit_lanes'])
      await tx.query(
        `delete from ${table} where run_id <= (select id from audit_runs order by id desc offset ${RUNS_KEPT} limit 1)`,
      )
    await tx.query(
      `delete from audit_runs where id <= (select id from audit_runs order by id desc offset ${RUNS_KEPT} limit 1)`,
    )
    if (rows[0] === undefined) throw new Error('an insert returned no row')
    return runOf(rows[0])
  })

/** The last run, if it was stopped before its end. */
export async function stoppedAudit(db: Queryable): Promise<AuditRun | undefined> {
  const { rows } = await db.query<Row>(`select ${COLUMNS} from audit_runs order by id desc limit 1`)
  const [row] = rows
  return row === undefined || row.finished_ms !== null ? undefined : runOf(row)
}

/** The latest first. */
export async function listAudits(db: Queryable, limit: number): Promise<AuditRun[]> {
  const { rows } = await db.query<Row>(`select ${COLUMNS} from audit_runs order by id desc limit $1`, [limit])
  return rows.map(runOf)
}

/** What a lane came to, with its findings: all or nothing, and once. */
export const saveAuditLane = (
  pool: pg.Pool,
  runId: number,
  { lane, report, findings }: { lane: number; report: unknown; findings: readonly StoredFinding[] },
  onStep: OnStep<TransactionStep> = noSteps,
): Promise<void> =>
  transaction(
    pool,
    async (tx) => {
      const { rowCount } = await tx.query(
        `insert into audit_lanes (run_id, lane, report) values ($1, $2, $3) on conflict do nothing`,
        [runId, lane, JSON.stringify(report)],
      )
      if (rowCount === 1) await insertFindings(tx, runId, findings)
    },
    onStep,
  )

export async function readAuditLanes(db: Queryable, runId: number): Promise<ReadonlyMap<number, unknown>> {
  const { rows } = await db.query<{ lane: number; report: unknown }>(
    'select lane, report from audit_lanes where run_id = $1',
    [runId],
  )
  return new Map(rows.map(({ lane, report }) => [lane, report]))
}

/** What all orders up to one came to, with the findings since the last time. */
export const saveAuditOrders = (
  pool: pg.Pool,
  runId: number,
  { afterId, orders, findings }: { afterId: number; orders: unknown; findings: readonly StoredFinding[] },
  onStep: OnStep<TransactionStep> = noSteps,
): Promise<void> =>
  transaction(
    pool,
    async (tx) => {
      await tx.query('update audit_runs set orders_after = $2, orders = $3 where id = $1', [
        ...[runId, afterId, JSON.stringify(orders)],
      ])
      await insertFindings(tx, runId, findings)
    },
    onStep,
  )

async function insertFindings(tx: Transaction, runId: number, findings: readonly StoredFinding[]): Promise<void> {
  if (findings.length === 0) return
  await tx.query(
    `insert into audit_findings (run_id, lane, finding, document)
     select $1, f.lane, f.finding, f.document from unnest($2::int2[], $3::text[], $4::jsonb[]) as f (lane, finding, document)`,
    [
      runId,
      findings.map(({ lane }) => lane),
      findings.map(({ finding }) => finding),
      findings.map(({ document }) => JSON.stringify(document)),
    ],
  )
}

/** In the order in which they were found. */
export async function readAuditFindings(db: Queryable, runId: number, limit: number): Promise<unknown[]> {
  const { rows } = await db.query<{ document: unknown }>(
    'select document from audit_findings where run_id = $1 order by id limit $2',
    [runId, limit],
  )
  return rows.map(({ document }) => document)
}

export async function finishAudit(
  db: Queryable,
  runId: number,
  { result, digest, report }: { readonly result: AuditResult; readonly digest: string; readonly report: unknown },
): Promise<void> {
  await db.query('update audit_runs set finished_at = now(), result = $2, digest = $3, report = $4 where id = $1', [
    ...[runId, result, digest, JSON.stringify(report)],
  ])
}

/** The last audit that ended: for the metrics. Undefined: none ever did. */
export interface LastAudit {
  readonly ageSec: number
  readonly isUndecided: boolean
  readonly findings: Readonly<Record<string, number>>
}
const LAST = `
select extract(epoch from now() - finished_at)::float8 as age_sec, coalesce(report -> 'counts', '{}') as findings,
  coalesce(jsonb_array_length(report -> 'undecided'), 0) > 0 as undecided
from audit_runs where finished_at is not null order by id desc limit 1`
export async function readLastAudit(db: Queryable): Promise<LastAudit | undefined> {
  const { rows } = await db.query<{ age_sec: number; findings: Record<string, number>; undecided: boolean }>(LAST)
  const [row] = rows
  return row && { ageSec: row.age_sec, findings: row.findings, isUndecided: row.undecided }
}
