import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCli } from '../../../src/cli/run-cli.ts'
import { readAuditConfig } from '../../../src/reconcile/audit/config.ts'
import { runAudit } from '../../../src/reconcile/audit/start.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { createLostLedger, workUntil, type LostLedger } from '../../helpers/lost-ledger.ts'

/**
 * After a restore and a rebuild a lane's numbers do not rise with the time: what was brought back from the topics (9 to
 * 11 here) is written again late, much later than numbers above it. The window's search took that for order.
 */
let lost: LostLedger
const HOUR_MS = 3_600_000
const now = Date.now()
const NONE = { missing: 0, duplicate: 0, amount_mismatch: 0, extra: 0, late: 0 }
const query = (text: string) => lost.installation.database.pool.query(text)

/** @param since in hours before now, and so `until` */
async function audit(since: number, until: number) {
  const { installation: it } = lost
  const window = { sinceMs: now - since * HOUR_MS, untilMs: now - until * HOUR_MS }
  const request = { actor: 'test', window, onProgress: () => undefined }
  const end = await runAudit(readAuditConfig(it.env()), it.database.pool, request, createLog('audit', 'silent'))
  if (end.kind !== 'done') throw new Error(end.kind)
  const inTopics = end.report.findings.filter((finding) => finding.in === 'topics')
  return { ...end.report, inTopics: inTopics.map(({ finding, laneSeq }) => [finding, laneSeq]) }
}

beforeAll(async () => {
  lost = await createLostLedger(1)
  for (let paid = 0; paid < 4; paid++) await lost.pay()
  await workUntil(lost, 12)
  await lost.setBack()
  await lost.halt('ledger_above_counter')
  expect(await runCli(lost.rebuildArgs(0), lost.installation.env({ LOG_LEVEL: 'silent' }))).toBe(0)
  await lost.pay()
  await lost.pay()
  await workUntil(lost, 18)
  expect((await query('select from imported_events')).rowCount).toBe(0)
  await query(`update events set created_at = to_timestamp(${now} / 1000) - case
    when lane_seq < 9 then interval '10 hours' when lane_seq < 12 then interval '1 hour'
    when lane_seq < 15 then interval '5 hours' when lane_seq < 16 then interval '3 hours' else interval '2 hours' end`)
}, 120_000)
afterAll(() => lost.installation.drop())

test('events that were placed late are of the window in which they were written, and of no other', async () => {
  const events = async (since: number, until: number) => {
    const { result, counts, undecided, events: judged } = await audit(since, until)
    expect({ result, counts, undecided }).toEqual({ result: 'ok', counts: NONE, undecided: [] })
    return judged
  }
  expect(await events(11, 8)).toBe(9)
  expect(await events(6, 4)).toBe(3)
  expect(await events(4, 1.5)).toBe(3)
  expect(await events(1.5, 0.5)).toBe(3)
  expect(await events(2.5, 0.5)).toBe(5)
  expect(await events(11, 0)).toBe(18)
  expect((await audit(2.5, 0.5)).digest).toBe((await audit(2.5, 0.5)).digest)
})

test('one of them that is wrong is found in its window', async () => {
  await query('update events set amount_minor = 99 where lane_seq = 10')
  expect((await audit(4, 1.5)).inTopics).toEqual([])
  expect((await audit(1.5, 0.5)).inTopics).toEqual([['amount_mismatch', 10]])
  await query('update events set amount_minor = 100 where lane_seq = 10')
})

test('one that nothing has caused again is of the window in which it was brought back', async () => {
  await query(`create table kept as select * from events where lane_seq = 11`)
  await query(`insert into imported_events (event_id, lane, lane_seq) select event_id, lane, lane_seq from kept`)
  await query('delete from events where lane_seq = 11')
  expect((await audit(6, 1.5)).inTopics).toEqual([])
  expect((await audit(6, -1)).inTopics).toEqual([['extra', 11]])
  await query('insert into events select * from kept')
  await query('delete from imported_events')
  expect((await audit(6, -1)).inTopics).toEqual([])
})

test('days before them are dropped, and they are kept: nothing is extra, and what is kept is told from what is not', async () => {
  const gone = '(select key from events where lane_seq < 9 or lane_seq between 12 and 14)'
  await query(`update facts set recorded_at = now() - interval '11 hours'
    where order_id in (select id from orders where out_trade_no in ${gone})`)
  await query(`update orders set created_at = now() - interval '11 hours' where out_trade_no in ${gone}`)
  await query('delete from events where lane_seq < 9 or lane_seq between 12 and 14')
  expect(await audit(2.5, 0.5)).toMatchObject({ result: 'ok', counts: NONE, undecided: [], events: 5 })
  const all = await audit(11, 0)
  expect(all).toMatchObject({ result: 'undecided', counts: NONE })
  expect(all.undecided.map(({ reason }) => reason)).toEqual(['events_trimmed'])
})

test('while Postgres is set back, what is out is not called extra: it is undecided, also on a lane that knows of none', async () => {
  for (const nextSeq of [15, 0]) {
    await query(`delete from events where lane_seq >= ${nextSeq}`)
    await query(`update lanes set next_seq = ${nextSeq}, settled_seq = 0`)
    const { inTopics, undecided } = await audit(11, -1)
    expect(inTopics).toEqual([])
    expect(undecided.map(({ reason }) => reason)).toContain('postgres_set_back')
  }
})
