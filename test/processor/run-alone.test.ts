import { expect, test } from 'vitest'
import type { Incarnation } from '../../src/processor/incarnation.ts'
import type { LaneSession } from '../../src/processor/lane-session.ts'
import { createSuspectTurn, runAlone, type AloneParts } from '../../src/processor/run-alone.ts'
import type { InputRecord } from '../../src/runtime/kafka/port.ts'

/** A lane's row in memory: what is marked, and how often. */
function createLaneRow(deathsBefore = 0) {
  const row = { offset: deathsBefore > 0 ? 0 : -1, deaths: deathsBefore, did: [] as string[] }
  const session = {
    incarnation: 1,
    query: (sql: string, values: unknown[]) => {
      const offset = values[3] as number
      if (sql.includes('greatest')) row.deaths--
      else {
        row.deaths = row.offset === offset ? row.deaths + 1 : 1
        row.offset = offset
      }
      row.did.push(`${sql.includes('greatest') ? 'unmark' : 'mark'} ${offset}`)
      return Promise.resolve({ rows: [{ deaths: row.deaths }] })
    },
  } as unknown as LaneSession
  const position = { topic: 't', lane: 0, next: 0, ledger: 0, brakeVersion: 0 }
  const resolved = () => Promise.resolve()
  const producer = { commit: resolved, prove: resolved, isDead: () => false, close: resolved }
  const incarnation: Incarnation = { joins: 1, producer, session, position, outputs: new Map(), suspectUntil: 3 }
  return { row, incarnation }
}
const records = [0, 1, 2, 3].map((offset): InputRecord => ({
  offset,
  timestampMs: 0,
  key: null,
  value: null,
  headers: {},
}))
const partsOf = (did: string[], over: Partial<AloneParts> = {}): AloneParts => ({
  turn: createSuspectTurn(),
  control: { isCurrent: () => true },
  elapsedMs: () => 0,
  runOne: ({ offset }, end, isKiller) => {
    did.push(`${isKiller ? 'bury' : 'run'} ${offset} to ${end}`)
    return Promise.resolve({ kind: 'done', records: 1 })
  },
  ...over,
})

test('each suspect record is marked before it runs, and the first one behind them is left', async () => {
  const { row, incarnation } = createLaneRow()
  expect(await runAlone(incarnation, records, 4, partsOf(row.did))).toEqual({ kind: 'done', records: 3 })
  expect(row.did).toEqual(['mark 0', 'run 0 to 1', 'mark 1', 'run 1 to 2', 'mark 2', 'run 2 to 3'])
  expect(incarnation.alone).toBeUndefined()
})

test('what was alone at three deaths is buried unseen, at two it is not', async () => {
  for (const [deaths, does] of [
    [2, 'run 0 to 1'],
    [3, 'bury 0 to 1'],
  ] as const) {
    const { row, incarnation } = createLaneRow(deaths)
    await runAlone(incarnation, records, 4, partsOf(row.did))
    expect(row.did[1]).toBe(does)
  }
})

test('a record that waits for its schema takes its mark back; after an error the next fence does', async () => {
  const waiting = createLaneRow()
  const wait: AloneParts['runOne'] = () => Promise.resolve({ kind: 'waiting_for_schema', schemaId: 7 })
  for (let time = 0; time < 5; time++)
    expect(await runAlone(waiting.incarnation, records, 4, partsOf([], { runOne: wait }))).toMatchObject({
      schemaId: 7,
    })
  expect([waiting.row.deaths, waiting.incarnation.alone]).toEqual([0, undefined])
  const failing = createLaneRow()
  const turn = createSuspectTurn()
  const fail: AloneParts['runOne'] = () => Promise.reject(new Error('Postgres is away'))
  await expect(runAlone(failing.incarnation, records, 4, partsOf([], { turn, runOne: fail }))).rejects.toThrow('away')
  expect([failing.row.deaths, failing.incarnation.alone?.offset, turn.take()]).toEqual([1, 0, true])
})

test('one suspect lane at a time; and a call ends soon, with what is done', async () => {
  const { row, incarnation } = createLaneRow()
  const turn = createSuspectTurn()
  expect(turn.take()).toBe(true)
  expect(await runAlone(incarnation, records, 4, partsOf(row.did, { turn }))).toEqual({ kind: 'waiting_for_turn' })
  expect(row.did).toEqual([])
  turn.giveBack()
  let nowMs = 0
  const slow = partsOf(row.did, { turn, elapsedMs: () => (nowMs += 200) })
  expect(await runAlone(incarnation, records, 4, slow)).toEqual({ kind: 'done', records: 1 })
})
