import type pg from 'pg'
import { expect, test } from 'vitest'
import { createMetrics } from '../../src/processor/metrics.ts'
import { sampleBacklog } from '../../src/processor/sample.ts'
import { readBacklog } from '../../src/store/read-backlog.ts'
import { withDatabase } from '../helpers/database.ts'
import { anOrder, create } from '../helpers/lane-bench.ts'
import { paidonce, paidonceJson } from './paidonce.ts'

/** Lanes 0 and 1 of an installation, an order A, and queries about it: [lane, ref, due in so many seconds, …]. */
async function file(pool: pg.Pool, queries: readonly [number, string, number, leasedSec?: number][]) {
  await pool.query(
    `insert into lanes (topic, lane, start_offset, applied_offset, next_seq, settled_seq)
     select t, n, 0, 0, 0, 0 from unnest('{t,u}'::text[]) t, generate_series(0, 1) n`,
  )
  await create(pool, [anOrder('A')])
  for (const [lane, ref, dueSec, leasedSec = null] of queries)
    await pool.query(
      `insert into timers (lane, order_id, kind, ref, due_at, leased_until, attempts)
       select $1, id, 'query', $2, now() + $3 * interval '1 s', now() + $4 * interval '1 s', 2 from orders`,
      [lane, ref, dueSec, leasedSec],
    )
}

test('queries that are filed are shown by when they are due, over all lanes', () =>
  withDatabase(async (url, pool) => {
    const env = { DATABASE_URL: url }
    expect(await paidonce(['query', 'list'], env)).toMatchObject({ code: 0, stdout: '(none)\n' })
    await file(pool, [
      [0, 'refund:later', 3_600],
      [1, 'refund:\u001b[2J', -60],
      [0, 'refund:first', -120],
      [1, 'refund:asked', -90, 30],
    ])
    await pool.query(
      `insert into timers (lane, order_id, kind, ref, due_at) values (1, 987654321, 'query', 'refund:gone', now())`,
    )
    const { code, json } = await paidonceJson(['query', 'list'], env)
    expect([code, json]).toMatchObject([
      0,
      {
        more: false,
        queries: [
          { merchant: 'm1', out_trade_no: 'A', ref: 'refund:first', state: 'due', attempts: 2, lane: 0 },
          { ref: 'refund:asked', state: 'being asked' },
          { ref: 'refund:\u001b[2J', state: 'due', lane: 1 },
          { merchant: null, out_trade_no: null, ref: 'refund:gone' },
          { ref: 'refund:later', state: 'later' },
        ],
      },
    ])
    const { stdout } = await paidonce(['query', 'list', '--limit', '3'], env)
    expect(stdout).toMatch(/refund:first .*due .*\n[^]*refund:asked[^]*refund:\\u\{1b\}\[2J/)
    for (const hidden of ['gone', '\u001b']) expect(stdout).not.toContain(hidden)
    expect(stdout).toContain('There are more than these 3')
  }))

test('how many wait, and how long the first has been due, is a gauge; what is not due yet has no age', () =>
  withDatabase(async (_url, pool) => {
    const metrics = createMetrics()
    const gauges = async () => {
      sampleBacklog(metrics, [], await readBacklog(pool, new Map()))
      const read = async (name: string) =>
        Number((await metrics.registry.getSingleMetricAsString(name)).split(' ').at(-1))
      return [await read('paidonce_queries_filed'), await read('paidonce_queries_oldest_seconds')]
    }
    expect(await gauges()).toEqual([0, 0])
    await file(pool, [[0, 'refund:1', 3_600]])
    expect(await gauges()).toEqual([1, 0])
    for (const [lane, ref, sec] of [
      [0, 'refund:2', 120],
      [1, 'refund:3', 60],
    ] as const)
      await pool.query(
        `insert into timers (lane, order_id, kind, ref, due_at) select $1, id, 'query', $2, now() - $3 * interval '1 s' from orders`,
        [lane, ref, sec],
      )
    const [filed, oldestSec] = await gauges()
    expect(filed).toBe(3)
    expect(oldestSec).toBeGreaterThanOrEqual(120)
    expect(oldestSec).toBeLessThan(180)
  }))

test('of a flood of queries in one lane only so many are counted', () =>
  withDatabase(async (_url, pool) => {
    await file(pool, [])
    await pool.query(
      `insert into timers (lane, order_id, kind, ref, due_at)
       select 0, n, 'query', 'refund:' || n, now() - interval '1 minute' from generate_series(1, 10100) n
       union all select 1, 20000 + n, 'expiry', '', now() from generate_series(1, 100) n`,
    )
    expect((await readBacklog(pool, new Map())).queriesFiled).toBe(10_000)
  }))
