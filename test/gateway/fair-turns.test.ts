import { expect, test } from 'vitest'
import { createFairTurns } from '../../src/gateway/fair-turns.ts'
import { until } from '../helpers/until.ts'

interface Job {
  readonly route: object
  readonly name: string
  readonly costMs: number
  readonly beginByMs: number
}
const [A, B, C] = [{}, {}, {}]

/** Time passes only while a job is worked at. `turns` has what each turn of the event loop began. */
function harness() {
  let nowMs = 0
  const turns: string[][] = []
  const log: string[] = []
  let turn: string[] = []
  const push = createFairTurns<Job, string>({
    clock: { now: () => new Date(nowMs), elapsedMs: () => nowMs },
    routeOf: ({ route }) => route,
    beginByMs: ({ beginByMs }) => beginByMs,
    begin: ({ name, costMs }) => {
      if (turn.length === 0) {
        turns.push(turn)
        setImmediate(() => (turn = []))
      }
      turn.push(name)
      log.push(`begin ${name}`)
      nowMs += costMs
      return `done ${name}`
    },
    end: ({ name }, done) => log.push(done === `done ${name}` ? `end ${name}` : 'another’s'),
    miss: ({ name }) => log.push(`miss ${name}`),
  })
  const enqueue = (route: object, name: string, costMs = 0, beginByMs = Infinity) =>
    push({ route, name, costMs, beginByMs })
  const ended = (count: number) =>
    until('all have ended', () => log.filter((line) => !line.startsWith('begin')).length === count)
  return { enqueue, ended, turns, log }
}
const names = (route: string, count: number) => Array.from({ length: count }, (_, i) => `${route}${i + 1}`)

test('jobs of one turn begin back to back, in order, and end after that', async () => {
  const { enqueue, ended, log, turns } = harness()
  for (const name of ['a1', 'a2', 'a3']) enqueue(A, name)
  expect(log).toEqual([])
  await ended(3)
  expect(log).toEqual(['begin a1', 'begin a2', 'begin a3', 'end a1', 'end a2', 'end a3'])
  enqueue(A, 'a4')
  await ended(4)
  expect(turns).toEqual([['a1', 'a2', 'a3'], ['a4']])
})

test('no more than 64, and none after 6 ms: then it is the turn of sockets and timers', async () => {
  const many = harness()
  for (const name of names('a', 130)) many.enqueue(A, name)
  await many.ended(130)
  expect(many.turns.map(({ length }) => length)).toEqual([64, 64, 2])
  const costly = harness()
  for (const name of names('a', 5)) costly.enqueue(A, name, 2.5)
  await costly.ended(5)
  expect(costly.turns).toEqual([
    ['a1', 'a2', 'a3'],
    ['a4', 'a5'],
  ])
})

test('while what waits would take long, none after 1 ms: who connects waits for as many turns', async () => {
  const { enqueue, ended, turns } = harness()
  for (const name of names('a', 48)) enqueue(A, name, 1)
  await ended(48)
  // The first does not know yet what a job costs; then 42, 41 and 40 are left.
  expect(turns.slice(0, 5).map(({ length }) => length)).toEqual([6, 1, 1, 6, 6])
})

test('routes share the time: a flood of costly jobs at one does not make another wait for its end', async () => {
  const { enqueue, ended, turns } = harness()
  for (const name of names('a', 100)) enqueue(A, name, 1.25)
  for (const name of names('b', 20)) enqueue(B, name, 0.125)
  for (const name of names('c', 2)) enqueue(C, name, 3)
  await ended(122)
  const order = turns.flat()
  expect(order.indexOf('b20')).toBeLessThan(20 + 6)
  expect(order.indexOf('c2')).toBeLessThan(20 + 10)
  expect(order.filter((name) => name.startsWith('a'))).toEqual(names('a', 100))
})

test('what a job takes beyond its route’s share is taken from the next ones', async () => {
  const { enqueue, ended, turns } = harness()
  for (const name of names('a', 20)) enqueue(A, name, 5)
  for (const name of names('b', 100)) enqueue(B, name, 0.5)
  await ended(120)
  const order = turns.flat()
  const whileBoth = order.slice(0, order.indexOf('b100'))
  expect(whileBoth.filter((name) => name.startsWith('a')).length).toBeLessThanOrEqual(11)
})

test('a job whose time has passed is missed and not begun, and the next is', async () => {
  const { enqueue, ended, log } = harness()
  enqueue(A, 'a1', 10)
  enqueue(A, 'a2', 1, 9)
  enqueue(A, 'a3', 1, 100)
  await ended(3)
  expect(log).toEqual(['begin a1', 'end a1', 'miss a2', 'begin a3', 'end a3'])
})

test('timers have their turn between those of a flood', async () => {
  let [nowMs, verified, atTimer] = [0, 0, -1]
  const push = createFairTurns<object, undefined>({
    clock: { now: () => new Date(), elapsedMs: () => nowMs },
    routeOf: () => A,
    beginByMs: () => Infinity,
    begin: () => {
      verified += 1
      nowMs += 1
      const until = performance.now() + 0.1
      while (performance.now() < until);
      return undefined
    },
    end: () => undefined,
    miss: () => undefined,
  })
  for (let i = 0; i < 1_000; i++) push({})
  setTimeout(() => (atTimer = verified), 5)
  await until('all is verified', () => verified === 1_000)
  expect(atTimer).toBeGreaterThan(0)
  expect(atTimer).toBeLessThan(500)
})
