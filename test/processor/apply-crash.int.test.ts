import { expect, test } from 'vitest'
import { CRASH_POINTS, reachNothing, type CrashPoint, type Reach } from '../../src/processor/crash-points.ts'
import { eventsToEmit } from '../../src/processor/events-to-emit.ts'
import type { LaneRecord } from '../../src/processor/lane-types.ts'
import { fileCommand } from '../../src/store/file-command.ts'
import type pg from 'pg'
import { withDatabase } from '../helpers/database.ts'
import { aDeadLetter, aFact, anOrder, APP, aRecord, clockAt, create, openLane, stateOf } from '../helpers/lane-bench.ts'

const RECORDS: readonly LaneRecord[] = [
  aRecord(0, 'A', [aFact('p')]),
  aRecord(1, 'A', [aFact('p')]),
  aRecord(2, 'A', [aFact('q')]),
  aRecord(3, 'unknown', [aFact('p')]),
  aDeadLetter(4),
  aRecord(5, 'G1', [aFact('p')]),
  aRecord(6, 'G2', [aFact('p')]),
]
const AFTER_EXPIRY = clockAt(1_790_003_600_000 + 60_000)

async function givenOrders(pool: pg.Pool): Promise<void> {
  const ids = ['A', 'B', 'C', 'G1', 'G2']
  const orders = ids.map((id) => anOrder(id, id.startsWith('G') ? { groupKey: 'g' } : { payload: `{"of":"${id}"}` }))
  expect(await create(pool, orders)).toMatchObject(ids.map(() => ({ kind: 'created' })))
}

/** What a lane does in a life: a batch, then a release, a close command and an expiry. */
async function live(url: string, pool: pg.Pool, ledger: number, reach: Reach): Promise<string[]> {
  const lane = await openLane(url, { ledger, clock: AFTER_EXPIRY }, reach)
  try {
    const emitted: string[] = []
    const emit = async (applied?: Parameters<typeof eventsToEmit>[2]) => {
      const rows = await eventsToEmit(lane.session, lane.position, applied)
      emitted.push(...rows.map(({ laneSeq, key, kind, payload }) => `${laneSeq} ${key} ${kind} ${payload ?? '-'}`))
      lane.position = { ...lane.position, ledger: lane.position.ledger + rows.length }
    }
    await emit()
    const left = RECORDS.filter(({ offset }) => offset >= lane.position.next)
    if (left.length > 0) await emit(await lane.apply(left))
    await create(pool, [anOrder('unknown')])
    await close(pool)
    await emit(await lane.wake({ readEnd: () => Promise.resolve(7) }))
    expect(await lane.wake({ readEnd: () => Promise.resolve(7) })).toBeUndefined()
    return emitted
  } finally {
    await lane.session.close().catch(() => undefined)
  }
}

const close = (pool: pg.Pool) =>
  fileCommand(pool, APP, {
    kind: 'close',
    merchant: 'm1',
    outTradeNo: 'B',
    idempotencyKey: 'k',
    bodyHash: Buffer.alloc(32),
    body: '{}',
    actor: 'test',
  })

test('a crash at each point of step 1, then another life: the same as without a crash, every event once', async () => {
  const calm = await withDatabase(async (url, pool) => {
    await givenOrders(pool)
    return { emitted: await live(url, pool, 0, reachNothing), state: await stateOf(pool) }
  })
  expect(calm.emitted.map((line) => line.split(' ').slice(1).join(' '))).toEqual([
    ...['ship', 'deduct', 'grant'].map((kind) => `A ${kind} {"of":"A"}`),
    'A anomaly_opened -',
    ...['ship', 'deduct', 'grant'].map((kind) => `G1 ${kind} -`),
    'G2 anomaly_opened -',
    'key-4 dead_letter -',
    ...['ship', 'deduct', 'grant'].map((kind) => `unknown ${kind} -`),
    'B unreserve {"of":"B"}',
    'C unreserve {"of":"C"}',
    'G2 unreserve -',
  ])
  const points = CRASH_POINTS.filter((point) => /^(batch|wake)_|^fence_after_backends$/.test(point))
  const missed: CrashPoint[] = []
  for (const point of points) {
    await withDatabase(async (url, pool) => {
      await givenOrders(pool)
      const fired: CrashPoint[] = []
      const crash: Reach = (reached) => {
        if (reached === point && fired.length === 0) {
          fired.push(point)
          throw new Error('crash')
        }
      }
      await live(url, pool, 0, crash).catch((error: unknown) => {
        expect(error).toMatchObject({ message: 'crash' })
      })
      if (fired.length === 0) missed.push(point)
      // Nothing was emitted as far as Kafka knows: all of it is due now.
      expect(await live(url, pool, 0, reachNothing), point).toEqual(calm.emitted)
      expect(await stateOf(pool), point).toEqual(calm.state)
    })
  }
  expect(missed).toEqual([])
  expect(points).toHaveLength(17)
}, 120_000)
