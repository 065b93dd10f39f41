import type pg from 'pg'
import type { Clock } from '../../src/runtime/clock.ts'
import { aDeadLetter, aFact, anOrder, aRecord, create, openLane, type LaneBench } from './lane-bench.ts'
import { operatorsDay } from './simulate-operators.ts'

const HOUR_MS = 3_600_000
let nowMs = 0
/** Moved by `simulateDay`. */
const clock: Clock = { now: () => new Date(nowMs), elapsedMs: () => nowMs }

export async function startDays(url: string, firstDay: string): Promise<LaneBench> {
  nowMs = Date.parse(firstDay)
  return openLane(url, { clock })
}

/**
 * One day's life on one lane: orders are created, each is paid (twice delivered) and shipped, all events reach Kafka;
 * two records cannot be read, and operators do their work.
 * Postgres writes its own time into the orders; it is put back into the simulated day afterwards.
 */
export async function simulateDay(lane: LaneBench, pool: pg.Pool, day: string, orders: number): Promise<void> {
  nowMs = Date.parse(day) + 12 * HOUR_MS
  const ids = Array.from({ length: orders }, (_, n) => `${day.replaceAll('-', '')}${String(n).padStart(8, '0')}`)
  const payload = JSON.stringify({ sku: 'A'.repeat(200) })
  const expiresAtMs = nowMs + HOUR_MS
  for (let at = 0; at < ids.length; at += 500)
    await create(
      pool,
      ids.slice(at, at + 500).map((id, n) => anOrder(id, { payload, expiresAtMs, groupKey: n % 10 === 0 ? id : null })),
    )
  let offset = lane.position.next
  const deliver = async (factOf: (id: string) => ReturnType<typeof aFact>) => {
    for (let at = 0; at < ids.length; at += 1_000) {
      const part = ids.slice(at, at + 1_000)
      const { nextSeq } = await lane.apply(
        part.map((id) => aRecord(offset++, id, [factOf(id)], { timestampMs: nowMs })),
      )
      lane.position = { ...lane.position, ledger: nextSeq }
    }
  }
  const paid = (id: string) => aFact(`p${id}`, { eventTimeMs: nowMs })
  await deliver(paid)
  await deliver(paid)
  await deliver((id) =>
    aFact(`s${id}`, {
      eventType: 'shipment_completed',
      amountMinor: 0,
      currency: '',
      amountKind: 'none',
      eventTimeMs: nowMs,
    }),
  )
  const { nextSeq } = await lane.apply([aDeadLetter(offset++), aDeadLetter(offset++)])
  lane.position = { ...lane.position, ledger: nextSeq }
  await operatorsDay(lane, pool, nowMs, ids[0] ?? '')
  await lane.apply([], offset) // Says that all of the above is in Kafka.
  await pool.query(`update orders set created_at = $1, updated_at = $1 where created_at > now() - interval '1 hour'`, [
    new Date(nowMs),
  ])
}
