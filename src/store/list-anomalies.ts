import type { AnomalyKind, Status } from '../orders/model.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { int, intOrNull, ms } from './statement.ts'

/** An anomaly and the order that it is about. */
export interface Anomaly {
  readonly id: number
  readonly merchant: string
  readonly outTradeNo: string
  readonly orderStatus: Status
  readonly kind: AnomalyKind
  readonly cause: string
  /** What a person needs to judge it, both sides of a conflict; as it was when it was opened. */
  readonly facts: unknown
  readonly openedAtMs: number
  readonly owner: string | null
  readonly claimedAtMs: number | null
  readonly resolvedAtMs: number | null
  readonly resolution: string | null
  /** Null with a resolution: it was settled by itself. */
  readonly resolvedBy: string | null
  readonly reason: string | null
}

/** What is left out does not matter. */
export interface AnomalyFilter {
  readonly state: 'open' | 'resolved' | 'all'
  readonly merchant?: string | undefined
  readonly kind?: AnomalyKind | undefined
  readonly owner?: string | undefined
  readonly isClaimed?: boolean | undefined
  /** Opened at or after. */
  readonly sinceMs?: number | undefined
  /** Opened before. */
  readonly untilMs?: number | undefined
}

const COLUMNS = `a.id, o.merchant, o.out_trade_no, o.status::text, a.kind, a.cause, a.facts, ${ms('a.opened_at')}, a.owner,
  ${ms('a.claimed_at')}, ${ms('a.resolved_at')}, a.resolution, a.resolved_by, a.reason`
const anomalyOf = (row: unknown[]): Anomaly => ({
  id: int(row[0]),
  merchant: row[1] as string,
  outTradeNo: row[2] as string,
  orderStatus: row[3] as Status,
  kind: row[4] as AnomalyKind,
  cause: row[5] as string,
  facts: row[6],
  openedAtMs: int(row[7]),
  owner: row[8] as string | null,
  claimedAtMs: intOrNull(row[9]),
  resolvedAtMs: intOrNull(row[10]),
  resolution: row[11] as string | null,
  resolvedBy: row[12] as string | null,
  reason: row[13] as string | null,
})

/** The first instant that is shown as this millisecond: `ms` rounds. */
const shown = (time: string) => `to_timestamp(${time}::int8 / 1000.0 - 0.0005)`

async function select(db: Queryable, rest: string, values: unknown[]): Promise<Anomaly[]> {
  const text = `select ${COLUMNS} from anomalies a join orders o on o.id = a.order_id ${rest}`
  const { rows } = await db.query<unknown[]>({ text, values, rowMode: 'array' })
  return rows.map(anomalyOf)
}

/**
 * A page of anomalies: open ones oldest first, as they wait longest, any others newest first.
 * @param after the last id of the page before
 */
export async function listAnomalies(
  db: Queryable,
  filter: AnomalyFilter,
  { after, limit }: { readonly after?: number | undefined; readonly limit: number },
): Promise<Anomaly[]> {
  const isOpen = filter.state === 'open'
  const conditions: string[] = ['true']
  const values: unknown[] = [limit]
  const where = (condition: (parameter: string) => string, value: unknown) => {
    if (value !== undefined) conditions.push(condition(`$${values.push(value)}`))
  }
  // Literally, so that the planner sees that the index of open ones will do.
  if (filter.state !== 'all') conditions.push(`a.resolved_at is ${isOpen ? 'null' : 'not null'}`)
  if (filter.isClaimed !== undefined) conditions.push(`a.owner is ${filter.isClaimed ? 'not null' : 'null'}`)
  where((merchant) => `o.merchant = ${merchant}`, filter.merchant)
  where((kind) => `a.kind = ${kind}`, filter.kind)
  where((owner) => `a.owner = ${owner}`, filter.owner)
  where((time) => `a.opened_at >= ${shown(time)}`, filter.sinceMs)
  where((time) => `a.opened_at < ${shown(time)}`, filter.untilMs)
  where((id) => `a.id ${isOpen ? '>' : '<'} ${id}`, after)
  return select(db, `where ${conditions.join(' and ')} order by a.id ${isOpen ? '' : 'desc'} limit $1`, values)
}

/** @returns undefined: there is none, or its order is archived. */
export const findAnomaly = async (db: Queryable, id: number): Promise<Anomaly | undefined> =>
  (await select(db, 'where a.id = $1', [id]))[0]
