import { expect, test } from 'vitest'
import { raiseFences } from '../../src/consumer/raise-fences.ts'
import { createTables } from '../../src/consumer/tables.ts'
import { withDatabase } from '../helpers/database.ts'

test('fences never fall, also where several lanes raise them while others take some', () =>
  withDatabase(async (_, pool) => {
    await createTables(pool)
    await pool.query('create unlogged table given (fence bigint)')
    const FENCE = `nextval('paidonce_consumer.fence')`
    const take = () => pool.query(`insert into given select ${FENCE} from generate_series(1, 100000)`)
    const raiseMeanwhile = async () => {
      let areTaking = true
      const taking = Promise.all([take(), take(), take()]).finally(() => (areTaking = false))
      const raise = async () => {
        do await raiseFences(pool)
        while (areTaking)
      }
      await Promise.all([taking, raise(), raise(), raise()])
    }
    const nowMs = Date.now()
    await raiseMeanwhile()
    const { rows } = await pool.query<{ next: string }>(`select ${FENCE} as next`)
    expect(Number(rows[0]?.next)).toBeGreaterThanOrEqual(nowMs)
    // A clock behind what was given, as after a failover to another machine.
    await pool.query(`select setval('paidonce_consumer.fence', $1)`, [nowMs + 3_600_000])
    await raiseMeanwhile()
    const { rows: twice } = await pool.query('select fence from given group by fence having count(*) > 1 limit 1')
    expect(twice).toEqual([])
  }))
