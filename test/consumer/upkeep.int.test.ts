import { expect, test } from 'vitest'
import { createConsumerMetrics } from '../../src/consumer/metrics.ts'
import { listDeadLetters, reviveDeadLetter } from '../../src/consumer/operate.ts'
import { createTables } from '../../src/consumer/tables.ts'
import { prune } from '../../src/consumer/upkeep.ts'
import { createLog } from '../../src/runtime/log.ts'
import { withDatabase } from '../helpers/database.ts'

test('what was settled long ago goes, as much as there is; what is new, open or dead stays', () =>
  withDatabase(async (_, pool) => {
    await createTables(pool)
    await pool.query(
      `insert into paidonce_consumer.inbox (consumer, event_id, order_key, lane, record_offset, event, state, settled_at)
       select 'c', kind || n, n, 0, n, '{}', state, settled from generate_series(1, 3500) n, (values
         ('old', 'done', now() - interval '61 days'), ('new', 'done', now()), ('open', 'waiting', null),
         ('dead', 'dead', now() - interval '99 days')) as of(kind, state, settled) where kind = 'old' or n <= 10`,
    )
    await pool.query(
      `insert into paidonce_consumer.dead_letters (consumer, topic, lane, record_offset, event_id, kind, reason)
       values ('c', 't', 0, 1, 'dead1', 'poison', 'a bug')`,
    )
    const log = createLog('test', 'silent')
    await prune({ pool, consumer: 'c', keepDays: 60, metrics: createConsumerMetrics(), log })
    const { rows } = await pool.query('select state, count(*)::int from paidonce_consumer.inbox group by 1 order by 1')
    expect(rows).toEqual(['dead', 'done', 'waiting'].map((state) => ({ state, count: 10 })))
    expect(await reviveDeadLetter(pool, 'c', 'dead1')).toBe(true)
    expect(await listDeadLetters(pool, 'c')).toEqual([])
  }))
