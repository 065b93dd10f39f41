import { afterEach, beforeEach, expect, test } from 'vitest'
import { claimLane, releaseLanes } from '../../src/consumer/claim-lane.ts'
import { inbox } from '../../src/consumer/effect.ts'
import { clearMark, markBegun } from '../../src/consumer/mark-begun.ts'
import { findWork } from '../../src/consumer/open-row.ts'
import type { Parts } from '../../src/consumer/parts.ts'
import { createTables } from '../../src/consumer/tables.ts'
import { careFor } from '../../src/consumer/work-with-care.ts'
import { anEvent, createDownstream, type Downstream } from '../helpers/consumer.ts'

let downstream: Downstream
let owner: Parts['owner']
let pool: Parts['pool']

beforeEach(async () => {
  downstream = await createDownstream(1)
  owner = { consumer: downstream.consumer, topic: downstream.topics.name('fulfillment.shipment.v1') }
  pool = downstream.database.pool
  await createTables(pool)
})
afterEach(() => downstream.drop())

const insert = async (orders: readonly string[]) => {
  for (const [n, order] of orders.entries()) {
    const event = anEvent(order)
    await pool.query(
      `insert into paidonce_consumer.inbox (consumer, event_id, order_key, lane, record_offset, event)
       values ($1, $2, $3, 0, $4, $5)`,
      [owner.consumer, event.eventId, `shop/${order}`, n, JSON.stringify(event)],
    )
  }
}
const first = async () => {
  const [row] = await findWork(pool, owner.consumer, [0], 1)
  if (row === undefined) throw new Error('nothing is due')
  return row
}
/** Time passes. */
const age = () => pool.query(`update paidonce_consumer.inbox set begun_at = begun_at - interval '1 minute'`)
const marking = (run: string) => ({ pool, owner, run, retries: { killsMax: 2 } as Parts['retries'] })

test('a mark that a run left behind in company makes its row suspect; one of a row that was alone counts', async () => {
  await insert(['order'])
  expect(careFor(await first(), 'one', 0)).toBe('none')
  expect(careFor(await first(), 'one', Number.MAX_SAFE_INTEGER)).toBe('marked')
  expect(await markBegun(marking('one'), await first(), false)).toBe(0)
  expect(careFor(await first(), 'one', 0)).toBe('none')
  expect(careFor(await first(), 'two', 0)).toBe('alone')
  // Whoever left it a moment ago may be about to begin.
  expect(await markBegun(marking('two'), await first(), true)).toBeUndefined()
  await age()
  expect(await markBegun(marking('two'), await first(), true)).toBe(0)
  // Its own is none that was left behind: it only had to wait for Postgres.
  expect(await markBegun(marking('two'), await first(), true)).toBe(0)
  await age()
  expect(await markBegun(marking('three'), await first(), true)).toBe(1)
  await clearMark(marking('three'), await first())
  expect(careFor(await first(), 'four', 0)).toBe('alone')
  expect(await markBegun(marking('four'), await first(), true)).toBe(1)
  await age()
  expect(await markBegun(marking('five'), await first(), true)).toBe(2)
})

test('a lane that a run lets go was in order; of one that it left behind the open rows are watched', async () => {
  const place = { ...owner, lane: 0 }
  await pool.query(
    'insert into paidonce_consumer.positions (consumer, topic, lane, next_offset) values ($1, $2, 0, 0)',
    [owner.consumer, owner.topic],
  )
  await insert(['a', 'b'])
  expect(await claimLane(pool, place, 'one')).toBeUndefined()
  expect(await claimLane(pool, place, 'one')).toBeUndefined()
  expect(await claimLane(pool, place, 'two')).toBe(2)
  await releaseLanes(pool, owner, 'one')
  expect(await claimLane(pool, place, 'three')).toBe(2)
  await releaseLanes(pool, owner, 'three', [1])
  expect(await claimLane(pool, place, 'four')).toBe(2)
  await releaseLanes(pool, owner, 'four')
  expect(await claimLane(pool, place, 'five')).toBeUndefined()
})

test('while an event is in work that may have ended a process, nothing else is', async () => {
  await insert(Array.from({ length: 30 }, (_, n) => `order-${n}`))
  await pool.query(
    `update paidonce_consumer.inbox set begun_by = 'gone', begun_at = now() - interval '1 minute'
     where record_offset in (3, 4, 20)`,
  )
  const suspects = new Set(['order-3', 'order-4', 'order-20'])
  const inWork = new Set<string>()
  const together: string[][] = []
  let most = 0
  await downstream.start({
    effects: {
      ship: inbox(async (tx, { outTradeNo }) => {
        inWork.add(outTradeNo)
        most = Math.max(most, inWork.size)
        await tx.query('select pg_sleep(0.05)')
        if ([...inWork].some((order) => suspects.has(order))) together.push([...inWork])
        inWork.delete(outTradeNo)
      }),
    },
  })
  await downstream.untilDone(30, 50_000)
  expect(together.toSorted()).toEqual([...suspects].map((order) => [order]).toSorted())
  expect(most).toBeGreaterThan(1)
})

test('tables of the version before get what is new, and keep what they have', async () => {
  await insert(['kept'])
  await pool.query(
    `alter table paidonce_consumer.inbox drop column begun_by, drop column begun_at, drop column begun_alone,
       drop column kills;
     alter table paidonce_consumer.positions drop column taken_by;
     alter table paidonce_consumer.dead_letters drop constraint dead_letters_kind_check,
       add constraint dead_letters_kind_check
         check (kind in ('refused', 'poison', 'gave_up', 'no_effect_for_kind', 'undecodable'));
     comment on schema paidonce_consumer is 'paidonce 2'`,
  )
  await createTables(pool)
  expect(await first()).toMatchObject({ kills: 0, begunBy: undefined })
  await pool.query(
    `insert into paidonce_consumer.dead_letters (consumer, topic, lane, record_offset, kind, reason)
     values ('c', 't', 0, 0, 'killed_process', 'a crash')`,
  )
})
