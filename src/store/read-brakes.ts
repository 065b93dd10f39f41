import { BRAKE_EVENT_TYPES, type Brake } from '../orders/brake.ts'
import type { Queryable } from '../runtime/postgres.ts'
import { int, rowsOf } from './statement.ts'

const READ_BRAKES = {
  name: 'read-brakes',
  text: `
select l.brake_version, b.id, b.merchant, b.out_trade_no, b.event_type
from lanes l left join brakes b on b.done_at is null and b.released_at is null
where l.topic = $1 and l.lane = $2::int`,
}

/** The brakes that are set, and the lane's version, from one snapshot: what is set later raises the version later. */
export interface LaneBrakes {
  readonly version: number
  readonly set: readonly Brake[]
}

/** @returns undefined: the lane has no row */
export async function readBrakes(db: Queryable, topic: string, lane: number): Promise<LaneBrakes | undefined> {
  type Row = [version: unknown, id: unknown, merchant: string | null, outTradeNo: string | null, type: string | null]
  const rows = await rowsOf<Row>(db, READ_BRAKES, [topic, lane])
  if (rows[0] === undefined) return undefined
  const set = rows.flatMap(([, id, merchant, outTradeNo, type]): Brake[] =>
    id === null ? [] : [{ id: int(id), merchant, outTradeNo, eventType: typeOf(type) }],
  )
  return { version: int(rows[0][0]), set }
}

/** @throws a type that a newer version knows: this one must not let such events pass */
export function typeOf(text: string | null): Brake['eventType'] {
  const type = BRAKE_EVENT_TYPES.find((known) => known === text)
  if (text !== null && type === undefined) throw new Error(`a brake on ${text}, an event type that is not known here`)
  return type ?? null
}
