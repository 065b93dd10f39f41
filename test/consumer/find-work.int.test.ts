import { expect, test } from 'vitest'
import { findWork, FIND_WORK } from '../../src/consumer/open-row.ts'
import { createTables } from '../../src/consumer/tables.ts'
import { withDatabase } from '../helpers/database.ts'
import { anEvent } from '../helpers/consumer.ts'

test('what may be worked on is found by one look into an index for each row, without statistics too', () =>
  withDatabase(async (_, pool) => {
    await createTables(pool)
    await pool.query(
      `insert into paidonce_consumer.inbox (consumer, event_id, order_key, lane, record_offset, event)
       select 'c', g, 'order-' || g % 20, g % 2, g, $1 from generate_series(1, 2000) g`,
      [JSON.stringify(anEvent('any'))],
    )
    const found = await findWork(pool, 'c', [0, 1], 100)
    expect(found.map(({ eventId }) => Number(eventId)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (__, n) => n + 1),
    )
    expect(await findWork(pool, 'c', [0], 3)).toHaveLength(3)
    const { rows } = await pool.query<Record<string, string>>(`explain (generic_plan) ${FIND_WORK}`)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).not.toContain('Anti Join')
    expect(plan).toContain('Index Cond: ((consumer = i.consumer) AND (order_key = i.order_key))')
  }))
