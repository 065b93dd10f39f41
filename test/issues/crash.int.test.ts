import { expect, test } from 'vitest'
import { CRASH_POINTS, reachNothing, type Reach } from '../../src/processor/crash-points.ts'
import { withDatabase } from '../helpers/database.ts'
import { aFact, anOrder, aRecord, create, eventsOf, openLane, stateOf } from '../helpers/lane-bench.ts'

/** What others met when the end came between two steps; here at each point of a batch's transaction. */
const BATCH_POINTS = CRASH_POINTS.filter((point) => point.startsWith('batch_'))

// https://github.com/Pinelab-studio/pinelab-vendure-plugins/pull/626
test.each(BATCH_POINTS)(
  'DUP-12: the end comes at %s, the callback comes again, and what follows from it is there once',
  (where) =>
    withDatabase(async (url, pool) => {
      await create(pool, [anOrder('A')])
      let isArmed = true
      const dies: Reach = (point) => {
        if (isArmed && point === where) throw new Error('killed')
      }
      const first = await openLane(url, {}, dies)
      await expect(first.apply([aRecord(0, 'A', [aFact('p')])])).rejects.toThrow('killed')
      isArmed = false
      await first.session.close().catch(() => undefined)

      // The sender heard nothing and sends again, so that the topic has it twice; the new owner reads on where it was.
      const second = await openLane(url, {}, reachNothing)
      const records = [aRecord(0, 'A', [aFact('p')]), aRecord(1, 'A', [aFact('p')])]
      await second.apply(records.filter(({ offset }) => offset >= second.position.next))
      expect(await eventsOf(pool)).toHaveLength(3)
      expect(await stateOf(pool)).toMatchObject({
        orders: [['m1', 'A', 'paid', 'wechatpay:p', 1, 0, 3]],
        facts: [['m1/A', 'payment_succeeded', 'wechatpay:p', 'applied', 0]],
      })
      await second.session.close()
    }),
)
