import type pg from 'pg'
import { expect, test } from 'vitest'
import type { BrakeScope } from '../../src/orders/brake.ts'
import { CRASH_POINTS, reachNothing, type Reach } from '../../src/processor/crash-points.ts'
import { listBrakes } from '../../src/store/list-brakes.ts'
import { releaseBrake } from '../../src/store/release-brake.ts'
import { setBrake } from '../../src/store/set-brake.ts'
import { finishBrakes } from '../../src/store/tell-lanes.ts'
import { withDatabase } from '../helpers/database.ts'
import { aDeadLetter, aFact, anOrder, APP, aRecord, create, eventsOf, openLane, TOPIC } from '../helpers/lane-bench.ts'

const scope = (of: Partial<BrakeScope>): BrakeScope => ({ merchant: null, outTradeNo: null, eventType: null, ...of })
const set = (pool: pg.Pool, of: Partial<BrakeScope>) =>
  setBrake(pool, APP, TOPIC, { ...scope(of), actor: 'ann', reason: 'stock is wrong' })
const release = (pool: pg.Pool, id: number) =>
  releaseBrake(pool, APP, TOPIC, { id, merchant: null, actor: 'ben', reason: 'mended' })
/** Wakes the lane until it has nothing to do; "emits" after each. */
async function drain(lane: Awaited<ReturnType<typeof openLane>>, reach?: Reach): Promise<number> {
  for (let steps = 0; ; steps++) {
    const applied = await lane.wake({}, reach)
    if (applied === undefined) return steps
    lane.position = { ...lane.position, ledger: applied.nextSeq }
  }
}
const waitingCounts = async (pool: pg.Pool) => {
  const { rows } = await pool.query<{ line: string }>(
    `select out_trade_no || ' ' || waiting_count as line from orders where waiting_count <> 0 order by 1`,
  )
  return rows.map(({ line }) => line)
}
const idOf = (brake: Awaited<ReturnType<typeof set>>) => {
  if (brake.kind === 'too_many') throw new Error('too many')
  return brake.id
}

test('a type is kept back and what follows it in its order, others flow; released, all go out in order', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A'), anOrder('B'), anOrder('C')])
    const lane = await openLane(url)
    await lane.apply([aRecord(0, 'A', [aFact('a')])])
    expect(await set(pool, { eventType: 'deduct' })).toEqual({
      ...{ kind: 'set', id: 1, stops: [{ lane: 0, stopSeq: 3 }], untold: [] },
    })
    // The lane decided by the old rule: it is refused, reads the brakes, and runs again.
    const applied = await lane.apply([aRecord(1, 'B', [aFact('b')]), aRecord(2, 'A', [aFact('a2')])])
    expect(applied).toMatchObject({ reruns: 1, baseSeq: 3, nextSeq: 5 })
    const before = ['0 m1/A ship 1', '1 m1/A deduct 2', '2 m1/A grant 3', '3 m1/B ship 1', '4 m1/A anomaly_opened -']
    expect(await eventsOf(pool)).toEqual(before)
    expect(await waitingCounts(pool)).toEqual(['B 2'])
    expect(await listBrakes(pool, null)).toMatchObject([
      { id: 1, eventType: 'deduct', state: 'set', setBy: 'ann', reason: 'stock is wrong', waiting: 2 },
    ])

    // Refunded in full while it waits: both wait, in order.
    const refund = aFact('r', { eventType: 'refund_succeeded', paymentRef: 'wechatpay:b' })
    expect(await lane.apply([aRecord(3, 'B', [refund])])).toMatchObject({ reruns: 0, baseSeq: 5, nextSeq: 5 })
    expect(await waitingCounts(pool)).toEqual(['B 5'])
    expect(await lane.wake()).toBeUndefined()

    expect(await release(pool, 1)).toEqual({ kind: 'released', waiting: 5, untold: [] })
    // A batch comes before the lane has released anything: it stays behind.
    await create(pool, [anOrder('D')])
    lane.position = { ...lane.position, ledger: 5 }
    const goodsBack = aFact('g', { eventType: 'goods_returned', amountKind: 'none', amountMinor: 0, currency: '' })
    await lane.apply([aRecord(4, 'B', [goodsBack]), aRecord(5, 'D', [aFact('d')])])
    lane.position = { ...lane.position, ledger: 8 }
    expect(await drain(lane)).toBe(1)
    expect((await eventsOf(pool)).slice(5)).toEqual([
      ...['5 m1/D ship 1', '6 m1/D deduct 2', '7 m1/D grant 3'],
      ...['8 m1/B deduct 2', '9 m1/B grant 3', '10 m1/B cancel 4', '11 m1/B restore 5', '12 m1/B revoke 6'],
    ])
    expect(await waitingCounts(pool)).toEqual([])
    await finishBrakes(pool, APP, TOPIC)
    expect(await listBrakes(pool, null)).toEqual([])
    const { rows } = await pool.query(`select actor, action, target, reason from operator_actions order by id`)
    const target = { brake: 1, merchant: null, outTradeNo: null, eventType: 'deduct' }
    expect(rows).toEqual([
      { actor: 'ann', action: 'brake_set', target, reason: 'stock is wrong' },
      { actor: 'ben', action: 'brake_release', target, reason: 'mended' },
    ])
    await lane.session.close()
  }))

test('what two brakes match waits until both are released, whichever goes first', async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ] as const)
    await withDatabase(async (url, pool) => {
      await create(pool, [anOrder('A'), anOrder('B', { merchant: 'm2' })])
      const lane = await openLane(url)
      const ids = [idOf(await set(pool, { merchant: 'm1' })), idOf(await set(pool, { eventType: 'ship' }))] as const
      await lane.apply([aRecord(0, 'A', [aFact('a')]), aRecord(1, 'B', [aFact('b')], { merchant: 'm2' })])
      expect(await eventsOf(pool)).toEqual([])
      await release(pool, ids[order[0]])
      await drain(lane)
      // m1's brake released: its ship still waits, and the rest behind it. The type's: m2 goes out.
      expect(await eventsOf(pool)).toEqual(order[0] === 0 ? [] : ['0 m2/B ship 1', '1 m2/B deduct 2', '2 m2/B grant 3'])
      expect((await listBrakes(pool, null)).map(({ id, waiting }) => [id, waiting])).toEqual([
        [ids[order[1]], order[0] === 0 ? 6 : 3],
      ])
      await release(pool, ids[order[1]])
      await drain(lane)
      const all = await eventsOf(pool)
      expect(all).toHaveLength(6)
      for (const of of ['m1/A', 'm2/B'])
        expect(all.filter((line) => line.includes(of)).map((line) => line.split(' ').slice(2).join(' '))).toEqual([
          'ship 1',
          'deduct 2',
          'grant 3',
        ])
      expect(await waitingCounts(pool)).toEqual([])
      await lane.session.close()
    })
})

test('an event whose own brake is released stays behind one of its order that waits for another', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    const ship = idOf(await set(pool, { eventType: 'ship' }))
    const grant = idOf(await set(pool, { eventType: 'grant' }))
    await lane.apply([aRecord(0, 'A', [aFact('a')])])
    expect((await listBrakes(pool, null)).map(({ id, waiting }) => [id, waiting])).toEqual([
      [ship, 2],
      [grant, 1],
    ])
    await release(pool, grant)
    expect(await drain(lane)).toBe(1)
    expect(await eventsOf(pool)).toEqual([])
    expect((await listBrakes(pool, null)).map(({ id, waiting }) => [id, waiting])).toEqual([[ship, 3]])
    await release(pool, ship)
    await drain(lane)
    expect(await eventsOf(pool)).toEqual(['0 m1/A ship 1', '1 m1/A deduct 2', '2 m1/A grant 3'])
    await lane.session.close()
  }))

test('a brake set while events wait keeps them back too; the same scope is the same brake', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    const first = idOf(await set(pool, { eventType: 'ship' }))
    expect(await set(pool, { eventType: 'ship' })).toMatchObject({ kind: 'same', id: first })
    await lane.apply([aRecord(0, 'A', [aFact('a')])])
    const second = idOf(await set(pool, { merchant: 'm1', outTradeNo: 'A', eventType: 'grant' }))
    await release(pool, first)
    expect(await release(pool, first)).toMatchObject({ kind: 'same' })
    expect(await release(pool, 99)).toEqual({ kind: 'unknown_brake' })
    await drain(lane)
    expect(await eventsOf(pool)).toEqual(['0 m1/A ship 1', '1 m1/A deduct 2'])
    expect(await waitingCounts(pool)).toEqual(['A 1'])
    await release(pool, second)
    await drain(lane)
    expect(await eventsOf(pool)).toEqual(['0 m1/A ship 1', '1 m1/A deduct 2', '2 m1/A grant 3'])
    const { rows } = await pool.query('select count(*)::int as n from operator_actions')
    expect(rows).toEqual([{ n: 4 }])
    await lane.session.close()
  }))

test('notices are kept back by name only, each kind of queue on its own', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    await set(pool, { merchant: 'm1' })
    await lane.apply([aRecord(0, 'A', [aFact('a', { amountMinor: 1 })]), aDeadLetter(1)])
    expect(await eventsOf(pool)).toEqual(['0 m1/A anomaly_opened -', '1 key-1 dead_letter -'])
    const notices = idOf(await set(pool, { eventType: 'anomaly_opened' }))
    const dead = idOf(await set(pool, { eventType: 'dead_letter' }))
    await create(pool, [anOrder('B', { merchant: 'm2' })])
    await lane.apply([
      aRecord(2, 'B', [aFact('b', { amountMinor: 1 })], { merchant: 'm2' }),
      aRecord(3, 'B', [aFact('b2')], { merchant: 'm2' }),
      aDeadLetter(4),
    ])
    // The order's events do not wait behind its notice.
    expect((await eventsOf(pool)).slice(2)).toEqual(['2 m2/B ship 1', '3 m2/B deduct 2', '4 m2/B grant 3'])
    expect(await waitingCounts(pool)).toEqual(['B 1'])
    await release(pool, notices)
    await release(pool, dead)
    lane.position = { ...lane.position, ledger: 5 }
    await drain(lane)
    expect((await eventsOf(pool)).slice(5)).toEqual(['5 m2/B anomaly_opened -', '6 key-4 dead_letter -'])
    await lane.session.close()
  }))

test('commands and timers are kept back as records are; a lane that begins later reads the brakes', () =>
  withDatabase(async (url, pool) => {
    const held = idOf(await set(pool, { merchant: 'm1', outTradeNo: 'A' }))
    const lane = await openLane(url)
    await lane.apply([aRecord(0, 'A', [aFact('a')]), aRecord(1, 'B', [aFact('b')])])
    await create(pool, [anOrder('A'), anOrder('B')])
    await drain(lane)
    expect(await eventsOf(pool)).toEqual(['0 m1/B ship 1', '1 m1/B deduct 2', '2 m1/B grant 3'])
    await release(pool, held)
    await lane.session.close()
    const next = await openLane(url)
    await drain(next)
    expect((await eventsOf(pool)).slice(3)).toEqual(['3 m1/A ship 1', '4 m1/A deduct 2', '5 m1/A grant 3'])
    await next.session.close()
  }))

test('a lane whose row is locked is not waited for: the processors tell it later, and until then it is named', () =>
  withDatabase(async (url, pool) => {
    const lanes = [await openLane(url, { lane: 0 }), await openLane(url, { lane: 1 })]
    const holder = await pool.connect()
    await holder.query('begin; select from lanes where lane = 0 for update')
    const impatient = await import('../../src/runtime/postgres.ts').then(({ createPool }) =>
      createPool(url, 'test', { warn: () => undefined } as never, 2, { lockMs: 50 }),
    )
    const brake = await set(impatient, { eventType: 'ship' })
    expect(brake).toMatchObject({ untold: [0], stops: [{ lane: 1, stopSeq: 0 }] })
    expect(await listBrakes(pool, null)).toMatchObject([{ state: 'setting' }])
    await holder.query('rollback')
    holder.release()
    await finishBrakes(pool, APP, TOPIC)
    expect(await listBrakes(pool, null)).toMatchObject([
      {
        state: 'set',
        stops: [
          { lane: 0, stopSeq: 0 },
          { lane: 1, stopSeq: 0 },
        ],
      },
    ])
    await impatient.end()
    for (const lane of lanes) await lane.session.close()
  }))

test('whoever sets or releases dies at any step: a processor ends what was begun', async () => {
  for (const step of ['ruled', 'told_lane', 'told'] as const)
    await withDatabase(async (url, pool) => {
      await create(pool, [anOrder('A'), anOrder('B')])
      await create(pool, [anOrder('C')], 1)
      const lanes = [await openLane(url, { lane: 0 }), await openLane(url, { lane: 1 })]
      const [first, second] = lanes
      if (first === undefined || second === undefined) throw new Error('no lanes')
      const die = (reached: string) => {
        if (reached === step) throw new Error('dead')
      }
      const actor = { actor: 'ann', reason: 'r' }
      await expect(setBrake(pool, APP, TOPIC, { ...scope({ eventType: 'ship' }), ...actor }, die)).rejects.toThrow()
      await finishBrakes(pool, APP, TOPIC)
      expect(await listBrakes(pool, null)).toMatchObject([
        {
          state: 'set',
          stops: [
            { lane: 0, stopSeq: 0 },
            { lane: 1, stopSeq: 0 },
          ],
        },
      ])
      await first.apply([aRecord(0, 'A', [aFact('a')])])
      await second.apply([aRecord(0, 'C', [aFact('c')])])
      expect([await eventsOf(pool, 0), await eventsOf(pool, 1)]).toEqual([[], []])
      await expect(releaseBrake(pool, APP, TOPIC, { id: 1, merchant: null, ...actor }, die)).rejects.toThrow()
      await finishBrakes(pool, APP, TOPIC)
      await first.apply([aRecord(1, 'B', [aFact('b')])])
      for (const lane of lanes) {
        lane.position = { ...lane.position, ledger: lane === first ? 3 : 0 }
        await drain(lane)
        await lane.session.close()
      }
      expect([(await eventsOf(pool, 0)).length, (await eventsOf(pool, 1)).length]).toEqual([6, 3])
      await finishBrakes(pool, APP, TOPIC)
      expect(await listBrakes(pool, null)).toEqual([])
      const { rows } = await pool.query('select action from operator_actions order by id')
      expect(rows).toEqual([{ action: 'brake_set' }, { action: 'brake_release' }])
    })
}, 30_000)

test('a crash at each point of a release, then another life: the same as without a crash, every event once', async () => {
  const live = async (url: string, pool: pg.Pool, reach: Reach): Promise<void> => {
    const lane = await openLane(url, {}, reach)
    try {
      await drain(lane, reach)
    } finally {
      await lane.session.close().catch(() => undefined)
    }
    expect(await waitingCounts(pool)).toEqual([])
  }
  const given = async (url: string, pool: pg.Pool) => {
    await create(pool, [anOrder('A'), anOrder('B')])
    const lane = await openLane(url)
    const id = idOf(await set(pool, { eventType: 'ship' }))
    await lane.apply([aRecord(0, 'A', [aFact('a')]), aRecord(1, 'B', [aFact('b')])])
    await release(pool, id)
    await lane.session.close()
  }
  const calm = await withDatabase(async (url, pool) => {
    await given(url, pool)
    await live(url, pool, reachNothing)
    return eventsOf(pool)
  })
  expect(calm).toHaveLength(6)
  const points = CRASH_POINTS.filter((point) => point.startsWith('release_'))
  for (const point of points)
    await withDatabase(async (url, pool) => {
      await given(url, pool)
      const crash: Reach = (reached) => {
        if (reached === point) throw new Error('crash')
      }
      await expect(live(url, pool, crash), point).rejects.toThrow('crash')
      await live(url, pool, reachNothing)
      expect(await eventsOf(pool), point).toEqual(calm)
    })
  expect(points).toHaveLength(8)
}, 60_000)

test('many steps: 2,500 events go out in the order of each order, in three', () =>
  withDatabase(async (url, pool) => {
    const orders = Array.from({ length: 800 }, (_, n) => `O${n}`)
    await create(
      pool,
      orders.map((id) => anOrder(id)),
    )
    const lane = await openLane(url)
    const id = idOf(await set(pool, { merchant: 'm1' }))
    await lane.apply(orders.map((order, n) => aRecord(n, order, [aFact(order)])))
    expect(await listBrakes(pool, 'm1')).toMatchObject([{ waiting: 2_400 }])
    expect(await listBrakes(pool, 'm2')).toEqual([])
    await release(pool, id)
    expect(await drain(lane)).toBe(3)
    const { rows } = await pool.query<{ key: string; sequences: number[] }>(
      'select key, array_agg(sequence order by lane_seq) as sequences from events group by key',
    )
    expect(rows).toHaveLength(800)
    expect(new Set(rows.map(({ sequences }) => sequences.join()))).toEqual(new Set(['1,2,3']))
    await lane.session.close()
  }))

test('a release and what else the lane has to do take turns, although there is always more of both', () =>
  withDatabase(async (url, pool) => {
    const orders = Array.from({ length: 700 }, (_, n) => `O${n}`)
    await create(
      pool,
      orders.map((id) => anOrder(id)),
    )
    const lane = await openLane(url)
    const id = idOf(await set(pool, { merchant: 'm1' }))
    await lane.apply(orders.map((order, n) => aRecord(n, order, [aFact(order)])))
    await release(pool, id)
    const steps: string[] = []
    for (let n = 0; n < 6; n++) {
      // A callback that came before its order, which is created: the lane has a task in every round.
      const early = `E${n}`
      await lane.apply([aRecord(700 + n, early, [aFact(early)])])
      await create(pool, [anOrder(early)])
      const applied = await lane.wake()
      steps.push(String(applied && applied.nextSeq - applied.baseSeq))
    }
    // 2,100 events wait in three steps; six early payments come with three events each.
    expect(steps).toEqual(['1000', '6', '1000', '6', '100', '6'])
    await lane.session.close()
  }))
