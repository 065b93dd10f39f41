import type { Queryable, Transaction } from '../runtime/postgres.ts'
import { int2s, int8s, timestamps } from './bind.ts'
import { PAYMENT_REF } from './file-queries.ts'
import { int, rowsOf } from './statement.ts'

/** Something that a lane is to do without a record. */
export interface WorkItem {
  readonly source: 'command' | 'timer'
  readonly id: number
  readonly orderId: number
  readonly kind: 'wake' | 'close' | 'resolve' | 'expiry' | 'held_limit'
  /** Of a timer: the held fact. */
  readonly ref: string
  /** Of a command: its body as JSON. */
  readonly body: string
  /** Of a command: who filed it; null for wake items, which nobody did. */
  readonly actor: string | null
}

export interface LaneWork {
  /** The guard's columns, so that every wake checks them; undefined: there is no row. */
  readonly lane:
    | {
        readonly nextSeq: number
        readonly appliedOffset: number
        readonly brakeVersion: number
        readonly isHalted: boolean
      }
    | undefined
  /** The lane has been still for a minute, and its row does not say yet that all it emitted is settled. */
  readonly isUnsettled: boolean
  /** Commands in the order they were filed, then timers. */
  readonly items: readonly WorkItem[]
  /** Events of the lane wait for a brake that is released. */
  readonly isReleasing: boolean
}

/** Of each kind, so that none keeps another waiting. */
const ITEMS_MAX = 300

const READ_WORK = {
  name: 'read-work',
  text: `
select 'lane', next_seq, applied_offset, case when halted_reason is null then '' else 'halted' end, brake_version::text, null
from lanes where topic = $1 and lane = ($2::int2[])[1]
union all
select 'unsettled', 0, 0, '', '', null from lanes
where topic = $1 and lane = ($2::int2[])[1] and settled_seq < next_seq and updated_at < now() - interval '1 minute'
union all (
  select 'command', id, order_id, kind, body::text, actor from commands
  where lane = ($2::int2[])[1] and status = 'pending' order by id limit ${ITEMS_MAX})
union all (
  select 'timer', id, order_id, kind, ref, null from timers
  where lane = ($2::int2[])[1] and kind = 'held_limit' and due_at <= ($3::timestamptz[])[1] order by due_at limit ${ITEMS_MAX})
union all (
  select 'timer', id, order_id, kind, ref, null from timers
  where lane = ($2::int2[])[1] and kind = 'expiry' and due_at <= ($3::timestamptz[])[2]
    and (($3::timestamptz[])[3] is null or due_at <= ($3::timestamptz[])[3] or exists (
      select from timers q where q.order_id = timers.order_id and q.kind = 'query' and q.ref = '${PAYMENT_REF}'
        and q.done_at <= ($3::timestamptz[])[2]))
  order by due_at limit ${ITEMS_MAX})
union all (
  select 'released', b.id, 0, '', '', null from brakes b
  where b.done_at is null and b.released_at is not null
    and exists (select from waiting_events w where w.lane = ($2::int2[])[1] and w.brake_id = b.id) limit 1)`,
}

/**
 * What waits on a lane: its pending commands, its timers that are due, and events of brakes that are released.
 * @param due up to which time; `expiryMs` with the grace taken off, null: no expiries. `unaskedMs`: an expiry that is due
 *   later waits until a provider was asked about its order for the last time, no later than `expiryMs`, so that what was
 *   learnt lies before an end of the log that is read after that; null: none waits
 */
export async function readWork(
  db: Queryable,
  topic: string,
  lane: number,
  due: { readonly heldLimitMs: number; readonly expiryMs: number | null; readonly unaskedMs?: number | null },
): Promise<LaneWork> {
  type Row = [source: string, id: unknown, orderId: unknown, kind: string, text: string, actor: string | null]
  const times = timestamps([due.heldLimitMs, due.expiryMs, due.unaskedMs ?? null])
  const rows = await rowsOf<Row>(db, READ_WORK, [topic, int2s([lane]), times])
  let guard: LaneWork['lane']
  let isUnsettled = false
  let isReleasing = false
  const items: WorkItem[] = []
  for (const [source, id, orderId, kind, text, actor] of rows) {
    if (source === 'lane')
      guard = {
        nextSeq: int(id),
        appliedOffset: int(orderId),
        brakeVersion: int(text),
        isHalted: kind === 'halted',
      }
    else if (source === 'released') isReleasing = true
    else if (source === 'unsettled') isUnsettled = true
    else {
      const isCommand = source === 'command'
      items.push({
        source: isCommand ? 'command' : 'timer',
        id: int(id),
        orderId: int(orderId),
        kind: kind as WorkItem['kind'],
        ref: isCommand ? '' : text,
        body: isCommand ? text : '{}',
        actor,
      })
    }
  }
  return { lane: guard, isUnsettled, items, isReleasing }
}

const STILL_WAITING = {
  name: 'still-waiting',
  text: `
select 'command', id from commands where id = any($1::int8[]) and status = 'pending'
union all select 'timer', id from timers where id = any($2::int8[])`,
}

/** Which items are still to be done; to be read again under their orders' locks. */
export async function stillWaiting<Item extends WorkItem>(tx: Transaction, items: readonly Item[]): Promise<Item[]> {
  const idsOf = (source: WorkItem['source']) =>
    int8s(items.filter((item) => item.source === source).map(({ id }) => id))
  type Row = [source: string, id: unknown]
  const rows = await rowsOf<Row>(tx, STILL_WAITING, [idsOf('command'), idsOf('timer')])
  const waiting = new Set(rows.map(([source, id]) => `${source}/${int(id)}`))
  return items.filter(({ source, id }) => waiting.has(`${source}/${id}`))
}
