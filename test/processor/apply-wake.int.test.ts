import type pg from 'pg'
import { expect, test, vi } from 'vitest'
import { applyWake } from '../../src/processor/apply-wake.ts'
import { reachNothing } from '../../src/processor/crash-points.ts'
import { commandsChannel, lanesChannel } from '../../src/store/notify.ts'
import { fileCommand, type Filed } from '../../src/store/file-command.ts'
import { withDatabase } from '../helpers/database.ts'
import { aFact, anOrder, APP, aRecord, clockAt, create, eventsOf, openLane, stateOf } from '../helpers/lane-bench.ts'

const EXPIRES_MS = 1_790_003_600_000
const close = (pool: pg.Pool, outTradeNo: string, idempotencyKey: string): Promise<Filed> =>
  fileCommand(pool, APP, {
    ...{ kind: 'close', merchant: 'm1', outTradeNo, idempotencyKey, body: '{}', actor: 'test' },
    bodyHash: Buffer.from(outTradeNo),
  })

test('close: an unpaid order is closed, a paid one says so; the result commits with its effect and is told', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A'), anOrder('B')])
    const lane = await openLane(url)
    await lane.apply([aRecord(0, 'A', [aFact('p')])])
    const heard: string[] = []
    const listener = await pool.connect()
    listener.on('notification', ({ channel, payload }) => heard.push(`${channel} ${payload ?? ''}`))
    await listener.query(`listen "${commandsChannel(APP)}"; listen "${lanesChannel(APP)}"`)
    await close(pool, 'A', 'k1')
    await close(pool, 'B', 'k2')
    await close(pool, 'B', 'k3')
    const applied = await lane.wake()
    expect(applied?.events.map(({ kind, key }) => `${kind} ${key}`)).toEqual(['unreserve B'])
    expect((await stateOf(pool)) as object).toMatchObject({
      commands: [
        ['close', 'done', { kind: 'refused', status: 'paid', refusal: { reason: 'already_paid' } }],
        ['close', 'done', { kind: 'done', status: 'closed' }],
        ['close', 'done', { kind: 'done', status: 'closed' }],
      ],
      timers: [],
    })
    await expect
      .poll(() => [...heard].sort(), { timeout: 5_000 })
      .toEqual([
        'paidonce_commands 1',
        'paidonce_commands 2',
        'paidonce_commands 3',
        'paidonce_lanes 0',
        'paidonce_lanes 0',
        'paidonce_lanes 0',
      ])
    expect(await lane.wake()).toBeUndefined()
    listener.release(true)
    await lane.session.close()
  }))

test('expiry waits for the grace, and for everything that the log held when the clock passed it', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A'), anOrder('B')])
    let asked = 0
    const readEnd = (end: number) => () => {
      asked++
      return Promise.resolve(end)
    }
    const early = await openLane(url, { clock: clockAt(EXPIRES_MS + 59_999) })
    expect(await early.wake({ readEnd: readEnd(0) })).toBeUndefined()
    expect(asked).toBe(0)
    const lane = await openLane(url, { clock: clockAt(EXPIRES_MS + 60_000) })
    // A payment of A is in the log and not applied yet.
    expect(await lane.wake({ readEnd: readEnd(1) })).toBeUndefined()
    expect(asked).toBe(1)
    await lane.apply([aRecord(0, 'A', [aFact('p')])])
    // The end has grown meanwhile, as it always has on a busy lane; what came after the expiry does not count.
    const applied = await lane.wake({ readEnd: readEnd(2) })
    expect(await lane.wake({ readEnd: readEnd(3) })).toBeUndefined()
    expect(asked).toBe(1)
    expect(applied?.events.map(({ kind, key }) => `${kind} ${key}`)).toEqual(['unreserve B'])
    expect(await stateOf(pool)).toMatchObject({
      orders: [
        ['m1', 'A', 'paid', 'wechatpay:p', 1, 0, 3],
        ['m1', 'B', 'closed', null, expect.any(Number), 0, 1],
      ],
      timers: [],
    })
    await lane.session.close()
  }))

test('a broker that is away keeps expiries waiting, and nothing else', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A'), anOrder('B')])
    await close(pool, 'A', 'k')
    const lane = await openLane(url, { clock: clockAt(EXPIRES_MS + 60_000) })
    const away = () => Promise.reject(new Error('Connection error: connect ECONNREFUSED'))
    const applied = await lane.wake({ readEnd: away })
    expect(applied?.events.map(({ kind, key }) => `${kind} ${key}`)).toEqual(['unreserve A'])
    expect(await lane.wake({ readEnd: away })).toBeUndefined()
    expect(await stateOf(pool)).toMatchObject({ timers: [['m1/B', 'expiry', '']] })
    const later = await lane.wake({ readEnd: () => Promise.resolve(0) })
    expect(later?.events.map(({ kind, key }) => `${kind} ${key}`)).toEqual(['unreserve B'])
    await lane.session.close()
  }))

test('a held fact whose limit passes becomes an anomaly once, and still counts when its order appears', () =>
  withDatabase(async (url, pool) => {
    const nowMs = Date.now()
    const lane = await openLane(url, { clock: clockAt(nowMs) })
    await lane.apply([aRecord(0, 'A', [aFact('p')])])
    expect(await lane.wake()).toBeUndefined()
    const later = await openLane(url, { clock: clockAt(nowMs + 86_400_000) })
    const limit = await later.wake()
    expect(limit?.events.map(({ kind }) => kind)).toEqual(['anomaly_opened'])
    expect(await later.wake()).toBeUndefined()
    await create(pool, [anOrder('A')])
    const released = await later.wake()
    expect(released?.events.map(({ kind }) => kind).sort()).toEqual(['anomaly_resolved', 'deduct', 'grant', 'ship'])
    expect(await stateOf(pool)).toMatchObject({
      orders: [['m1', 'A', 'paid', 'wechatpay:p', expect.any(Number), 0, 3]],
      anomalies: [['m1/A', 'unknown_order', 'payment_succeeded/wechatpay:p', 'released']],
      commands: [],
    })
    await later.session.close()
  }))

test('a release that Postgres refuses is found among others, and becomes an anomaly; a command fails', () =>
  withDatabase(async (url, pool) => {
    const lane = await openLane(url)
    const ids = Array.from({ length: 9 }, (_, i) => `A${i}`)
    await lane.apply(ids.map((id, i) => aRecord(i, id, [aFact('p')])))
    await create(
      pool,
      ids.map((id) => anOrder(id)),
    )
    await create(pool, [anOrder('B'), anOrder('C')])
    await close(pool, 'B', 'k1')
    await close(pool, 'C', 'k2')
    // Stands for whatever Postgres may refuse: A5 cannot become paid, B cannot be closed.
    await pool.query(`create function refuse() returns trigger language plpgsql as $$
      begin
        if (new.out_trade_no, new.status) in (('A5', 'paid'), ('B', 'closed')) then
          raise exception 'refused' using errcode = '22003';
        end if;
        return new;
      end $$; create trigger refuse before update on orders for each row execute function refuse()`)
    for (let rounds = 0; rounds < 20; rounds++) if ((await lane.wake()) === undefined) break
    const state = (await stateOf(pool)) as { orders: unknown[][] }
    expect(state.orders.map(([, id, status]) => `${String(id)} ${String(status)}`)).toEqual([
      ...ids.map((id) => `${id} ${id === 'A5' ? 'pending' : 'paid'}`),
      'B pending',
      'C closed',
    ])
    expect(state).toMatchObject({
      anomalies: [['m1/A5', 'unprocessable', expect.anything(), null]],
      commands: [
        ['close', 'failed', { kind: 'failed', detail: '22003: refused' }],
        ['close', 'done', { kind: 'done', status: 'closed' }],
      ],
    })
    expect((await eventsOf(pool)).filter((event) => event.includes('A5'))).toHaveLength(1)
    await lane.session.close()
  }))

test('work whose order is gone is put away', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    await close(pool, 'A', 'k')
    await pool.query('delete from orders')
    const lane = await openLane(url, { clock: clockAt(EXPIRES_MS + 60_000) })
    expect(await lane.wake({ readEnd: () => Promise.resolve(0) })).toMatchObject({ events: [] })
    expect(await lane.wake()).toBeUndefined()
    expect(await stateOf(pool)).toMatchObject({
      commands: [['close', 'done', { kind: 'refused', status: null, refusal: { reason: 'unknown_order' } }]],
      timers: [],
    })
    await lane.session.close()
  }))

test('two owners run one command: it is done once', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    await close(pool, 'A', 'k')
    const owners = [await openLane(url), await openLane(url, { appId: 'zombie' })]
    const applied = await Promise.all(owners.map((owner) => owner.wake()))
    expect(applied.flatMap((done) => done?.events ?? [])).toHaveLength(1)
    expect(applied.filter((done) => done !== undefined)).toHaveLength(1) // Read again under the lock: nothing is left.
    expect(await eventsOf(pool)).toEqual(['0 m1/A unreserve 1'])
    for (const { session } of owners) await session.close()
  }))

test('an idle wake is one question, whose answer also tells of events that nobody emitted', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const { session, position, wakeOptions, ...lane } = await openLane(url)
    while ((await lane.wake()) !== undefined);
    const zombie = await openLane(url, { appId: 'zombie' })
    await zombie.apply([aRecord(0, 'A', [aFact('p')])])
    const query = vi.spyOn(session, 'query')
    const answer = await applyWake(session, position, wakeOptions, reachNothing)
    expect(answer).toEqual({ kind: 'nothing', nextSeq: 3 })
    expect(query).toHaveBeenCalledOnce()
    await zombie.session.close()
    await session.close()
  }))
