// Question: how many callbacks a second does step 1 alone apply, and what do client and Postgres pay for each?
// node bench/apply-batch.ts <database url of any database on the server> [batches] [payload|plain] [days partitioned]
// Also: how long does it take to read events that are not in hand, as after a takeover?
import { readFileSync } from 'node:fs'
import { createDatabase } from '../test/helpers/database.ts'
import { aFact, anOrder, aRecord, clockAt, create, openLane, TOPIC } from '../test/helpers/lane-bench.ts'
import { maintain } from '../src/store/maintain.ts'
import { readEvents } from '../src/store/read-events.ts'
import { eventsToEmit } from '../src/processor/events-to-emit.ts'

const [serverUrl, batches = '30', payload = 'plain', days = '0'] = process.argv.slice(2)
const SIZE = 1_000
const DUPLICATES = [0, 0.8]
const BACKEND_TICK_MS = 10

/** CPU of a Postgres backend so far, in ms. */
const backendMs = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * BACKEND_TICK_MS
}

for (const share of DUPLICATES) {
  const database = await createDatabase(serverUrl)
  const count = Number(batches)
  const fresh = Math.round(SIZE * (1 - share))
  const orders = count * fresh
  for (let i = 0; i < orders; i += 500)
    await create(
      database.pool,
      Array.from({ length: Math.min(500, orders - i) }, (_, k) =>
        anOrder(`20261130${String(i + k).padStart(12, '0')}`, {
          merchant: `m${1_000 + ((i + k) % 200)}`,
          payload: payload === 'payload' ? 'x'.repeat(1_024) : null,
        }),
      ),
    )
  if (Number(days) > 0) {
    const limits = {
      aheadDays: Number(days) - 1,
      deliveriesDays: 365,
      eventsDays: 365,
      archiveAfterDays: 0,
      settledDays: 0,
      commandsDays: 0,
    }
    const clock = clockAt(Date.now() - (Number(days) - 8) * 86_400_000) // A week of them is still to come.
    await maintain(database.pool, { clock, inputTopic: TOPIC, limits })
  }
  await database.pool.query('vacuum analyze')
  const lane = await openLane(database.url)
  const { rows } = await lane.session.query<{ pid: number }>('select pg_backend_pid() as pid')
  const pid = rows[0]?.pid ?? 0
  const perSec: number[] = []
  const clientUs: number[] = []
  const backendUs: number[] = []
  for (let batch = 0; batch < count; batch++) {
    const at = batch * SIZE
    const records = Array.from({ length: SIZE }, (_, k) => {
      const n = batch * fresh + (k % fresh)
      const fact = aFact(`4200002026${String(n).padStart(18, '0')}`)
      return aRecord(at + k, `20261130${String(n).padStart(12, '0')}`, [fact], {
        merchant: `m${1_000 + (n % 200)}`,
        timestampMs: Date.now(),
      })
    })
    const [startedMs, cpu, backend] = [performance.now(), process.cpuUsage(), backendMs(pid)]
    const applied = await lane.apply(records)
    const events = await eventsToEmit(lane.session, lane.position, applied)
    lane.position = { ...lane.position, ledger: lane.position.ledger + events.length }
    const spent = process.cpuUsage(cpu)
    perSec.push((SIZE * 1_000) / (performance.now() - startedMs))
    clientUs.push((spent.user + spent.system) / SIZE)
    backendUs.push(((backendMs(pid) - backend) * 1_000) / SIZE)
  }
  const readMs = Array.from({ length: 50 }, () => 0)
  for (const index of readMs.keys()) {
    const startedMs = performance.now()
    await readEvents(lane.session, 0, lane.position.ledger - 10, 1_000)
    readMs[index] = performance.now() - startedMs
  }
  await lane.session.query('discard plans')
  const plannedMs = performance.now()
  await readEvents(lane.session, 0, lane.position.ledger - 10, 1_000)
  const replanMs = performance.now() - plannedMs
  const half = <T>(list: T[]) => list.slice(list.length >> 1)
  const mean = (list: number[]) => list.reduce((sum, x) => sum + x, 0) / list.length
  const sorted = half(perSec).sort((a, b) => a - b)
  console.log({
    duplicates: share,
    perSec: Math.round(1_000 / mean(half(perSec).map((x) => 1_000 / x))),
    spread: [sorted[0], sorted.at(-1)].map((x) => Math.round(x ?? 0)),
    clientUs: mean(half(clientUs)).toFixed(1),
    postgresUs: mean(half(backendUs)).toFixed(1),
    read10EventsMs: (readMs.sort((a, b) => a - b)[25] ?? 0).toFixed(2),
    read10EventsPlannedAnewMs: replanMs.toFixed(2),
  })
  await lane.session.close()
  await database.drop()
}
