import type pg from 'pg'
import { expect, test } from 'vitest'
import { fileCommand } from '../../src/store/file-command.ts'
import { removeAged, type RemovedKind } from '../../src/store/remove-aged.ts'
import { withDatabase } from '../helpers/database.ts'
import { anOrder, APP, clockAt, create, openLane, TOPIC } from '../helpers/lane-bench.ts'
import { ageOrders, maintainAt, rowsIn } from '../helpers/maintained.ts'

const NOW = '2028-11-30T12:00:00Z'
const NONE: Record<RemovedKind, number> = { replay_runs: 0, dead_letters: 0, brakes: 0, bill_runs: 0, commands: 0 }
const OLD = '2027-10-26' // 401 days before
const YOUNG = '2027-10-27'

const letter = async (pool: pg.Pool, offset: number, status: string, closedAt: string | null) => {
  const { rows } = await pool.query<{ id: string }>(
    `insert into dead_letters (topic, lane, kafka_offset, reason, record_time, created_at, status, closed_at)
     values ($1, 0, $2, 'undecodable', '2020-01-01', '2020-01-01', $3, $4) returning id`,
    [TOPIC, offset, status, closedAt],
  )
  return Number(rows[0]?.id)
}
const run = async (pool: pg.Pool, createdAt: string, finishedAts: readonly (string | null)[], letterId = 0) => {
  const { rows } = await pool.query<{ id: string }>(
    `insert into replay_runs (created_at, actor, reason, filter) values ($1, 'ann', 'r', '{}') returning id`,
    [createdAt],
  )
  await pool.query(
    `insert into replays (run_id, dead_letter_id, count, lane, result, finished_at)
     select $1, $2, 1, 0, case when t is not null then 'applied' end, t from unnest($3::timestamptz[]) t`,
    [rows[0]?.id, letterId, finishedAts],
  )
}

test('dead letters, replays and brakes go when they have been settled for so long, and nothing else does', () =>
  withDatabase(async (_url, pool) => {
    const kept: number[] = []
    await letter(pool, 0, 'replayed', OLD)
    await letter(pool, 1, 'discarded', OLD)
    kept.push(await letter(pool, 2, 'discarded', YOUNG))
    for (const [at, status] of ['open', 'quarantined', 'replaying'].entries())
      kept.push(await letter(pool, 10 + at, status, null))
    const asked = await letter(pool, 3, 'replayed', OLD)
    kept.push(asked)
    await run(pool, OLD, [OLD, OLD])
    await run(pool, OLD, [OLD, YOUNG])
    await run(pool, OLD, [OLD, null], asked) // not met by its lane yet
    await run(pool, YOUNG, [])
    await pool.query(
      `insert into brakes (merchant, set_by, reason, set_at, done_at) values
         ('a', 'ann', 'r', '2020-01-01', $1), ('b', 'ann', 'r', '2020-01-01', $2), ('c', 'ann', 'r', '2020-01-01', null)`,
      [OLD, YOUNG],
    )
    await pool.query(
      `insert into brake_lanes (brake_id, lane, stop_seq) select id, n, 0 from brakes, generate_series(0, 2) n`,
    )

    const expected = { ...NONE, replay_runs: 1, dead_letters: 2, brakes: 1 }
    expect((await maintainAt(pool, NOW, { settledDays: 0 })).removed).toEqual(NONE)
    expect((await maintainAt(pool, NOW, {}, { dryRun: true })).removed).toEqual(expected)
    expect(await rowsIn(pool, 'replays')).toBe(6)
    expect((await maintainAt(pool, NOW)).removed).toEqual(expected)
    expect((await maintainAt(pool, NOW)).removed).toEqual(NONE)
    const { rows } = await pool.query<{ id: string }>('select id from dead_letters order by id')
    expect(rows.map(({ id }) => Number(id))).toEqual(kept.toSorted((a, b) => a - b))
    expect([await rowsIn(pool, 'replay_runs'), await rowsIn(pool, 'replays')]).toEqual([3, 4])
    expect([await rowsIn(pool, 'brakes'), await rowsIn(pool, 'brake_lanes')]).toEqual([2, 6])
  }))

test('it goes in steps, ends within its budget, and passes over what somebody has locked', () =>
  withDatabase(async (_url, pool) => {
    await pool.query(
      `insert into dead_letters (topic, lane, kafka_offset, reason, record_time, status, closed_at)
       select $1, 0, n, 'undecodable', now(), 'discarded', '2020-01-01' from generate_series(1, 2500) n`,
      [TOPIC],
    )
    const client = await pool.connect()
    const operator = await pool.connect()
    try {
      let looks = 0
      const options = { clock: clockAt(0), dryRun: false, budgetMs: Infinity, settledBefore: OLD, commandsBefore: OLD }
      const twoSteps = { ...options, isStopped: () => looks++ >= 3 } // one look is for replay runs
      expect((await removeAged(client, twoSteps)).dead_letters).toBe(2_000)
      expect((await removeAged(client, { ...options, budgetMs: 0, isStopped: () => false })).dead_letters).toBe(0)
      await operator.query('begin')
      await operator.query('select from dead_letters where kafka_offset > 2400 for update')
      expect((await removeAged(client, { ...options, isStopped: () => false })).dead_letters).toBe(400)
      // What is asked for again while its removal waits is not removed: nobody waits, and it has another status then.
      await operator.query(`update dead_letters set status = 'replaying', closed_at = null`)
      await operator.query('commit')
      expect((await removeAged(client, { ...options, isStopped: () => false })).dead_letters).toBe(0)
    } finally {
      client.release()
      operator.release()
    }
    expect(await rowsIn(pool, 'dead_letters')).toBe(100)
  }))

const close = (outTradeNo: string) => ({
  ...{ kind: 'close' as const, merchant: 'm1', outTradeNo, idempotencyKey: `k-${outTradeNo}` },
  ...{ bodyHash: Buffer.alloc(32), body: '{}', actor: 'test' },
})

test('finished commands of an order that stays go after their own time; who sends one again files it anew', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A'), anOrder('B'), anOrder('C')])
    const lane = await openLane(url)
    for (const id of ['A', 'B']) await fileCommand(pool, APP, close(id))
    await lane.wake()
    await fileCommand(pool, APP, close('C'))
    await pool.query(`update commands set finished_at = '2026-09-20' where status = 'done'`) // 802 days before
    await pool.query(`update commands set created_at = '2026-09-20'`)
    const limits = { archiveAfterDays: 0 }
    expect((await maintainAt(pool, NOW, { ...limits, commandsDays: 803 })).removed).toEqual(NONE)
    expect((await maintainAt(pool, NOW, limits, { dryRun: true })).removed).toEqual({ ...NONE, commands: 2 })
    // Somebody sends A's again: its key is found, so it must not go meanwhile.
    const api = await pool.connect()
    await api.query('begin')
    await api.query(`select from orders where out_trade_no = 'A' for key share`)
    expect((await maintainAt(pool, NOW, limits)).removed).toEqual({ ...NONE, commands: 1 })
    await api.query('commit')
    api.release()
    expect((await maintainAt(pool, NOW, limits)).removed).toEqual({ ...NONE, commands: 1 })
    const { rows } = await pool.query<{ status: string }>('select status from commands')
    expect(rows).toEqual([{ status: 'pending' }])
    expect(await fileCommand(pool, APP, close('A'))).toMatchObject({ kind: 'filed', isNew: true })
    expect(await lane.wake()).toBeDefined()
    const again = await pool.query(`select result from commands where idempotency_key = 'k-A'`)
    expect(again.rows).toMatchObject([{ result: { kind: 'done' } }])
    await lane.session.close()
  }))

const grouped = (outTradeNo: string, groupKey = 'g') => anOrder(outTradeNo, { groupKey })
const OLD_MS = Date.parse('2026-01-01')
/** Closed by the merchant, so finished. */
async function closed(url: string, pool: pg.Pool, ids: readonly string[]) {
  const lane = await openLane(url)
  for (const id of ids) await fileCommand(pool, APP, close(id))
  await lane.wake()
  await pool.query(`update lanes set settled_seq = next_seq`)
  await pool.query(`update commands set created_at = '2026-01-01'`)
  await lane.session.close()
}

test('a group goes with the last of its orders', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [grouped('A'), grouped('B'), grouped('C', 'h'), anOrder('D')])
    await closed(url, pool, ['A', 'B', 'C', 'D'])
    await ageOrders(pool, OLD_MS)
    expect((await maintainAt(pool, NOW)).archived.orders).toBe(4)
    expect(await rowsIn(pool, 'groups')).toBe(0)
    await create(pool, [grouped('E'), grouped('F')])
    await closed(url, pool, ['E', 'F'])
    await ageOrders(pool, OLD_MS)
    await pool.query(`update orders set updated_at = $1 where out_trade_no = 'F'`, [new Date(NOW)])
    expect((await maintainAt(pool, NOW)).archived.orders).toBe(1)
    expect(await rowsIn(pool, 'groups')).toBe(1)
    await ageOrders(pool, OLD_MS)
    expect((await maintainAt(pool, NOW)).archived.orders).toBe(1)
    expect(await rowsIn(pool, 'groups')).toBe(0)
    // An archived number that comes again leaves no group either.
    expect(await create(pool, [grouped('F')])).toEqual([{ kind: 'archived' }])
    expect(await rowsIn(pool, 'groups')).toBe(0)
  }))

test('an order that is just being created keeps its group, and its predecessor waits for the next run', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [grouped('A')])
    await closed(url, pool, ['A'])
    await ageOrders(pool, OLD_MS)
    const creating = await pool.connect()
    const slow = { connect: () => Promise.resolve(creating) } as unknown as pg.Pool
    // Its COMMIT is held back until the archive has looked.
    const original = creating.query.bind(creating) as (...args: unknown[]) => unknown
    let commit: () => void = () => undefined
    const committed = new Promise<void>((resolve) => (commit = resolve))
    let inserted: () => void = () => undefined
    const hasInserted = new Promise<void>((resolve) => (inserted = resolve))
    creating.query = (async (...args: unknown[]) => {
      if (String(args[0]).toLowerCase().startsWith('commit')) {
        inserted()
        await committed
      }
      return original(...args)
    }) as never
    const created = create(slow, [grouped('B')])
    await hasInserted
    expect((await maintainAt(pool, NOW)).archived).toEqual({ orders: 0, kept: {}, nextAfterId: undefined })
    commit()
    expect(await created).toMatchObject([{ kind: 'created' }])
    expect((await maintainAt(pool, NOW)).archived.orders).toBe(1)
    const { rows } = await pool.query('select merchant, group_key from groups')
    expect(rows).toEqual([{ merchant: 'm1', group_key: 'g' }])
  }))
