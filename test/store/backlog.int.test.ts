import { expect, test } from 'vitest'
import { readBacklog } from '../../src/store/read-backlog.ts'
import { withDatabase } from '../helpers/database.ts'
import { aFact, anOrder, aRecord, create, openLane } from '../helpers/lane-bench.ts'

test('what has waited past its limit is an anomaly, with an age of its own: it no longer ages as a held fact', () =>
  withDatabase(async (url, pool) => {
    const lane = await openLane(url)
    await create(pool, [anOrder('B')])
    await lane.apply([
      aRecord(0, 'A', [aFact('p')]),
      aRecord(1, 'B', [aFact('r', { eventType: 'refund_succeeded', paymentRef: 'wechatpay:none' })]),
    ])
    await pool.query(
      `update facts set recorded_at = now() - case when event_type = 'refund_succeeded' then 60 else 86400 end * interval '1 second'`,
    )
    const before = await readBacklog(pool, new Map())
    expect(before.heldFacts).toBe(2)
    expect(before.heldOldestSec).toBeGreaterThanOrEqual(86_400)
    await pool.query(`update timers set due_at = now() - interval '1 second' where order_id =
      (select id from orders where out_trade_no = 'A')`)
    await lane.wake()
    const after = await readBacklog(pool, new Map())
    expect(after.anomalies).toMatchObject([{ kind: 'unknown_order', open: 1 }])
    expect(after.heldFacts).toBe(2)
    expect(after.heldOldestSec).toBeGreaterThanOrEqual(60)
    expect(after.heldOldestSec).toBeLessThan(86_400)
    await lane.session.close()
  }))
