import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import pg from 'pg'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { reachNothing } from '../../src/processor/crash-points.ts'
import { fateOf } from '../../src/processor/fate.ts'
import { openLaneSession } from '../../src/processor/lane-session.ts'
import { withDatabase } from '../helpers/database.ts'
import { aFact, anOrder, APP, aRecord, create, openLane, stateOf, TOPIC } from '../helpers/lane-bench.ts'
import { until } from '../helpers/until.ts'

const open = (databaseUrl: string, onLost: (error: Error) => void = () => undefined, lane = 0, answerMsMax = 40_000) =>
  openLaneSession(
    {
      ...{ databaseUrl, appId: APP, topic: TOPIC, lane, startOffset: 5, onLost, answerMsMax },
      log: pino({ level: 'silent' }),
    },
    reachNothing,
  )
const backends = async (pool: pg.Pool) => {
  const { rows } = await pool.query<{ name: string }>(
    `select application_name as name from pg_stat_activity
     where datname = current_database() and application_name like '%lane%' order by 1`,
  )
  return rows.map(({ name }) => name)
}

test('each fence counts, names its connection, and ends those of smaller number, of this lane only', () =>
  withDatabase(async (url, pool) => {
    const lost: string[] = []
    const first = await open(url, () => lost.push('first'))
    expect(first.row).toMatchObject({ startOffset: 5, appliedOffset: 5, nextSeq: 0, fences: 1 })
    const other = await open(url, () => lost.push('other'), 1)
    const stranger = new pg.Client({ connectionString: url, application_name: `${APP}-lane-0-x9` })
    await stranger.connect()
    expect(await backends(pool)).toEqual(['paidonce-lane-0-1', 'paidonce-lane-0-x9', 'paidonce-lane-1-1'])
    const second = await open(url, () => lost.push('second'))
    expect(second.session.incarnation).toBe(2)
    expect(await backends(pool)).toEqual(['paidonce-lane-0-2', 'paidonce-lane-0-x9', 'paidonce-lane-1-1'])
    await until('the first knows', () => lost.length > 0)
    expect(lost).toEqual(['first'])
    expect(first.session.lost()).toBeDefined()
    await expect(first.session.query('select 1')).rejects.toThrow()
    await stranger.end()
    for (const { session } of [second, other]) await session.close()
    expect(lost).toEqual(['first'])
  }))

test('an owner that is stuck in its transaction with the lane’s row locked does not keep its successor waiting', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const proxy = await freezableProxy(url)
    const stuck = await openLane(proxy.url)
    await stuck
      .apply([aRecord(0, 'A', [aFact('p')])], 1, async (point) => {
        if (point !== 'batch_before_commit') return
        proxy.freeze() // As SIGSTOP: the connection stands, nobody reads or writes.
        const startedMs = performance.now()
        const heir = await openLane(url)
        expect(performance.now() - startedMs).toBeLessThan(4_000)
        expect(heir.position).toMatchObject({ next: 0, ledger: 0 })
        expect(await heir.apply([aRecord(0, 'A', [aFact('p')])])).toMatchObject({ nextSeq: 3 })
        proxy.thaw()
        await heir.session.close()
      })
      .then(
        () => expect.unreachable('a transaction that was ended cannot commit'),
        (error: unknown) => expect(fateOf(error).kind).toBe('retry'),
      )
    expect(await stateOf(pool)).toMatchObject({
      lanes: [[0, 3, 1]],
      orders: [['m1', 'A', 'paid', 'wechatpay:p', 1, 0, 3]],
    })
    await proxy.close()
  }))

test('nor does one to whom Postgres is still sending an answer that it will never read', () =>
  withDatabase(async (url, pool) => {
    const proxy = await freezableProxy(url)
    const { session } = await open(proxy.url)
    const work = session.transaction(
      async (tx) => {
        await tx.query('update lanes set next_seq = 9')
        proxy.freezeAnswers()
        await tx.query(`select repeat('x', 100000000)`)
        return { commit: true, value: 'done' }
      },
      () => undefined,
    )
    work.catch(() => undefined)
    await until('the backend is stuck in sending', async () => {
      const { rows } = await pool.query(
        `select 1 from pg_stat_activity where application_name = 'paidonce-lane-0-1' and wait_event = 'ClientWrite'`,
      )
      return rows.length === 1
    })
    const heir = await open(url)
    expect(heir.row).toMatchObject({ nextSeq: 0, fences: 2 })
    expect(await backends(pool)).toEqual(['paidonce-lane-0-2'])
    proxy.thaw()
    await expect(work).rejects.toThrow()
    await heir.session.close()
    await proxy.close()
  }))

test('a server that gives no answer in time is a lost connection', () =>
  withDatabase(async (url) => {
    const proxy = await freezableProxy(url)
    const lost: Error[] = []
    const { session } = await open(proxy.url, (error) => lost.push(error), 0, 500)
    proxy.freeze()
    const work = session.transaction(
      () => Promise.resolve({ commit: true, value: 'done' }),
      () => undefined,
    )
    await work.then(
      () => expect.unreachable('nobody answered'),
      (error: unknown) => expect(fateOf(error).kind).toBe('retry'),
    )
    expect(lost).toHaveLength(1)
    expect(session.lost()).toBe(lost[0])
    await proxy.close()
  }))

/** Between a client and Postgres; frozen, it neither reads nor writes, and keeps every socket open. */
async function freezableProxy(databaseUrl: string) {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const upstreams = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    client.pipe(upstream).pipe(client)
    upstreams.add(upstream)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => [client.destroy(), upstream.destroy()])
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.href,
    freeze: () => sockets.forEach((socket) => socket.pause()),
    /** What is asked still gets through. */
    freezeAnswers: () => upstreams.forEach((socket) => socket.pause()),
    thaw: () => sockets.forEach((socket) => socket.resume()),
    close: () =>
      new Promise<void>((resolve) => {
        sockets.forEach((socket) => socket.destroy())
        server.close(() => resolve())
      }),
  }
}

test('COMMIT that answers ROLLBACK is no success, and ends the session', () =>
  withDatabase(async (url, pool) => {
    const { session } = await open(url)
    const work = session.transaction(
      async (tx) => {
        await tx.query(`update lanes set next_seq = 9`)
        await tx.query('select 1 / 0').catch(() => undefined)
        return { commit: true, value: 'done' }
      },
      () => undefined,
    )
    await expect(work).rejects.toMatchObject({ name: 'RolledBack', message: 'COMMIT answered ROLLBACK' })
    await work.catch((error: unknown) => expect(fateOf(error).kind).toBe('retry'))
    expect(session.lost()).toBeDefined()
    expect(await stateOf(pool)).toMatchObject({ lanes: [[0, 0, 5]] })
  }))

test('a connection that is cut while COMMIT is on its way: unknown, lost, and the same batch again is right', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    const cut = lane.apply([aRecord(0, 'A', [aFact('p')])], 1, async (point) => {
      if (point === 'batch_commit_sent')
        await pool.query(
          `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and application_name like '%lane-0-1'`,
        )
    })
    await cut.catch((error: unknown) => expect(fateOf(error).kind).toBe('retry'))
    await until('the session knows', () => lane.session.lost() !== undefined)
    const next = await openLane(url, { ledger: 0, next: 0 })
    await next.apply([aRecord(0, 'A', [aFact('p')])])
    expect(await stateOf(pool)).toMatchObject({
      lanes: [[0, 3, 1]],
      orders: [['m1', 'A', 'paid', 'wechatpay:p', 1, 0, 3]],
    })
    await next.session.close()
  }))

test('errors come with their SQLSTATE, and the session lives on: a record’s own ones to bisect, others not', () =>
  withDatabase(async (url, pool) => {
    const lane = await openLane(url)
    const failing = async (fact: Parameters<typeof aFact>[1], outTradeNo = 'A') =>
      lane.apply([aRecord(0, outTradeNo, [aFact('p', fact)])]).then(
        () => 'applied',
        (error: unknown) => [(error as { code?: string }).code, fateOf(error).kind],
      )
    expect(await failing({ detail: 'a\0b' })).toEqual(['22021', 'bisect'])
    expect(await failing({}, 'x'.repeat(65))).toEqual(['23514', 'bisect'])
    expect(await failing({ providerRef: 'x'.repeat(257) })).toEqual(['23514', 'bisect'])
    expect(await failing({ eventTimeMs: 1e17 })).toEqual(['22003', 'bisect'])
    expect(await failing({ amountMinor: 2 ** 60 })).toEqual(['22003', 'bisect'])
    expect(await failing({ detail: 'x'.repeat(1_025) })).toEqual(['23514', 'bisect'])
    await pool.query('alter table facts rename to gone')
    expect(await failing({})).toEqual(['42P01', 'halt'])
    await pool.query('alter table gone rename to facts')
    await pool.query('alter table deliveries detach partition deliveries_default')
    expect(await failing({})).toEqual(['23514', 'halt'])
    expect(lane.session.lost()).toBeUndefined()
    expect(await stateOf(pool)).toMatchObject({ lanes: [[0, 0, 0]], orders: [], facts: [] })
    await lane.session.close()
  }))

test('plans are pinned and timeouts are set on the connection', () =>
  withDatabase(async (url) => {
    const { session } = await open(url)
    const { rows } = await session.query<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name in ('plan_cache_mode', 'enable_seqscan', 'enable_hashjoin', 'jit',
         'lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout', 'tcp_user_timeout') order by name`,
    )
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      enable_hashjoin: 'off',
      enable_seqscan: 'off',
      idle_in_transaction_session_timeout: '15000',
      jit: 'off',
      lock_timeout: '500',
      plan_cache_mode: 'force_generic_plan',
      statement_timeout: '30000',
      tcp_user_timeout: '15000',
    })
    await session.freshenPlans(0)
    await session.freshenPlans(10_000)
    await session.close()
  }))
