import type pg from 'pg'
import { beginBillRun } from '../../src/store/bill-runs.ts'
import { discardDeadLetters } from '../../src/store/discard-dead-letters.ts'
import { fileCommand } from '../../src/store/file-command.ts'
import { releaseBrake } from '../../src/store/release-brake.ts'
import { requestReplay } from '../../src/store/request-replay.ts'
import { setBrake } from '../../src/store/set-brake.ts'
import { finishBrakes } from '../../src/store/tell-lanes.ts'
import { APP, MERCHANT, TOPIC, type LaneBench } from './lane-bench.ts'

const WHO = { actor: 'ann', reason: 'a day’s work' }

/**
 * What operators do on one day: a brake is set and released, one of two dead letters is discarded, the other replayed,
 * one order is asked to be closed, and a bill is imported. Postgres writes its own time; it is put into the simulated day afterwards.
 */
export async function operatorsDay(lane: LaneBench, pool: pg.Pool, nowMs: number, outTradeNo: string): Promise<void> {
  const set = await setBrake(pool, APP, TOPIC, { merchant: MERCHANT, outTradeNo: null, eventType: 'ship', ...WHO })
  if (set.kind === 'too_many') throw new Error('brakes are never released')
  await releaseBrake(pool, APP, TOPIC, { id: set.id, merchant: null, ...WHO })
  await finishBrakes(pool, APP, TOPIC)

  const { rows } = await pool.query<{ id: string }>(`select id from dead_letters where status = 'open' order by id`)
  const [first = 0, second = 0] = rows.map(({ id }) => Number(id))
  await discardDeadLetters(pool, { topic: TOPIC, ids: [first] }, { ...WHO, dryRun: false })
  const filter = { topic: TOPIC, ids: [second] }
  await requestReplay(pool, { filter, partitions: 1, quarantined: false, dryRun: false, ...WHO })
  // As whoever sends it, and then its lane, would say.
  await pool.query(`update replays set sent_at = now(), result = 'applied', finished_at = now() where result is null`)
  await pool.query(`update dead_letters set status = 'replayed', closed_at = now() where status = 'replaying'`)

  const request = { merchant: MERCHANT, outTradeNo, idempotencyKey: outTradeNo, bodyHash: Buffer.alloc(32), body: '{}' }
  await fileCommand(pool, APP, { kind: 'close', ...request, actor: 'ann' })
  await lane.wake()

  const now = new Date(nowMs)
  const bill = { provider: 'wechatpay', merchant: MERCHANT, day: now.toISOString().slice(0, 10) }
  const runId = await beginBillRun(pool, { ...bill, actor: 'ann', filesSha256: '' })
  await pool.query(`update bill_runs set finished_at = now(), result = 'findings' where id = $1`, [runId])
  await pool.query(
    `insert into bill_findings (run_id, finding, state, document) values ($1, 'not_there', 'open', '{}')`,
    [runId],
  )
  await pool.query(`insert into bill_seen values ($1, 'payment/wechatpay:1')`, [runId])

  for (const [table, columns] of Object.entries(TIMES))
    await pool.query(
      `update ${table} set ${columns.map((c) => `${c} = case when ${c} is not null then $1::timestamptz end`).join()}
       where ${columns[0]} > now() - interval '1 hour'`,
      [now],
    )
}

/** The first one says when the row came. */
const TIMES = {
  brakes: ['set_at', 'released_at', 'done_at'],
  dead_letters: ['created_at', 'closed_at'],
  replays: ['sent_at', 'finished_at'],
  replay_runs: ['created_at'],
  commands: ['created_at', 'finished_at'],
  bill_runs: ['started_at', 'finished_at'],
} as const
