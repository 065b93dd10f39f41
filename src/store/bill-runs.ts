import type pg from 'pg'
import type { Queryable, Transaction } from '../runtime/postgres.ts'
import { int, intOrNull, ms } from './statement.ts'

export type BillResult = 'ok' | 'findings' | 'undecided'

/** Which bill a run is about. */
export interface BillOf {
  readonly provider: string
  readonly merchant: string
  /** China's, as in `2026-11-11`. */
  readonly day: string
}

export interface BillRun extends BillOf {
  readonly id: number
  readonly actor: string
  readonly filesSha256: string
  readonly startedAtMs: number
  readonly finishedAtMs: number | null
  readonly result: BillResult | null
  readonly digest: string | null
  readonly report: unknown
  readonly supersededBy: number | null
}

export interface StoredBillFinding {
  readonly finding: string
  readonly state: string
  readonly document: unknown
}

/** As long as a later day may ask about its rows, and some more. */
const SEEN_KEPT_DAYS = 60
const FINDINGS_PER_STEP = 1_000

const COLUMNS = `id, actor, provider, merchant, day::text, files_sha256, ${ms('started_at')} as started_ms,
  ${ms('finished_at')} as finished_ms, result, digest, report, superseded_by`
interface Row {
  id: string
  actor: string
  provider: string
  merchant: string
  day: string
  files_sha256: string
  started_ms: string
  finished_ms: string | null
  result: BillResult | null
  digest: string | null
  report: unknown
  superseded_by: string | null
}
const runOf = (row: Row): BillRun => ({
  ...{ id: int(row.id), actor: row.actor, provider: row.provider, merchant: row.merchant, day: row.day },
  ...{ filesSha256: row.files_sha256, startedAtMs: int(row.started_ms), finishedAtMs: intOrNull(row.finished_ms) },
  ...{ result: row.result, digest: row.digest, report: row.report, supersededBy: intOrNull(row.superseded_by) },
})

export async function beginBillRun(
  db: Queryable,
  { provider, merchant, day, actor, filesSha256 }: BillOf & { readonly actor: string; readonly filesSha256: string },
): Promise<number> {
  const { rows } = await db.query<{ id: string }>(
    `insert into bill_runs (actor, provider, merchant, day, files_sha256) values ($1, $2, $3, $4, $5) returning id`,
    [actor, provider, merchant, day, filesSha256],
  )
  await db.query(
    `delete from bill_seen where run_id in (select id from bill_runs where day < current_date - $1::int)`,
    [SEEN_KEPT_DAYS],
  )
  return int(rows[0]?.id)
}

export interface BillOutcome {
  readonly result: BillResult
  readonly digest: string | null
  readonly report: unknown
  readonly findings: readonly StoredBillFinding[]
  /** Undefined: nothing was. */
  readonly matched: Matched | undefined
}
export interface Matched {
  /** False: a part of the day's bill is not here. */
  readonly isWhole: boolean
  /** Which rows a later day may ask about: those from then on, and perhaps all refunds. */
  readonly fromMs: number
  readonly refunds: boolean
}

/**
 * Writes down what a run came to, all or nothing. What was matched stands in the place of every earlier run of the same
 * merchant, provider and day: their findings are this one's again, or settled. A part of a day stands in no whole one's
 * place: it is written down that it was, and nothing of what it found.
 * @param client the connection that has the bill's rows
 */
export async function finishBillRun(tx: Transaction, runId: number, outcome: BillOutcome): Promise<void> {
  const { result, digest, report, findings, matched } = outcome
  await tx.query('update bill_runs set finished_at = now(), result = $2, digest = $3, report = $4 where id = $1', [
    ...[runId, result, digest, JSON.stringify(report)],
  ])
  if (matched?.isWhole === false && (await isBehindWhole(tx, runId))) return
  for (let from = 0; from < findings.length; from += FINDINGS_PER_STEP)
    await insertFindings(tx, runId, findings.slice(from, from + FINDINGS_PER_STEP))
  if (matched === undefined) return
  await tx.query(
    `insert into bill_seen select $1, key from bill_rows cross join lateral unnest(array[what || '/' || ref,
       case what when 'refund' then 'refund-of/' || payment_ref end]) k (key)
     where key is not null and (at >= $2 or (what = 'refund' and $3::bool)) on conflict do nothing`,
    [runId, new Date(matched.fromMs), matched.refunds],
  )
  const { rows } = await tx.query<{ id: string }>(
    `update bill_runs o set superseded_by = n.id from bill_runs n where n.id = $1 and o.id <> n.id
       and (o.merchant, o.provider, o.day) = (n.merchant, n.provider, n.day) and o.superseded_by is null returning o.id`,
    [runId],
  )
  for (const table of ['bill_findings', 'bill_seen'])
    await tx.query(`delete from ${table} where run_id = any($1::int8[])`, [rows.map(({ id }) => id)])
}

/** True: an import of the whole day stands, and now in this one's place. */
async function isBehindWhole(tx: Transaction, runId: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update bill_runs n set superseded_by = o.id from bill_runs o where n.id = $1 and o.id <> n.id
       and (o.merchant, o.provider, o.day) = (n.merchant, n.provider, n.day) and o.superseded_by is null
       and o.result in ('ok', 'findings')`,
    [runId],
  )
  return rowCount === 1
}

async function insertFindings(tx: Transaction, runId: number, findings: readonly StoredBillFinding[]): Promise<void> {
  await tx.query(
    `insert into bill_findings (run_id, finding, state, document)
     select $1, f.finding, f.state, f.document from unnest($2::text[], $3::text[], $4::jsonb[]) as f (finding, state, document)`,
    [
      runId,
      findings.map(({ finding }) => finding),
      findings.map(({ state }) => state),
      findings.map(({ document }) => JSON.stringify(document)),
    ],
  )
}

export type BillFilter = Partial<BillOf>

/** The latest first. */
export async function listBillRuns(pool: pg.Pool, filter: BillFilter, limit: number): Promise<BillRun[]> {
  const { rows } = await pool.query<Row>(
    `select ${COLUMNS} from bill_runs where ($1::text is null or merchant = $1) and ($2::text is null or provider = $2)
       and ($3::date is null or day = $3) order by id desc limit $4`,
    [filter.merchant, filter.provider, filter.day, limit],
  )
  return rows.map(runOf)
}

export async function readBillRun(db: Queryable, id: number): Promise<BillRun | undefined> {
  const { rows } = await db.query<Row>(`select ${COLUMNS} from bill_runs where id = $1`, [id])
  return rows[0] && runOf(rows[0])
}

/** In the order in which they were found. */
export async function readBillFindings(db: Queryable, runId: number, limit: number): Promise<unknown[]> {
  const { rows } = await db.query<{ document: unknown }>(
    'select document from bill_findings where run_id = $1 order by id limit $2',
    [runId, limit],
  )
  return rows.map(({ document }) => document)
}

/** Days whose bills are here: of the runs that count. */
export async function importedDays(
  db: Queryable,
  {
    merchant,
    provider,
    days,
  }: { readonly merchant: string; readonly provider: string; readonly days: readonly string[] },
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ day: string }>(
    `select day::text from bill_runs where merchant = $1 and provider = $2 and day = any($3::date[])
       and superseded_by is null and result in ('ok', 'findings')`,
    [merchant, provider, days],
  )
  return new Set(rows.map(({ day }) => day))
}

/** For the metrics: what the bills of the last month leave to a person, and no anomaly stands for. */
export interface BillGauges {
  readonly findings: Readonly<Record<string, number>>
  /** Of these, those about which the provider could not be asked. */
  readonly unconfirmed: number
  /** Bills that could not be trusted, and were not imported since. */
  readonly undecided: number
  /** Since the last import of the provider and merchant whose is longest ago; null: none was ever imported. */
  readonly ageSec: number | null
}
const GAUGED_DAYS = 31
const GAUGES = `
with recent as (select * from bill_runs where day > current_date - ${GAUGED_DAYS} and finished_at is not null)
select coalesce((select jsonb_object_agg(finding, n) from (
    select f.finding, count(*) as n from recent r join bill_findings f on f.run_id = r.id
    where r.superseded_by is null and f.state in ('open', 'unconfirmed', 'denied')
      and not f.document ? 'anomaly' group by f.finding) c), '{}') as findings,
  (select count(*)::int from recent r join bill_findings f on f.run_id = r.id
    where r.superseded_by is null and f.state = 'unconfirmed') as unconfirmed,
  (select count(*)::int from (select distinct on (merchant, provider, day) result from recent
    order by merchant, provider, day, id desc) l where l.result = 'undecided') as undecided,
  (select extract(epoch from now() - min(last))::float8 from (
    select max(finished_at) as last from bill_runs where result in ('ok', 'findings') group by merchant, provider) m) as age`
export async function readBillGauges(db: Queryable): Promise<BillGauges> {
  const { rows } = await db.query<{
    findings: Record<string, number>
    unconfirmed: number
    undecided: number
    age: number | null
  }>(GAUGES)
  const [row] = rows
  const { findings = {}, unconfirmed = 0, undecided = 0, age = null } = row ?? {}
  return { findings, unconfirmed, undecided, ageSec: age }
}
