import type { BrakeScope } from '../orders/brake.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { isoOf } from './order-view.ts'
import { typeOf } from './read-brakes.ts'
import { int, intOrNull, ms } from './statement.ts'

/** A brake that is set, or whose events are still going out. */
export interface BrakeStatus extends BrakeScope {
  readonly id: number
  /** `setting`: not every lane has been told yet; so a lane's events may still go out. */
  readonly state: 'setting' | 'set' | 'releasing'
  readonly setBy: string
  readonly reason: string
  readonly setAtMs: number
  readonly releasedBy: string | null
  readonly releaseReason: string | null
  readonly releasedAtMs: number | null
  /** At most 10,000 of a lane are counted. */
  readonly waiting: number
  readonly oldestSec: number | null
  readonly stops: readonly { readonly lane: number; readonly stopSeq: number }[]
}

/** Whoever lists brakes asks often; a long brake on a large merchant keeps millions. */
const COUNTED_MAX = 10_000
/** SQL of one row: how many events wait for a brake, and since when. Lane by lane, as the index begins with the lane. */
export const waitingOf = (brake: string) => `
  select coalesce(sum(c.n), 0) as n, min(o.created_at) as oldest
  from (select distinct lane from lanes) l
  cross join lateral (select count(*) as n from
    (select from waiting_events where lane = l.lane and brake_id = ${brake} limit ${COUNTED_MAX}) w) c
  left join lateral (select created_at from waiting_events where lane = l.lane and brake_id = ${brake}
    order by id limit 1) o on true`

// At most 1,000 are set, and those that are released go as soon as nothing waits for them.
const LIST = `
select b.id, b.merchant, b.out_trade_no, b.event_type, b.set_by, b.reason, ${ms('b.set_at')} as set_at_ms,
  b.told_at is not null as is_told, b.released_by, b.release_reason, ${ms('b.released_at')} as released_at_ms,
  w.n as waiting, extract(epoch from now() - w.oldest)::float8 as oldest_sec,
  (select json_agg(json_build_array(t.lane, t.stop_seq) order by t.lane) from brake_lanes t where t.brake_id = b.id) as stops
from brakes b cross join lateral (${waitingOf('b.id')}
) w
where b.done_at is null and ($1::text is null or b.merchant = $1)
  and (b.released_at is null or b.release_told_at is null or w.n > 0)
order by b.id`

interface Row {
  id: string
  merchant: string | null
  out_trade_no: string | null
  event_type: string | null
  set_by: string
  reason: string
  set_at_ms: string
  is_told: boolean
  released_by: string | null
  release_reason: string | null
  released_at_ms: string | null
  waiting: string
  oldest_sec: number | null
  stops: [number, number][] | null
}

/** @param merchant only brakes of this merchant; null: all */
export async function listBrakes(db: Queryable, merchant: string | null): Promise<BrakeStatus[]> {
  const { rows } = await db.query<Row>(LIST, [merchant])
  return rows.map((row) => ({
    id: int(row.id),
    merchant: row.merchant,
    outTradeNo: row.out_trade_no,
    eventType: typeOf(row.event_type),
    state: row.released_at_ms !== null ? 'releasing' : row.is_told ? 'set' : 'setting',
    setBy: row.set_by,
    reason: row.reason,
    setAtMs: int(row.set_at_ms),
    releasedBy: row.released_by,
    releaseReason: row.release_reason,
    releasedAtMs: intOrNull(row.released_at_ms),
    waiting: int(row.waiting),
    oldestSec: row.oldest_sec,
    stops: (row.stops ?? []).map(([lane, stopSeq]) => ({ lane, stopSeq })),
  }))
}

/** What the api and the command line show of one. */
export const brakeView = (brake: BrakeStatus) => ({
  id: brake.id,
  merchant: brake.merchant,
  out_trade_no: brake.outTradeNo,
  event_type: brake.eventType,
  state: brake.state,
  set_by: brake.setBy,
  reason: brake.reason,
  set_at: isoOf(brake.setAtMs),
  released_by: brake.releasedBy,
  release_reason: brake.releaseReason,
  released_at: isoOf(brake.releasedAtMs),
  waiting: brake.waiting,
  oldest_seconds: brake.oldestSec === null ? null : Math.round(brake.oldestSec),
  stops: brake.stops.map(({ lane, stopSeq }) => ({ lane, lane_seq: stopSeq })),
})
