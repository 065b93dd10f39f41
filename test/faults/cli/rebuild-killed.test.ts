import { afterAll, beforeAll, expect, test } from 'vitest'
import { REBUILD_CRASH_POINTS, type RebuildCrashPoint } from '../../../src/cli/crash-points.ts'
import { startCrashingCli, untilPostgresNoticed } from '../../helpers/crash.ts'
import { createSetBackLedger, workUntil, type LostLedger } from '../../helpers/lost-ledger.ts'

/**
 * `lane rebuild` is killed at each of its points, each in a lane of its own, and run again. The ledger is gone and
 * Postgres was set back, so that events are imported: afterwards nothing is lost and nothing is out twice.
 */
const LANES = REBUILD_CRASH_POINTS.length
let it: LostLedger

beforeAll(async () => {
  it = await createSetBackLedger(LANES)
}, 120_000)
afterAll(() => it.installation.drop())

/** What of it is done: undefined, nobody knows. */
function doneAt(point: RebuildCrashPoint) {
  const at = REBUILD_CRASH_POINTS.indexOf(point)
  const isBehind = (other: RebuildCrashPoint) => at >= REBUILD_CRASH_POINTS.indexOf(other)
  return {
    imported: point === 'rebuild_commit_sent' ? undefined : isBehind('rebuild_after_commit'),
    ledger: isBehind('rebuild_ledger_committed'),
    resumed: point === 'rebuild_resume_commit_sent' ? undefined : isBehind('rebuild_resumed'),
  }
}
async function stateOf(lane: number) {
  const { rows } = await it.installation.database.pool.query<{ next: number; imported: number; halted: boolean }>(
    `select next_seq::int as next, halted_reason is not null as halted,
       (select count(*)::int from imported_events i where i.lane = l.lane) as imported from lanes l where lane = $1`,
    [lane],
  )
  return rows[0]
}

test.each(REBUILD_CRASH_POINTS)('kill -9 at %s, and run again: the ledger is exact', async (point) => {
  const lane = REBUILD_CRASH_POINTS.indexOf(point)
  const child = startCrashingCli(it.installation, it.rebuildArgs(lane), point, 'kill')
  await child.reached(60_000)
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
  // Until then its commit may still come, and whoever reads the lane before finds it `changed`.
  await untilPostgresNoticed(it.installation)

  const done = doneAt(point)
  const state = await stateOf(lane)
  // Both or neither.
  expect([
    { next: 6, imported: 0 },
    { next: 9, imported: 3 },
  ]).toContainEqual({
    next: state?.next,
    imported: state?.imported,
  })
  if (done.imported !== undefined) expect(state?.imported).toBe(done.imported ? 3 : 0)
  if (done.resumed !== undefined) expect(state?.halted).toBe(!done.resumed)
  expect(await it.ledgerOf(lane)).toEqual(done.ledger ? { offset: 9, metadata: '9' } : undefined)

  const again = await it.rebuild(lane).catch(String)
  if ((await stateOf(lane))?.halted === false && typeof again === 'string') {
    // It was resumed before it died.
    expect([done.resumed, again]).toEqual([done.resumed ?? done.resumed, expect.stringContaining('not halted')])
    expect(done.resumed).not.toBe(false)
  } else expect(again).toEqual({ code: 0, result: 'rebuilt' })
  expect(await it.ledgerOf(lane)).toEqual({ offset: 9, metadata: '9' })
  expect(await stateOf(lane)).toEqual({ next: 9, imported: 3, halted: false })
})

test('afterwards all lanes go on: nothing is lost, nothing is out twice', async () => {
  await it.pay()
  await workUntil(it, it.whole())
  const { found, expected, imported } = await it.findings()
  expect(found).toEqual(expected)
  expect(imported).toBe(0)
})
