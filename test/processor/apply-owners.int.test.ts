import { expect, test } from 'vitest'
import type { LaneRecord } from '../../src/processor/lane-types.ts'
import { withDatabase } from '../helpers/database.ts'
import {
  aDeadLetter,
  aFact,
  anOrder,
  aRecord,
  create,
  eventsOf,
  MustFenceError,
  openLane,
  stateOf,
} from '../helpers/lane-bench.ts'
import { printedRandom } from '../helpers/seed.ts'

test('two owners of one lane with the same batch: one writes, the other meets duplicates; no event twice', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A'), anOrder('B')])
    const records = [aRecord(0, 'A', [aFact('p')]), aRecord(1, 'B', [aFact('p')]), aDeadLetter(2)]
    const owners = [await openLane(url, { next: 0 }), await openLaneBeside(url)]
    const results = await Promise.all(owners.map((owner) => owner.apply(records)))
    expect(results.map(({ events }) => events.length).sort()).toEqual([0, 7])
    expect(await eventsOf(pool)).toHaveLength(7)
    expect(await stateOf(pool)).toMatchObject({ lanes: [[0, 7, 3]], deadLetters: [[0, 2, 'undecodable']] })
    expect(((await stateOf(pool)) as { deliveries: unknown[] }).deliveries).toHaveLength(3)
    for (const owner of owners) await owner.session.close()
  }))

test('an owner whose Postgres went back loses: it must fence, and nothing of it is written', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A'), anOrder('B')])
    const ahead = await openLane(url)
    await ahead.apply([aRecord(0, 'A', [aFact('p')])])
    ahead.position = { ...ahead.position, ledger: 3 }
    // A backup comes back: the order is unpaid again and the lane at its start.
    await pool.query(`update lanes set next_seq = 0, applied_offset = 0, settled_seq = 0; truncate events, facts, deliveries;
      update orders set status = 'pending', accepted_ref = null, version = 0, sequence = 0`)
    const before = await stateOf(pool)
    await expect(ahead.apply([aRecord(1, 'B', [aFact('p')])])).rejects.toBeInstanceOf(MustFenceError)
    expect(await stateOf(pool)).toEqual(before)
    // Read again from the start, with a ledger that Postgres has not reached: still nothing.
    const behind = await openLane(url, { ledger: 3, next: 0 })
    await expect(behind.apply([aRecord(0, 'A', [aFact('p')])])).rejects.toThrow('counter_behind_ledger')
    expect(await stateOf(pool)).toEqual(before)
    await behind.session.close()
    await ahead.session.close()
  }))

test('two orders of one group, paid by two lanes at the same instant: one is paid, the other is a double payment', () =>
  withDatabase(async (url, pool) => {
    for (let round = 0; round < 10; round++) {
      const [a, b] = [`A${round}`, `B${round}`]
      const groupKey = `g${round}`
      await create(pool, [anOrder(a, { groupKey })], 0)
      await create(pool, [anOrder(b, { groupKey })], 1)
      const lanes = [await openLane(url, { lane: 0 }), await openLane(url, { lane: 1 })] as const
      await Promise.all([
        lanes[0].apply([aRecord(lanes[0].position.next, a, [aFact('p')])]),
        lanes[1].apply([aRecord(lanes[1].position.next, b, [aFact('q')])]),
      ])
      const { rows } = await pool.query(
        `select (select count(*) from orders where status = 'paid' and group_key = $1)::int as paid,
           (select count(*) from anomalies a join orders o on o.id = a.order_id
             where kind = 'double_payment' and group_key = $1)::int as doubles,
           (select count(*) from groups where order_id is not null and group_key = $1)::int as groups`,
        [groupKey],
      )
      expect(rows).toEqual([{ paid: 1, doubles: 1, groups: 1 }])
      for (const { session } of lanes) await session.close()
    }
  }))

test('so it is with orders that are created after their payments', () =>
  withDatabase(async (url, pool) => {
    const lanes = [await openLane(url, { lane: 0 }), await openLane(url, { lane: 1 })] as const
    for (const lane of lanes)
      await lane.apply(Array.from({ length: 10 }, (_, i) => aRecord(i, `${lane.position.lane}-${i}`, [aFact('p')])))
    for (const { position } of lanes) {
      const bodies = Array.from({ length: 10 }, (_, i) => anOrder(`${position.lane}-${i}`, { groupKey: `g${i}` }))
      await create(pool, bodies, position.lane)
    }
    expect((await pool.query('select 1 from groups')).rowCount).toBe(10)
    await Promise.all(lanes.map((lane) => lane.wake()))
    const { rows } = await pool.query(
      `select (select count(*) from orders where status = 'paid')::int as paid,
         (select count(*) from anomalies where kind = 'double_payment')::int as doubles`,
    )
    expect(rows).toEqual([{ paid: 10, doubles: 10 }])
    for (const { session } of lanes) await session.close()
  }))

test('two owners with the same orders in opposite order lock them in one order', () =>
  withDatabase(async (url, pool) => {
    const ids = Array.from({ length: 300 }, (_, i) => `A${i}`)
    await create(
      pool,
      ids.map((id) => anOrder(id)),
    )
    const owners = [await openLane(url), await openLaneBeside(url)]
    const run = async (who: number) => {
      const order = who === 0 ? ids : ids.toReversed()
      const owner = owners[who]
      for (let round = 0; round < 8; round++)
        await owner?.apply(order.map((id, i) => aRecord(round * 300 + i, id, [aFact(`p${who}-${round}-${id}`)])))
    }
    await Promise.all([run(0), run(1)])
    expect((await pool.query(`select 1 from orders where status = 'paid' and version = 16`)).rowCount).toBe(300)
    for (const { session } of owners) await session.close()
  }))

test('lanes that share groups, creates and a zombie contend without a deadlock, and pay each group once', () =>
  withDatabase(async (url, pool) => {
    const random = printedRandom('contention')
    const GROUPS = 12
    const LANES = 3
    const bodies = Array.from({ length: LANES }, (_, lane) =>
      Array.from({ length: 60 }, (_, i) => anOrder(`L${lane}-${i}`, { groupKey: `g${i % GROUPS}` })),
    )
    // A third of the orders come later than their callbacks.
    await Promise.all(
      bodies.map((own, lane) =>
        create(
          pool,
          own.filter((_, i) => i % 3 !== 0),
          lane,
        ),
      ),
    )
    const errors: unknown[] = []
    const run = async (lane: number, isZombie: boolean) => {
      const owner = await (isZombie ? openLaneBeside(url, lane) : openLane(url, { lane }))
      for (let offset = 0; offset < 200; offset += 20) {
        const records: LaneRecord[] = Array.from({ length: 20 }, (_, i) =>
          aRecord(offset + i, `L${lane}-${(offset + i * 7) % 60}`, [aFact(`p${lane}-${(offset + i) % 90}`)]),
        )
        await owner.apply(records).catch((error: unknown) => {
          if (!(error instanceof MustFenceError)) errors.push(error)
          owner.position = { ...owner.position, next: offset + 20 }
        })
        if (random.chance(0.5)) await owner.wake().catch((error: unknown) => void errors.push(error))
      }
      for (let left = 20; left > 0 && (await owner.wake()) !== undefined;) left--
      await owner.session.close()
    }
    await Promise.all([
      ...bodies.map((_, lane) => run(lane, false)),
      ...bodies.map((_, lane) => run(lane, true)),
      ...bodies.map(async (own, lane) => {
        const late = random.shuffle(own.filter((_, i) => i % 3 === 0))
        for (let i = 0; i < late.length; i += 5) await create(pool, late.slice(i, i + 5), lane)
      }),
    ])
    expect(errors).toEqual([])
    for (let lane = 0; lane < LANES; lane++) {
      const last = await openLane(url, { lane })
      await last.wake()
      await last.session.close()
    }
    const { rows } = await pool.query(`
      select (select count(*) from orders where status = 'awaited' or held_count <> 0)::int as waiting,
        (select count(*) from orders where status = 'paid')::int as paid,
        (select count(*) from groups g join orders o on o.id = g.order_id where o.status = 'paid')::int as groups,
        (select max(n) from (select count(*) n from events group by event_id) e)::int as most,
        (select bool_and(next_seq = (select count(*) from events e where e.lane = l.lane)) from lanes l) as dense`)
    expect(rows).toEqual([{ waiting: 0, paid: GROUPS, groups: GROUPS, most: 1, dense: true }])
  }))

/** A second owner that does not end the first: as it is while a zombie lives. */
const openLaneBeside = (url: string, lane = 0) => openLane(url, { lane, next: 0, appId: 'zombie' })
