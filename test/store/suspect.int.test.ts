import { expect, test } from 'vitest'
import { endIncarnation, type Incarnation } from '../../src/processor/incarnation.ts'
import { createSuspectTurn, runAlone } from '../../src/processor/run-alone.ts'
import { countFence, readLane } from '../../src/store/lane-row.ts'
import { ALONE_DEATHS_MAX, letGo, markAlone, outlive, unmarkAlone } from '../../src/store/suspect.ts'
import { withDatabase } from '../helpers/database.ts'
import { aFact, anOrder, aRecord, create, openLane, TOPIC } from '../helpers/lane-bench.ts'

const at = { topic: TOPIC, lane: 0 }

test('an owner that never let go has died; one that let go, or that fences again itself, has not', () =>
  withDatabase(async (_, pool) => {
    const fence = (before?: Parameters<typeof countFence>[4]) => countFence(pool, TOPIC, 0, 0, before)
    const deaths = async (before?: Parameters<typeof countFence>[4]) => (await fence(before)).ownerDeaths
    expect(await deaths()).toBe(0)
    expect(await deaths()).toBe(1)
    expect(await deaths({ incarnation: 2, wasAlone: false })).toBe(1)
    expect(await letGo(pool, { ...at, incarnation: 3 })).toBe(true)
    expect(await deaths()).toBe(1)
    expect(await letGo(pool, { ...at, incarnation: 3 })).toBe(false) // Too late: somebody else has fenced.
    expect(await deaths()).toBe(2)
  }))

test('an owner that lives takes back what a faster successor has counted, and nothing else', () =>
  withDatabase(async (_, pool) => {
    const state = async () =>
      (await pool.query('select is_owned as o, owner_deaths as d, suspect_deaths as s from lanes')).rows[0] as object
    await countFence(pool, TOPIC, 0, 0)
    await countFence(pool, TOPIC, 0, 0)
    await markAlone(pool, { ...at, incarnation: 2, offset: 7 })
    await countFence(pool, TOPIC, 0, 0)
    expect(await state()).toEqual({ o: true, d: 2, s: 1 })
    await outlive(pool, { ...at, incarnation: 2, aloneOffset: 8 })
    expect(await state()).toEqual({ o: true, d: 1, s: 1 })
    await outlive(pool, { ...at, incarnation: 2, aloneOffset: 7 })
    expect(await state()).toEqual({ o: true, d: 0, s: 0 })
    await outlive(pool, { ...at, incarnation: 2, aloneOffset: 7 })
    expect(await state()).toEqual({ o: true, d: 0, s: 0 })
    // Its connection was lost, and nobody has fenced since: it lets go after all.
    await outlive(pool, { ...at, incarnation: 3, aloneOffset: null })
    expect(await state()).toEqual({ o: false, d: 0, s: 0 })
    await outlive(pool, { ...at, incarnation: 4, aloneOffset: null })
    expect((await countFence(pool, TOPIC, 0, 0)).ownerDeaths).toBe(0)
  }))

test('owners that fence in turn do not count each other as dead for ever, nor a record that was alone', () =>
  withDatabase(async (_, pool) => {
    const fence = (before?: Parameters<typeof countFence>[4]) => countFence(pool, TOPIC, 0, 0, before)
    let [mine, other] = [(await fence()).fences, (await fence()).fences]
    for (let turn = 0; turn < 5; turn++) {
      for (const incarnation of [mine, other]) {
        const row = await fence({ incarnation, wasAlone: turn > 0 })
        expect(row.ownerDeaths).toBeLessThanOrEqual(1)
        expect(row.suspect?.deaths ?? 0).toBeLessThanOrEqual(1)
        await markAlone(pool, { ...at, incarnation: row.fences, offset: 7 })
        if (incarnation === mine) mine = row.fences
        else other = row.fences
      }
    }
    // The one that comes back takes back what was said of it, not the other's death.
    expect((await fence()).ownerDeaths).toBe(2)
    expect((await fence({ incarnation: mine, wasAlone: false })).ownerDeaths).toBe(2)
  }))

test('a record is blamed for deaths only, and only by the latest incarnation', () =>
  withDatabase(async (_, pool) => {
    await countFence(pool, TOPIC, 0, 0)
    const of = (incarnation: number, offset = 7) => ({ ...at, incarnation, offset })
    expect(await markAlone(pool, of(1))).toBe(1)
    await unmarkAlone(pool, of(1))
    expect(await markAlone(pool, of(1))).toBe(1)
    expect((await countFence(pool, TOPIC, 0, 0, { incarnation: 1, wasAlone: true })).suspect).toBeUndefined()
    expect(await markAlone(pool, of(2))).toBe(1)
    expect((await countFence(pool, TOPIC, 0, 0)).suspect).toEqual({ offset: 7, deaths: 1 })
    expect(await markAlone(pool, of(2))).toBeUndefined()
    for (let deaths = 2; deaths <= ALONE_DEATHS_MAX + 1; deaths++) {
      expect(await markAlone(pool, of(deaths + 1))).toBe(deaths)
      await countFence(pool, TOPIC, 0, 0)
    }
    // Another record starts from nothing.
    expect(await markAlone(pool, of(6, 8))).toBe(1)
  }))

test('records applied clear all suspicion; a wake does not', () =>
  withDatabase(async (url, pool) => {
    const lane = await openLane(url)
    const state = async () =>
      (await pool.query('select owner_deaths as d, suspect_offset as o, suspect_deaths as s from lanes'))
        .rows[0] as object
    await pool.query('update lanes set owner_deaths = 2, suspect_offset = 0, suspect_deaths = 1')
    await lane.apply([], 0)
    expect(await state()).toEqual({ d: 2, o: '0', s: 1 })
    await lane.apply([aRecord(0, 'A', [aFact('p')])])
    expect(await state()).toEqual({ d: 0, o: null, s: 0 })
    await lane.session.close()
    const { rows } = await pool.query('select is_owned from lanes')
    expect(rows).toEqual([{ is_owned: false }])
  }))

test('owners that fail one after another and let go in order leave no mark on the record', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const other = await pool.connect()
    try {
      await other.query('begin; select from orders for update')
      for (let owner = 0; owner <= ALONE_DEATHS_MAX; owner++) {
        const incarnation = await failAlone(url)
        expect(incarnation.alone).toMatchObject({ offset: 0 })
        expect((await readLane(pool, TOPIC, 0))?.suspect).toEqual({ offset: 0, deaths: 1 })
        await endIncarnation(incarnation)
        expect((await readLane(pool, TOPIC, 0))?.suspect).toBeUndefined()
        // A fence of the same process would take it back once more.
        expect(incarnation.alone).toBeUndefined()
      }
    } finally {
      await other.query('rollback')
      other.release()
    }
  }))

/** A process that was never here before takes the record alone, and Postgres does not let it in time. */
async function failAlone(url: string): Promise<Incarnation> {
  const { session, position, apply } = await openLane(url)
  const producer = {
    commit: () => Promise.resolve(),
    prove: () => Promise.resolve(),
    isDead: () => false,
    close: () => Promise.resolve(),
  }
  const outputs = new Map()
  const incarnation: Incarnation = { joins: 1, producer, session, position, outputs, suspectUntil: 1 }
  const record = aRecord(0, 'A', [aFact('p')])
  const run = runAlone(incarnation, [record], 1, {
    ...{ turn: createSuspectTurn(), control: { isCurrent: () => true }, elapsedMs: () => 0 },
    runOne: async (_, end, isKiller) => {
      expect(isKiller).toBe(false)
      await apply([record], end)
      return { kind: 'done', records: 1 }
    },
  })
  await expect(run).rejects.toMatchObject({ code: '55P03' })
  return incarnation
}
