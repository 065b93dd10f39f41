import type pg from 'pg'
import { expect, test } from 'vitest'
import type { LaneRecord } from '../../src/processor/lane-types.ts'
import type { PlainProducer } from '../../src/runtime/kafka/port.ts'
import { claimAnomaly } from '../../src/store/claim-anomaly.ts'
import { fileCommand } from '../../src/store/file-command.ts'
import { readLane } from '../../src/store/lane-row.ts'
import { releaseBrake } from '../../src/store/release-brake.ts'
import { requestReplay, type Requested } from '../../src/store/request-replay.ts'
import { resolveCommand } from '../../src/store/resolve-command.ts'
import { sendReplays } from '../../src/store/send-replays.ts'
import { setBrake } from '../../src/store/set-brake.ts'
import { settleLane } from '../../src/store/settle-lane.ts'
import { readReplayRun } from '../../src/store/settle-replays.ts'
import { skipRange } from '../../src/store/skip-range.ts'
import { markAlone } from '../../src/store/suspect.ts'
import { withDatabase } from '../helpers/database.ts'
import {
  aDeadLetter,
  aFact,
  anOrder,
  APP,
  aRecord,
  clockAt,
  create,
  eventsOf,
  openLane,
  TOPIC,
  type LaneBench,
} from '../helpers/lane-bench.ts'
import { ageOrders, maintainAt, rowsIn } from '../helpers/maintained.ts'

const PAID_AT = Date.parse('2026-11-30T12:00:00Z')
const LATER = '2028-11-30T12:00:00Z'
const CLOCK = clockAt(PAID_AT)

const brake = async (pool: pg.Pool, scope: { merchant?: string; eventType?: 'ship' }) => {
  const { merchant = null, eventType = null } = scope
  const set = await setBrake(pool, APP, TOPIC, { merchant, outTradeNo: null, eventType, actor: 'ann', reason: 'r' })
  if (set.kind === 'too_many') throw new Error('too many')
  return set.id
}
const release = (pool: pg.Pool, id: number) =>
  releaseBrake(pool, APP, TOPIC, { id, merchant: null, actor: 'ann', reason: 'mended' })
/** Wakes the lane until it has nothing to do; "emits" after each. */
async function drain(lane: LaneBench): Promise<void> {
  for (;;) {
    const applied = await lane.wake()
    if (applied === undefined) return
    lane.position = { ...lane.position, ledger: applied.nextSeq }
  }
}
const settle = (pool: pg.Pool) => pool.query('update lanes set settled_seq = next_seq')
const anomalyId = async (pool: pg.Pool) =>
  Number((await pool.query<{ id: string }>('select id from anomalies')).rows[0]?.id)
const resolve = async (pool: pg.Pool, key = 'k') =>
  fileCommand(
    pool,
    APP,
    resolveCommand(
      { id: await anomalyId(pool), merchant: 'm1', outTradeNo: 'A' },
      { resolution: 'accept_payment', reason: 'it is fine', actor: 'ann', idempotencyKey: key },
    ),
  )
/** A pending order whose payment has the wrong amount: an open anomaly, nothing shipped. */
async function givenWrongAmount(url: string, pool: pg.Pool): Promise<LaneBench> {
  await create(pool, [anOrder('A', { payload: '{"sku":"1"}' })])
  const lane = await openLane(url, { clock: CLOCK })
  await lane.apply([aRecord(0, 'A', [aFact('p', { amountMinor: 90 })])])
  await drain(lane)
  return lane
}

test('an answer to an anomaly of a braked order: it is decided, its events wait, and go out in order when released', () =>
  withDatabase(async (url, pool) => {
    const lane = await givenWrongAmount(url, pool)
    expect(await eventsOf(pool)).toEqual(['0 m1/A anomaly_opened -'])
    const id = await brake(pool, { merchant: 'm1' })
    const filed = await resolve(pool)
    expect(filed).toMatchObject({ kind: 'filed', isNew: true })
    await drain(lane)
    // Notices are kept back by name only.
    expect(await eventsOf(pool)).toEqual(['0 m1/A anomaly_opened -', '1 m1/A anomaly_resolved -'])
    expect(await resolve(pool)).toMatchObject({ isNew: false, command: { status: 'done', result: { status: 'paid' } } })
    const state = await pool.query('select status, waiting_count from orders')
    expect(state.rows).toEqual([{ status: 'paid', waiting_count: 3 }])

    await release(pool, id)
    await drain(lane)
    expect((await eventsOf(pool)).slice(2)).toEqual(['2 m1/A ship 1', '3 m1/A deduct 2', '4 m1/A grant 3'])
    const actions = await pool.query('select action from operator_actions order by id')
    expect(actions.rows.map(({ action }: { action: string }) => action)).toEqual([
      ...['brake_set', 'anomaly_resolve', 'brake_release'],
    ])
    await lane.session.close()
  }))

test('days of events go while others of the same order wait behind a brake: the order stays, and is whole when released', () =>
  withDatabase(async (url, pool) => {
    await maintainAt(pool, '2026-11-30T00:00Z')
    const lane = await givenWrongAmount(url, pool)
    const id = await brake(pool, { merchant: 'm1' })
    await resolve(pool)
    await drain(lane)
    await settle(pool)
    await ageOrders(pool, PAID_AT)
    await lane.session.close()

    const { work, archived } = await maintainAt(pool, LATER)
    expect(work).toContainEqual({ kind: 'dropped', table: 'events', name: 'events_20261130' })
    expect(archived).toEqual({ orders: 0, kept: { waiting_event: 1 } })
    expect(await eventsOf(pool)).toEqual([])

    const later = await openLane(url, { clock: clockAt(Date.parse(LATER)) })
    await release(pool, id)
    const applied = await later.wake()
    // The brake's stop is a number in days that are gone.
    expect(await eventsOf(pool)).toEqual(['2 m1/A ship 1', '3 m1/A deduct 2', '4 m1/A grant 3'])
    expect(applied).toMatchObject({ baseSeq: 2, nextSeq: 5, payloadOrders: [await orderId(pool)] })
    const { rows } = await pool.query(`select distinct day::text from events`)
    expect(rows).toEqual([{ day: '2028-11-30' }])
    if (applied !== undefined) later.position = { ...later.position, ledger: applied.nextSeq }
    await drain(later)
    await settle(pool)
    await ageOrders(pool, PAID_AT)
    expect((await maintainAt(pool, LATER)).archived).toEqual({ orders: 1, kept: {} })
    await later.session.close()
  }))
const orderId = async (pool: pg.Pool) => Number((await pool.query<{ id: string }>('select id from orders')).rows[0]?.id)

test('an order with a claimed anomaly, or with a command that may be asked about again, is not archived', () =>
  withDatabase(async (url, pool) => {
    const lane = await givenWrongAmount(url, pool)
    const claim = { id: await anomalyId(pool), actor: 'ann', reason: '' }
    expect(await claimAnomaly(pool, claim)).toMatchObject({ kind: 'done' })
    // Paid, so that only the claimed anomaly keeps it.
    await lane.apply([aRecord(1, 'A', [aFact('q')])])
    await drain(lane)
    await settle(pool)
    await ageOrders(pool, PAID_AT)
    expect((await maintainAt(pool, LATER)).archived).toEqual({ orders: 0, kept: { open_anomaly: 1 } })

    // Nothing of the order changes by a close that is refused.
    await pool.query(`update anomalies set resolved_at = now(), resolution = 'ignore', reason = 'ok'`)
    const close = {
      ...{ kind: 'close' as const, merchant: 'm1', outTradeNo: 'A', idempotencyKey: 'close-1' },
      ...{ bodyHash: Buffer.alloc(32), body: '{}', actor: 'shop' },
    }
    await fileCommand(pool, APP, close)
    await drain(lane)
    await settle(pool)
    await ageOrders(pool, PAID_AT)
    await pool.query(`update commands set created_at = '2028-11-01'`)
    expect((await maintainAt(pool, LATER, {}, { dryRun: true })).archived.kept).toEqual({ recent_command: 1 })
    expect((await maintainAt(pool, LATER)).archived).toEqual({ orders: 0, kept: { recent_command: 1 } })
    expect(await fileCommand(pool, APP, close)).toMatchObject({ kind: 'filed', isNew: false })
    await pool.query('update commands set created_at = $1', [new Date(PAID_AT)])
    expect((await maintainAt(pool, LATER)).archived).toEqual({ orders: 1, kept: {} })
    expect(await fileCommand(pool, APP, close)).toEqual({ kind: 'archived' })
    await lane.session.close()
  }))

test('a replay about an archived order is reported as refused, and why; also when nobody asked before its deliveries went', () =>
  withDatabase(async (url, pool) => {
    await maintainAt(pool, '2026-11-30T00:00Z')
    await create(pool, [anOrder('A')])
    const lane = await openLane(url, { clock: CLOCK })
    await lane.apply([aRecord(0, 'A', [aFact('p')])])
    await lane.apply([aDeadLetter(1), aDeadLetter(2)])
    await drain(lane)
    await settle(pool)
    await ageOrders(pool, PAID_AT)
    await maintainAt(pool, '2028-01-30T12:00Z')
    expect(await rowsIn(pool, 'tombstones')).toBe(1)

    const sent: LaneRecord['headers'][] = []
    const producer = {
      send: ({ messages }: Parameters<PlainProducer['send']>[0]) => {
        for (const { headers = {} } of messages)
          sent.push(Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)])))
        return Promise.resolve()
      },
    } as unknown as PlainProducer
    const ask = async (ids?: number[]): Promise<Requested> => {
      const asked = await requestReplay(pool, {
        ...{ partitions: 1, quarantined: false, actor: 'ann', reason: 'mended', dryRun: false },
        filter: { topic: TOPIC, ids },
      })
      if (asked.kind !== 'requested') throw new Error(asked.kind)
      return asked
    }
    const { runId = 0 } = await ask()
    expect(await sendReplays(pool, producer, { topic: TOPIC, runId })).toEqual({ kind: 'sent', count: 2 })
    // Mended, they say what the order knew, and something new.
    const day = { timestampMs: Date.parse('2028-01-30T12:00Z') }
    const records = [aRecord(3, 'A', [aFact('p')], day), aRecord(4, 'A', [aFact('news')], day)]
    const later = await openLane(url, { clock: clockAt(day.timestampMs) })
    await later.apply(records.map((record, index) => ({ ...record, headers: sent[index] ?? {} })))

    await settle(pool)
    // Postgres wrote down the run by its own clock, to which LATER is over 400 days away.
    const { work } = await maintainAt(pool, LATER, { settledDays: 0 })
    expect(work).toContainEqual({ kind: 'dropped', table: 'deliveries', name: 'deliveries_20280130' })
    const run = await readReplayRun(pool, runId)
    expect(run?.replays.map(({ result, detail }) => [result, detail])).toEqual([
      ['refused', 'archived at offset 3'],
      [
        'refused',
        'dead letter 3: archived_order: payment_succeeded wechatpay:news is new, and its order was archived on 2028-01-30',
      ],
    ])
    const letters = await pool.query('select status, reason, merchant, replay_count from dead_letters where id = 3')
    expect(letters.rows).toEqual([{ status: 'open', reason: 'archived_order', merchant: 'm1', replay_count: 1 }])
    expect(await ask([3])).toMatchObject({ runId: undefined, refused: [{ id: 3, why: 'archived_order' }] })
    await lane.session.close()
    await later.session.close()
  }))

test('one row of a lane: a brake refuses a suspect’s batch, progress alone clears suspicion, a skip halts before either', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A'), anOrder('B')])
    const lane = await openLane(url, { clock: CLOCK })
    const { topic, lane: number } = lane.position
    const row = async () => {
      const read = await readLane(pool, topic, number)
      return [read?.ownerDeaths, read?.suspect?.offset, read?.appliedOffset, read?.halted?.reason]
    }
    await pool.query('update lanes set owner_deaths = 2')
    expect(
      await markAlone(lane.session, { topic, lane: number, incarnation: lane.session.incarnation, offset: 0 }),
    ).toBe(1)
    await brake(pool, { eventType: 'ship' })
    const seen: unknown[] = []
    const applied = await lane.apply([aRecord(0, 'A', [aFact('a')])], 1, async (point) => {
      if (point === 'brake_changed') seen.push(await row())
    })
    expect(applied).toMatchObject({ reruns: 1, nextSeq: 0 })
    expect(seen).toEqual([[2, 0, 0, undefined]])
    expect(await row()).toEqual([0, undefined, 1, undefined])

    // Skipped while another brake comes: halted says more than a new version.
    await pool.query('update lanes set owner_deaths = 2')
    await skipRange(pool, APP, { topic, lane: number, from: 2, to: 3, actor: 'ann', reason: 'poison' })
    await brake(pool, { merchant: 'm1' })
    await expect(lane.apply([aRecord(1, 'B', [aFact('b')])])).rejects.toThrow('halted')
    await expect(lane.wake()).rejects.toThrow('halted')
    await settleLane(lane.session, lane.position)
    expect(await row()).toEqual([2, undefined, 1, 'skip'])
    await lane.session.close()

    await pool.query('update lanes set halted_reason = null')
    const next = await openLane(url, { clock: CLOCK })
    await next.apply([aRecord(1, 'B', [aFact('b')]), { ...aRecord(2, 'B', []), content: { kind: 'skipped' } }])
    expect(await row()).toEqual([0, undefined, 3, undefined])
    expect(await eventsOf(pool)).toEqual([])
    const { rows } = await pool.query('select outcome::text from deliveries order by kafka_offset')
    expect(rows.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['applied', 'applied', 'skipped'])
    const waiting = await pool.query('select out_trade_no, waiting_count from orders order by 1')
    expect(waiting.rows).toEqual([
      { out_trade_no: 'A', waiting_count: 3 },
      { out_trade_no: 'B', waiting_count: 3 },
    ])
    await next.session.close()
  }))
