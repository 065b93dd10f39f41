import { afterAll, beforeAll, expect, test } from 'vitest'
import { AUDIT_CRASH_POINTS } from '../../../src/reconcile/audit/crash-points.ts'
import { paidonceJson } from '../../cli/paidonce.ts'
import { startCrashingCli, untilPostgresNoticed } from '../../helpers/crash.ts'
import { fillOutbox } from '../../helpers/fill-outbox.ts'
import { createInstallation, type Installation } from '../../helpers/installation.ts'
import { until } from '../../helpers/until.ts'

/**
 * `audit run` is killed at each of its points, and goes on with `--resume`: it comes to what a run came to that nobody
 * stopped, with each finding once. Two lanes, six pages of orders; faults in both lanes and in two of the pages.
 */
const ORDERS = 5_200
const env = () => it.env({ LOG_LEVEL: 'silent' }) as Record<string, string>
const hoursFromNow = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
const FAULTY = ['order-3', 'order-1500', 'order-5050', 'order-5100']

interface Audit {
  run: number
  result: string
  digest: string
  judged: unknown
  counts: Record<string, number>
  findings: unknown[]
}
let it: Installation
let whole: Audit
/** Ends when all is there: an end to come would be another one in each run. */
let window: readonly string[]

async function audit(...more: string[]): Promise<Audit & { code: number | null }> {
  const { code, json } = await paidonceJson(['audit', 'run', ...more], env())
  return { code, ...(json as Audit) }
}
const lastRun = async () => {
  const { rows } = await it.database.pool.query<{ id: string; digest: string | null; lanes: number; after: string }>(
    `select id, digest, orders_after as after, (select count(*)::int from audit_lanes where run_id = id) as lanes
     from audit_runs order by id desc limit 1`,
  )
  return { id: Number(rows[0]?.id), digest: rows[0]?.digest, lanes: rows[0]?.lanes, after: Number(rows[0]?.after) }
}

beforeAll(async () => {
  it = await createInstallation({ partitions: 2 })
  await fillOutbox(it, ORDERS)
  await it.database.pool.query(`update events set amount_minor = 99 where key = any($1) and kind = 'ship'`, [FAULTY])
  window = ['--since', hoursFromNow(-24), '--until', hoursFromNow(0)]
  whole = await audit(...window)
  expect(whole).toMatchObject({ code: 1, counts: { amount_mismatch: 8 }, judged: { orders: ORDERS } })
}, 120_000)
afterAll(() => it.drop())

/** The second lane and the second page: something is kept of the run then. */
const passageOf = (point: string) => (/_lane_|_page_/.test(point) ? 2 : 1)

test.each(AUDIT_CRASH_POINTS)('kill -9 at %s, and --resume: the same digest, each finding once', async (point) => {
  const before = await lastRun()
  const args = ['audit', 'run', ...window]
  const child = startCrashingCli(it, args, point, 'kill', passageOf(point))
  await child.reached(60_000)
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
  await untilPostgresNoticed(it)
  const left = await lastRun()
  const { digest, counts, findings, judged, result } = whole
  if (point === 'audit_before_begin' || point === 'audit_concluded') {
    // Nothing to go on with: no run was noted, or all of it.
    expect(left).toMatchObject({ id: before.id + (point === 'audit_concluded' ? 1 : 0), digest })
    expect(await audit('--resume')).toMatchObject({ code: 3, result: 'nothing_to_resume' })
    expect(await audit(...window)).toMatchObject({ code: 1, run: left.id + 1, digest, counts, findings, judged })
    return
  }
  expect(left).toMatchObject({ id: before.id + 1, digest: null })
  // It died in the middle of its work.
  if (point.includes('_lane_')) expect([1, 2]).toContain(left.lanes)
  if (point.includes('_page_')) expect([left.lanes, left.after > 0]).toEqual([2, true])
  const resumed = await audit('--resume')
  expect(resumed).toEqual({ ...whole, code: 1, run: left.id, result, digest, counts, findings, judged })
  const { rows } = await it.database.pool.query('select count(*)::int as n from audit_findings where run_id = $1', [
    left.id,
  ])
  expect(rows).toEqual([{ n: whole.findings.length }])
})

test.each([
  ['SIGINT', 'audit_lane_judged'],
  ['SIGTERM', 'audit_page_commit_sent'],
] as const)('%s at %s: exit 3, it says how to go on, and does: the same digest', async (signal, point) => {
  const child = startCrashingCli(it, ['audit', 'run', ...window], point, 'stop', 2)
  await child.reached(60_000)
  child.signal(signal)
  child.signal('SIGCONT')
  expect(await child.exited).toEqual({ code: 3, signal: null })
  const { id, digest } = await lastRun()
  expect(digest).toBeNull()
  await until('its lock is free', async () => {
    const { rowCount } = await it.database.pool.query(
      `select from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
    )
    return rowCount === 0
  })
  const { digest: same, counts, findings } = whole
  expect(await audit('--resume')).toMatchObject({ code: 1, run: id, digest: same, counts, findings })
})

test('killed again and again while it goes on', async () => {
  const points = ['audit_lane_after_commit', 'audit_lane_judged', 'audit_page_after_commit', 'audit_judged'] as const
  const { id } = await lastRun()
  for (const [index, point] of points.entries()) {
    const args = ['audit', 'run', ...(index === 0 ? window : ['--resume'])]
    const child = startCrashingCli(it, args, point, 'kill')
    await child.reached(60_000)
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
    await until('its lock is free', async () => {
      const { rowCount } = await it.database.pool.query(
        `select from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
      )
      return rowCount === 0
    })
  }
  const { code, run, digest, counts, findings } = await audit('--resume')
  expect({ code, run, digest, counts, findings }).toEqual({
    ...{ code: 1, run: id + 1, digest: whole.digest, counts: whole.counts, findings: whole.findings },
  })
})
