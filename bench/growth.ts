// Question: do the tables level off, and what does it cost to be rid of a day?
// node bench/growth.ts <database url of any database on the server> [orders per day] [events of the large day]
import { dayAfter } from '../src/runtime/days.ts'
import { readGrowth } from '../src/store/read-growth.ts'
import { createDatabase } from '../test/helpers/database.ts'
import { TOPIC } from '../test/helpers/lane-bench.ts'
import { maintainAt } from '../test/helpers/maintained.ts'
import { simulateDay, startDays } from '../test/helpers/simulate-days.ts'

const [serverUrl, perDay = '500', large = '1000000'] = process.argv.slice(2)
const FIRST_DAY = '2026-01-01'
const LIMITS = { archiveAfterDays: 20 }
const SHOWN = ['deliveries', 'events', 'orders', 'facts', 'order_payloads', 'archived_orders', 'tombstones']
const mb = (bytes: number) => (bytes / 1_048_576).toFixed(1)

const days = await createDatabase(serverUrl)
const lane = await startDays(days.url, FIRST_DAY)
let [archiveMs, archived] = [0, 0]
for (let day = 0; day < 60; day++) {
  const today = dayAfter(FIRST_DAY, day)
  const startedMs = performance.now()
  const done = await maintainAt(days.pool, `${today}T00:05Z`, LIMITS)
  if (done.archived.orders > 0) archiveMs += performance.now() - startedMs
  archived += done.archived.orders
  await simulateDay(lane, days.pool, today, Number(perDay))
  await days.pool.query('vacuum orders, order_payloads, facts')
  if (day % 10 !== 9) continue
  const { bytes } = await readGrowth(days.pool, Date.parse(`${today}T23:00Z`), undefined)
  console.log(`day ${day + 1}, MB:`, Object.fromEntries(SHOWN.map((table) => [table, mb(bytes.get(table) ?? 0)])))
}
console.log({ archived, maintenanceMsPer1000Archived: Math.round((archiveMs * 1_000) / archived) })
await lane.session.close()
await days.drop()

const two = await createDatabase(serverUrl)
const wal = async () => {
  const { rows } = await two.pool.query<{ at: string }>(`select pg_current_wal_insert_lsn() - '0/0' as at`)
  return Number(rows[0]?.at)
}
await maintainAt(two.pool, `${FIRST_DAY}T00:00Z`)
await two.pool.query(`insert into lanes (topic, lane, start_offset, applied_offset, next_seq, settled_seq)
  values ('${TOPIC}', 0, 0, 0, 1000000000, 1000000000)`)
for (const day of [FIRST_DAY, dayAfter(FIRST_DAY, 1)])
  await two.pool.query(
    `insert into events (lane, lane_seq, day, topic, event_id, kind, order_id, key, cause, occurred_at)
     select 0, n, $1, 'fulfillment.shipment.v1', gen_random_uuid(), 'ship', n / 3, 'key' || n, 'payment_succeeded/x' || n, now()
     from generate_series(1, $2::int) n`,
    [day, large],
  )
await two.pool.query('checkpoint')
const measure = async (what: string, work: () => Promise<unknown>) => {
  const [before, startedMs] = [await wal(), performance.now()]
  await work()
  console.log({ what, ms: Math.round(performance.now() - startedMs), walMb: mb((await wal()) - before) })
}
const limits = { eventsDays: 35 }
// The partitions ahead and the days of deliveries are made and dropped before, so that only one thing is measured.
await maintainAt(two.pool, `${dayAfter(FIRST_DAY, 35)}T00:00Z`, limits)
await measure(`${large} events of a day dropped`, () =>
  maintainAt(two.pool, `${dayAfter(FIRST_DAY, 36)}T00:00Z`, { ...limits, aheadDays: 6 }),
)
await measure(`${large} events of a day deleted`, () =>
  two.pool.query(`delete from events where day = '${dayAfter(FIRST_DAY, 1)}'`),
)
await measure('and vacuumed', () => two.pool.query(`vacuum events_${dayAfter(FIRST_DAY, 1).replaceAll('-', '')}`))
await two.drop()
