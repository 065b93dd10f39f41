import type { Queryable } from '../runtime/postgres.ts'
import { eventColumns, eventOf, type EventColumns } from './event-columns.ts'
import type { EventRow } from './event-row.ts'
import { withPayloads } from './read-events.ts'
import { int, ms, rowsOf } from './statement.ts'

/** Events of one topic of a lane: numbers above `after` and below `below`, written since a time. */
export interface EventRange {
  readonly lane: number
  /** Without the installation's prefix. */
  readonly topic: string
  readonly after: number
  readonly below: number
  readonly since: Date
}

const WHERE = `from events e where e.lane = $1 and e.topic = $2 and e.lane_seq > $3 and e.lane_seq < $4
  and e.created_at >= $5`
const PAGE_ROWS = 1_000

export async function countEventsOf(db: Queryable, { lane, topic, after, below, since }: EventRange): Promise<number> {
  const { rows } = await db.query<{ n: string }>(`select count(*) as n ${WHERE}`, [lane, topic, after, below, since])
  return int(rows[0]?.n)
}

/** In order, complete with payloads, a page at a time. */
export async function* eventsOfTopic(
  db: Queryable,
  { lane, topic, after, below, since }: EventRange,
): AsyncGenerator<readonly EventRow[]> {
  const text = `select ${eventColumns('e', ms('e.received_at'))}, e.lane_seq ${WHERE} order by e.lane_seq limit ${PAGE_ROWS}`
  for (let last = after; ;) {
    const rows = await rowsOf<[...EventColumns, laneSeq: unknown]>(db, { name: 'events-of-topic', text }, [
      ...[lane, topic, last, below, since],
    ])
    const events = rows.map((row) => ({ laneSeq: int(row[15]), ...eventOf(row), payload: null }))
    if (events.length > 0) yield await withPayloads(db, events)
    if (events.length < PAGE_ROWS) return
    last = events.at(-1)?.laneSeq ?? below
  }
}
