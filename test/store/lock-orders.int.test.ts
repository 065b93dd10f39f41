import pg from 'pg'
import { expect, test } from 'vitest'
import { transactionOn } from '../../src/runtime/postgres.ts'
import { lockOrders } from '../../src/store/lock-orders.ts'
import { withDatabase } from '../helpers/database.ts'
import { anOrder, create } from '../helpers/lane-bench.ts'
import { printedRandom } from '../helpers/seed.ts'

test('whatever order they are asked in, orders are locked in one order: no deadlock in 4 × 100 contended runs', () =>
  withDatabase(async (url, pool) => {
    const random = printedRandom('locks')
    await create(
      pool,
      Array.from({ length: 300 }, (_, i) => anOrder(`A${i}`)),
    )
    const { rows } = await pool.query<{ id: string }>('select id from orders')
    const ids = rows.map(({ id }) => Number(id))
    const run = async () => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      for (let round = 0; round < 100; round++)
        await transactionOn(client, async (tx) => {
          const locked = await lockOrders(tx, random.shuffle(ids))
          expect(locked).toHaveLength(300)
        })
      await client.end()
    }
    await Promise.all([run(), run(), run(), run()])
  }))
