import { expect, test } from 'vitest'
import { listBrakes } from '../../src/store/list-brakes.ts'
import { releaseBrake } from '../../src/store/release-brake.ts'
import { setBrake } from '../../src/store/set-brake.ts'
import { withDatabase } from '../helpers/database.ts'
import { APP, TOPIC } from '../helpers/lane-bench.ts'

test('of what waits in one lane no more than 10,000 events are counted, and the oldest is found in any lane', () =>
  withDatabase(async (_url, pool) => {
    await pool.query(
      `insert into lanes (topic, lane, start_offset, applied_offset) select $1, n, 0, 0 from generate_series(0, 2) n`,
      [TOPIC],
    )
    const by = { merchant: 'm1', outTradeNo: null, actor: 'ann', reason: 'wrong labels' }
    for (const eventType of ['ship', 'grant'] as const) await setBrake(pool, APP, TOPIC, { ...by, eventType })
    const wait = (brake: number, lane: number, count: number, sinceSec: number) =>
      pool.query(
        `insert into waiting_events (lane, brake_id, topic, event_id, kind, key, cause, occurred_at, created_at)
         select $2, $1, 'fulfillment.shipment.v1', gen_random_uuid(), 'ship', 'A', 'c', now(), now() - $4 * interval '1 second'
         from generate_series(1, $3::int)`,
        [brake, lane, count, sinceSec],
      )
    await wait(1, 0, 12_000, 60)
    await wait(1, 2, 3, 600)
    await wait(2, 2, 1, 30)
    const shown = (await listBrakes(pool, null)).map(({ id, waiting, oldestSec }) => [
      ...[id, waiting],
      Math.round((oldestSec ?? 0) / 30) * 30,
    ])
    expect(shown).toEqual([
      [1, 10_003, 600],
      [2, 1, 30],
    ])
    const release = { id: 1, merchant: null, actor: 'ben', reason: 'mended' }
    expect(await releaseBrake(pool, APP, TOPIC, release)).toMatchObject({ kind: 'released', waiting: 10_003 })
  }))
