import type pg from 'pg'
import type { Tables } from './tables.ts'

type Row = readonly unknown[]
type Dump = Readonly<Record<string, readonly string[]>>

const sorted = (rows: readonly Row[]) => rows.map((row) => JSON.stringify(row)).sort()

/** All rows as they are, orders named by their number instead of their id. */
export function dumpSimulated(tables: Tables): Dump {
  const of = <R>({ cells }: { cells: ReadonlyMap<unknown, { committed: R | undefined }> }): R[] =>
    [...cells.values()].flatMap(({ committed }) => committed ?? [])
  const numbers = new Map(of(tables.orders).map(({ id, outTradeNo }) => [id, outTradeNo]))
  const number = (id: number | null) => (id === null ? null : (numbers.get(id) ?? null))
  return {
    lanes: sorted(
      of(tables.lanes).map((l) => [
        ...[
          l.lane,
          l.startOffset,
          l.nextSeq,
          l.appliedOffset,
          l.previousOffset,
          l.settledSeq,
          l.brakeVersion,
          l.fences,
        ],
        ...[l.isOwned, l.haltedReason, l.floods, l.ownerDeaths, l.suspectOffset, l.suspectDeaths],
      ]),
    ),
    orders: sorted(
      of(tables.orders).map((o) => [
        ...[
          o.merchant,
          o.outTradeNo,
          o.lane,
          o.status,
          o.amountMinor,
          o.groupKey,
          o.acceptedRef,
          o.paidAtMs,
          o.closedBy,
        ],
        ...[o.closedAtMs, o.expiresAtMs, o.version, o.heldCount, o.waitingCount, o.hasPayload, o.sequence],
      ]),
    ),
    facts: sorted(
      of(tables.facts).map((f) => [number(f.orderId), f.eventType, f.providerRef, f.amountMinor, f.outcome, f.offset]),
    ),
    events: sorted(
      of(tables.events).map((e) => [e.lane, e.laneSeq, e.topic, e.eventId, e.kind, e.key, e.sequence, e.cause]),
    ),
    waiting: sorted(of(tables.waiting).map((w) => [w.lane, w.brakeId, w.eventId, w.kind, w.key, w.sequence])),
    deliveries: sorted(
      of(tables.deliveries).map((d) => [d.lane, d.offset, number(d.orderId), d.eventType, d.providerRef, d.outcome]),
    ),
    anomalies: sorted(of(tables.anomalies).map((a) => [number(a.orderId), a.kind, a.cause, a.resolution])),
    timers: sorted(of(tables.timers).map((t) => [t.lane, number(t.orderId), t.kind, t.ref, t.dueAtMs])),
    commands: sorted(of(tables.commands).map((c) => [c.lane, number(c.orderId), c.kind, c.idempotencyKey, c.status])),
    groups: sorted(of(tables.groups).map((g) => [g.merchant, g.groupKey, number(g.orderId)])),
    letters: sorted(of(tables.deadLetters).map((d) => [d.lane, d.offset, d.reason])),
    brakes: sorted(
      of(tables.brakes).map((b) => [b.outTradeNo, b.eventType, b.isTold, b.isReleased, b.isReleaseTold, b.isDone]),
    ),
    brakeLanes: sorted(of(tables.brakeLanes).map((b) => [b.brakeId, b.lane, b.stopSeq, b.isReleased])),
    payloads: sorted(of(tables.payloads).map((p) => [number(p.orderId), p.payload])),
  }
}

const NUMBER = '(select o.out_trade_no from orders o where o.id = t.order_id)'
const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::int8`
const SQL: Readonly<Record<string, string>> = {
  lanes: `lane, start_offset, next_seq, applied_offset, previous_offset, settled_seq, brake_version, fences, is_owned,
    halted_reason, to_jsonb(dead_letter_offsets), owner_deaths, suspect_offset, suspect_deaths from lanes t`,
  orders: `merchant, out_trade_no, lane, status, amount_minor, group_key, accepted_ref, ${ms('paid_at')}, closed_by,
    ${ms('closed_at')}, ${ms('expires_at')}, version, held_count, waiting_count, has_payload, sequence from orders t`,
  facts: `${NUMBER}, event_type, provider_ref, amount_minor, outcome, kafka_offset from facts t`,
  events: 'lane, lane_seq, topic, event_id, kind, key, sequence, cause from events t',
  waiting: 'lane, brake_id, event_id, kind, key, sequence from waiting_events t',
  deliveries: `lane, kafka_offset, ${NUMBER}, event_type, provider_ref, outcome from deliveries t`,
  anomalies: `${NUMBER}, kind, cause, resolution from anomalies t`,
  timers: `lane, ${NUMBER}, kind, ref, ${ms('due_at')} from timers t`,
  commands: `lane, ${NUMBER}, kind, idempotency_key, status from commands t`,
  groups: `merchant, group_key, ${NUMBER} from groups t`,
  letters: 'lane, kafka_offset, reason from dead_letters t',
  brakes: `out_trade_no, event_type, told_at is not null, released_at is not null, release_told_at is not null,
    done_at is not null from brakes t`,
  brakeLanes: 'brake_id, lane, stop_seq, is_released from brake_lanes t',
  payloads: `${NUMBER}, payload from order_payloads t`,
}

/** The same of the real one. */
export async function dumpReal(pool: pg.Pool): Promise<Dump> {
  const dump: Record<string, string[]> = {}
  for (const [name, sql] of Object.entries(SQL)) {
    const [, columns = '', from = ''] = /^([\s\S]*) (from \w+ t)$/.exec(sql) ?? []
    const { rows } = await pool.query<{ row: Row }>(`select jsonb_build_array(${columns}) as row ${from}`)
    dump[name] = sorted(rows.map(({ row }) => row))
  }
  return dump
}
