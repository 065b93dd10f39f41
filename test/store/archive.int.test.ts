import type pg from 'pg'
import { expect, test } from 'vitest'
import { transaction } from '../../src/runtime/postgres.ts'
import { judgeOldOrders } from '../../src/store/archive-orders.ts'
import { fileCommand } from '../../src/store/file-command.ts'
import { findArchived } from '../../src/store/find-archived.ts'
import { findOrder } from '../../src/store/find-order.ts'
import { fingerprint } from '../../src/store/fingerprint.ts'
import { readTimeline } from '../../src/store/order-timeline.ts'
import { withDatabase } from '../helpers/database.ts'
import {
  aFact,
  anOrder,
  APP,
  aRecord,
  clockAt,
  create,
  eventsOf,
  openLane,
  stateOf,
  TOPIC,
} from '../helpers/lane-bench.ts'
import { ageOrders, maintainAt, rowsIn } from '../helpers/maintained.ts'

const PAID_AT = Date.parse('2026-11-30T12:00:00Z')
const LATER = '2028-11-30T12:00:00Z'
const CLOCK = clockAt(PAID_AT)
const refund = (ref: string, paymentRef: string, amountMinor = 30) =>
  aFact(ref, { eventType: 'refund_succeeded', paymentRef: `wechatpay:${paymentRef}`, amountMinor })

/** A paid, partly refunded order with a resolved anomaly, a payload and a finished command; all settled, two years old. */
async function givenPaid(url: string, pool: pg.Pool) {
  await create(pool, [anOrder('A', { payload: '{"sku":"ü 1"}' })])
  const lane = await openLane(url, { clock: CLOCK })
  const facts = [aFact('p'), refund('r', 'p'), aFact('q')]
  await lane.apply(facts.map((fact, n) => aRecord(n, 'A', [fact])))
  await fileCommand(pool, APP, command('A'))
  await lane.wake()
  await pool.query(`update anomalies set resolved_at = now(), resolution = 'ignore', reason = 'ok'`)
  await settle(pool)
  await ageOrders(pool, PAID_AT)
  return { lane, facts }
}
const command = (outTradeNo: string) => ({
  ...{ kind: 'close' as const, merchant: 'm1', outTradeNo, idempotencyKey: `k-${outTradeNo}` },
  ...{ bodyHash: Buffer.alloc(32), body: '{}', actor: 'test' },
})
const settle = (pool: pg.Pool) => pool.query('update lanes set settled_seq = next_seq')

test('a finished order moves as a whole, leaves a tombstone, and can still be read', () =>
  withDatabase(async (url, pool) => {
    const { lane, facts } = await givenPaid(url, pool)
    const before = await findOrder(pool, 'm1', 'A')
    const id = before?.order.id ?? 0
    const timeline = await readTimeline(pool, id, TOPIC)
    expect([timeline.facts.length, timeline.anomalies.length]).toEqual([3, 1])

    expect((await maintainAt(pool, LATER, {}, { dryRun: true })).archived).toEqual({ orders: 1, kept: {} })
    expect(await rowsIn(pool, 'orders')).toBe(1)
    expect((await maintainAt(pool, '2028-01-01T00:00Z')).archived).toEqual({ orders: 0, kept: {} })
    expect((await maintainAt(pool, LATER, { archiveAfterDays: 0 })).archived).toEqual({ orders: 0, kept: {} })
    expect((await maintainAt(pool, LATER)).archived).toEqual({ orders: 1, kept: {} })

    for (const table of ['orders', 'order_payloads', 'facts', 'anomalies', 'commands', 'timers'])
      expect(await rowsIn(pool, table), table).toBe(0)
    const { rows } = await pool.query(
      `select tableoid::regclass::text as part, document ->> 'payload' as payload,
         jsonb_array_length(document -> 'commands') as commands from archived_orders`,
    )
    expect(rows).toEqual([{ part: 'archived_orders_202811', payload: '{"sku":"ü 1"}', commands: 1 }])
    const stones = await pool.query(`select encode(facts, 'hex') as facts, order_id::int, month::text from tombstones`)
    expect(stones.rows).toEqual([{ facts: facts.map(fingerprint).join(''), order_id: id, month: '2028-11-01' }])

    expect(await findOrder(pool, 'm1', 'A')).toBeUndefined()
    const archived = await findArchived(pool, 'm1', 'A')
    expect(archived).toEqual({
      ...{ status: 'paid', archivedAtMs: Date.parse(LATER) },
      found: { ...before, archivedAtMs: Date.parse(LATER) },
    })
    const read = await readTimeline(pool, id, TOPIC)
    expect([read.facts, read.anomalies]).toEqual([timeline.facts, timeline.anomalies])
    expect(await fileCommand(pool, APP, command('A'))).toEqual({ kind: 'archived' })
    expect(await create(pool, [anOrder('A')])).toEqual([{ kind: 'archived' }])
    await pool.query('drop table archived_orders_202811')
    expect(await findArchived(pool, 'm1', 'A')).toMatchObject({ status: 'paid', found: undefined })
    await lane.session.close()
  }))

test('a late duplicate of an archived order is refused as such; news is a dead letter with its bytes, and no order', () =>
  withDatabase(async (url, pool) => {
    const { lane } = await givenPaid(url, pool)
    await maintainAt(pool, LATER)
    const eventsBefore = await eventsOf(pool)
    const late = [
      aRecord(3, 'A', [aFact('p')]),
      aRecord(4, 'A', [aFact('p')]),
      aRecord(5, 'A', [refund('r', 'p'), refund('r2', 'p', 70)]), // one known, one new
      aRecord(6, 'A', [aFact('p', { amountMinor: 99 })]), // the same identity with another amount is new
      aRecord(7, 'A', [refund('r2', 'p', 70)]), // a twin of what is kept already
    ]
    const applied = await lane.apply(late)
    expect(applied.outcomes).toEqual({ archived: 3, dead_letter: 2, duplicate: 1 })
    expect(applied.newDeadLetters).toEqual(['archived_order', 'archived_order'])
    expect(applied.flooded).toBe(false)
    const { rows } = await pool.query(
      `select kafka_offset::int as at, detail, convert_from(value, 'UTF8') as value from dead_letters order by kafka_offset`,
    )
    expect(rows).toEqual([
      { at: 5, detail: 'refund_succeeded wechatpay:r2 is new, and its order was archived on 2028-11-30', value: 'raw' },
      { at: 6, detail: 'payment_succeeded wechatpay:p is new, and its order was archived on 2028-11-30', value: 'raw' },
    ])
    expect(await rowsIn(pool, 'orders')).toBe(0)
    expect((await eventsOf(pool)).slice(eventsBefore.length).map((line) => line.split(' ')[2])).toEqual([
      'dead_letter',
      'dead_letter',
    ])
    const found = await findArchived(pool, 'm1', 'A')
    const { deliveries } = await readTimeline(pool, found?.found?.order.id ?? 0, TOPIC)
    expect(
      deliveries
        .slice(-6)
        .map(({ outcome }) => outcome)
        .sort(),
    ).toEqual(['archived', 'archived', 'archived', 'dead_letter', 'dead_letter', 'duplicate'])
    // The same records once more, as after a reset of offsets.
    expect((await lane.apply(late.map((r) => ({ ...r, offset: r.offset + 10 })))).outcomes).toMatchObject({
      archived: 3,
    })
    await lane.session.close()
  }))

test('a month that was dropped changes nothing about what is told apart', () =>
  withDatabase(async (url, pool) => {
    const { lane } = await givenPaid(url, pool)
    await maintainAt(pool, LATER)
    await pool.query('drop table archived_orders_202811')
    const { outcomes } = await lane.apply([aRecord(3, 'A', [aFact('p')]), aRecord(4, 'A', [refund('r2', 'p')])])
    expect(outcomes).toEqual({ archived: 1, dead_letter: 1 })
    await lane.session.close()
  }))

test('a replay of a record of a year ago on a kept order is a duplicate', () =>
  withDatabase(async (url, pool) => {
    const { lane, facts } = await givenPaid(url, pool)
    const state = (await stateOf(pool)) as Record<string, unknown>
    const aYearLater = new Date(PAID_AT + 366 * 86_400_000).toISOString()
    await maintainAt(pool, aYearLater) // drops its deliveries and events
    expect([await rowsIn(pool, 'events'), await rowsIn(pool, 'deliveries')]).toEqual([0, 0])
    const late = await openLane(url, { clock: clockAt(Date.parse(aYearLater)), ledger: lane.position.ledger })
    const again = await late.apply(facts.map((fact, n) => aRecord(100 + n, 'A', [fact])))
    expect(again).toMatchObject({ outcomes: { duplicate: 3 }, events: [] })
    expect(await stateOf(pool)).toMatchObject({ orders: state['orders'], facts: state['facts'] })
    await lane.session.close()
    await late.session.close()
  }))

test('what is not finished stays, and the reason is counted', () =>
  withDatabase(async (url, pool) => {
    const ids = ['pending', 'anomaly', 'waiting', 'command', 'timer', 'unsettled', 'young', 'done']
    await create(
      pool,
      ids.map((id) => anOrder(id)),
    )
    const lane = await openLane(url, { clock: CLOCK })
    const paid = ids.filter((id) => id !== 'pending' && id !== 'unsettled')
    await lane.apply([
      ...paid.map((id, n) => aRecord(n, id, [aFact(`p-${id}`)])),
      aRecord(20, 'anomaly', [aFact('again')]),
      aRecord(21, 'held', [aFact('early')]),
    ])
    await settle(pool)
    await lane.apply([aRecord(30, 'unsettled', [aFact('u')])])
    const idOf = `(select id from orders where out_trade_no = $1)`
    await pool.query(`update orders set waiting_count = 1 where out_trade_no = 'waiting'`)
    await pool.query(`insert into commands (lane, order_id, kind) values (0, ${idOf}, 'wake')`, ['command'])
    await pool.query(`insert into timers (lane, order_id, kind, due_at) values (0, ${idOf}, 'query', now())`, ['timer'])
    await ageOrders(pool, PAID_AT)
    await pool.query(`update orders set updated_at = $1 where out_trade_no = 'young'`, ['2028-11-01'])
    const { archived } = await maintainAt(pool, LATER)
    const kept = {
      ...{
        pending: 1,
        open_anomaly: 1,
        waiting_event: 1,
        pending_command: 1,
        timer: 1,
        unsettled_event: 1,
        held_fact: 1,
      },
    }
    expect(archived).toEqual({ orders: 1, kept })
    expect((await pool.query('select out_trade_no from tombstones')).rows).toEqual([{ out_trade_no: 'done' }])
    await lane.session.close()
  }))

test('that a lane has many commands waiting costs a step once, not once for each of its orders', () =>
  withDatabase(async (_, pool) => {
    const [orders, waiting] = [100, 5_000]
    const names = Array.from({ length: orders }, (__, n) => `N${n}`)
    await create(
      pool,
      names.map((name) => anOrder(name)),
    )
    await pool.query(`delete from timers; update orders set status = 'closed'`)
    await ageOrders(pool, PAID_AT)
    await create(pool, [anOrder('asked')])
    for (const kind of ['wake', 'close'])
      await pool.query(
        `insert into commands (lane, order_id, kind) select 0, id, $1 from orders, generate_series(1, $2::int)
         where out_trade_no = 'asked'`,
        [kind, waiting],
      )
    await pool.query(
      `insert into commands (lane, order_id, kind) select 0, id, 'wake' from orders where out_trade_no = 'N1'`,
    )
    await pool.query(
      `insert into commands (lane, order_id, kind, created_at) select 0, id, 'close', '2020-01-01' from orders where out_trade_no = 'N2'`,
    )
    await pool.query('analyze commands; analyze orders')
    const { rows } = await pool.query<{ id: string }>(`select id from orders where status = 'closed' order by id`)
    const ids = rows.map(({ id }) => Number(id))
    await transaction(pool, async (tx) => {
      const judged = await judgeOldOrders(tx, ids, { inputTopic: TOPIC, unchangedSince: '2028-01-01' })
      expect([judged.finished.length, judged.kept]).toEqual([orders - 2, ['pending_command', 'pending_command']])
      const { rows: read } = await tx.query<{ n: number }>(
        `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as n from pg_stat_xact_user_tables where relname = 'commands'`,
      )
      console.log(`rows of commands read by one step: ${read[0]?.n ?? -1}`)
      expect(read[0]?.n).toBeLessThanOrEqual(5 * waiting)
    })
  }))

test('an order that a lane works on is passed over, and nobody waits', () =>
  withDatabase(async (url, pool) => {
    const { lane } = await givenPaid(url, pool)
    const other = await pool.connect()
    await other.query('begin; select from orders for no key update')
    expect((await maintainAt(pool, LATER)).archived.orders).toBe(0)
    await other.query('rollback')
    other.release()
    expect((await maintainAt(pool, LATER)).archived.orders).toBe(1)
    await lane.session.close()
  }))

test('a batch that meets the order while it is being archived finds the tombstone', () =>
  withDatabase(async (url, pool) => {
    const { lane } = await givenPaid(url, pool)
    let applying: Promise<unknown> | undefined
    await maintainAt(
      pool,
      LATER,
      {},
      {
        reach: async (point) => {
          if (point !== 'archive_before_commit') return
          applying = lane.apply([aRecord(3, 'A', [refund('r2', 'p')])])
          applying.catch(() => undefined)
          for (let waits = 0; waits === 0;)
            waits = (await pool.query(`select from pg_locks where not granted`)).rowCount ?? 0
        },
      },
    )
    expect(await applying).toMatchObject({ outcomes: { dead_letter: 1 }, reruns: 1 })
    expect(await rowsIn(pool, 'orders')).toBe(0)
    await lane.session.close()
  }))

test('a command that is filed while its order is being archived is told so, and none is left without an order', () =>
  withDatabase(async (url, pool) => {
    const { lane } = await givenPaid(url, pool)
    let filing: Promise<unknown> | undefined
    const reach = async (point: string) => {
      if (point !== 'archive_before_commit') return
      const ended = new AbortController()
      filing = fileCommand(pool, APP, { ...command('A'), idempotencyKey: 'late' }).finally(() => ended.abort())
      filing.catch(() => undefined)
      for (let waits = 0; waits === 0 && !ended.signal.aborted;)
        waits = (await pool.query('select from pg_locks where not granted')).rowCount ?? 0
    }
    await maintainAt(pool, LATER, {}, { reach })
    expect(await filing).toEqual({ kind: 'archived' })
    expect(await rowsIn(pool, 'commands')).toBe(0)
    await lane.session.close()
  }))

test('a run stops at its time and the next goes on where it stopped', () =>
  withDatabase(async (_, pool) => {
    const ids = Array.from({ length: 2_500 }, (__, n) => `N${n}`)
    for (let at = 0; at < ids.length; at += 500)
      await create(
        pool,
        ids.slice(at, at + 500).map((id) => anOrder(id)),
      )
    await pool.query(`delete from timers; update orders set status = 'closed'`)
    await pool.query(`update orders set status = 'pending' where id <= 100`)
    await ageOrders(pool, PAID_AT)
    let [afterId, orders, runs] = [undefined as number | undefined, 0, 0]
    do {
      const { archived } = await maintainAt(pool, LATER, {}, { budgetMs: 0, archiveAfterId: afterId })
      ;[afterId, orders, runs] = [archived.nextAfterId, orders + archived.orders, runs + 1]
    } while (afterId !== undefined)
    expect([orders, runs]).toEqual([2_400, 3])
  }))
