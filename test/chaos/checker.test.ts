import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commitNow } from '../../chaos/commit-now.ts'
import { firstViolation } from '../../chaos/first-violation.ts'
import { notePower, type PowerName } from '../../chaos/power.ts'
import type { Capture } from '../../chaos/checker/capture.ts'
import { check, oraclesOf, type Verdict } from '../../chaos/checker/check.ts'
import { createOpenssl } from '../../chaos/checker/openssl.ts'
import { readCapture } from '../../chaos/checker/read-capture.ts'
import { nameOf, placeOf, read } from '../../chaos/checker/reading.ts'
import { playSmall } from '../../chaos/system/play-small.ts'
import type { Service } from '../../dev/demo/system.ts'
import * as processes from '../../dev/parts/process.ts'
import type { Stack } from '../../dev/parts/stack.ts'
import { LOCAL_DIR } from '../../dev/parts/state.ts'
import { ownStack } from '../helpers/own-stack.ts'
import { until } from '../helpers/until.ts'
import { addFault, addLateOne, aStall, CORRUPTIONS } from './corruptions.ts'

const MUTANTS = [
  ['ledger_ignored', 'O4.duplicated', 'SIGKILL'],
  ['facts_apart', 'O3.order_differs', 'SIGUSR2'],
] as const

let stack: Stack
let dir: string
let good: Capture
const openssl = createOpenssl()
const tried = { captures: 0, processors: 0 }
const caught = { captures: 0, processors: 0 }

/** Only a whole run says something. */
function note(name: PowerName & keyof typeof tried, of: number) {
  if (tried[name] === of) notePower(name, { commit: commitNow(), caught: caught[name], of })
}

const named = ({ oracles }: Verdict) =>
  oracles.flatMap(({ id, violated }) => Object.keys(violated).map((clause) => `${id}.${clause}`))

beforeAll(async () => {
  mkdirSync(join(LOCAL_DIR, 'chaos'), { recursive: true })
  dir = mkdtempSync(join(LOCAL_DIR, 'chaos', 'self-test-'))
  stack = await ownStack({ registryInMemory: true })
  good = readCapture(await playSmall({ stack, dir: join(dir, 'good'), seed: 7, orders: 80 }))
})
afterAll(async () => {
  note('captures', CORRUPTIONS.length)
  note('processors', MUTANTS.length)
  await stack.stop()
  rmSync(dir, { recursive: true, force: true })
})

test('a run in which nothing went wrong is clean, and every oracle had something to look at', async () => {
  const verdict = await check(good, openssl)
  expect(verdict.oracles.flatMap(({ examples }) => examples)).toEqual([])
  expect(verdict.ok).toBe(true)
  // No faults, poison or operators in it.
  const idle = ['O11', 'O14']
  for (const { id, examined } of verdict.oracles) if (!idle.includes(id)) expect(examined, id).toBeGreaterThan(0)
})

test('all that an operator can look at was shown, in both forms', () => {
  expect(good.cli.filter(({ text }) => !text.endsWith('exit 0\n'))).toEqual([])
  const shown = good.cli.map(({ name }) => name.replace(/^\d+-|\.txt$/g, ''))
  const looks = [
    'order-show',
    'order-timeline',
    'anomaly-list',
    'anomaly-show',
    'lane-status',
    'audit-list',
    'token-list',
  ]
  for (const look of looks) expect(shown.filter((one) => one === look).length, look).toBeGreaterThanOrEqual(2)
})

describe('a bad capture is reported by exactly its clause:', () => {
  test.each(CORRUPTIONS)('%s', async (clause, corrupt) => {
    tried.captures++
    expect(named(await check(corrupt(good), openssl))).toEqual([clause])
    caught.captures++
  })

  test('there is one for every clause', () => {
    const clauses = oraclesOf(openssl).flatMap((oracle) => oracle.clauses.map((clause) => `${oracle.id}.${clause}`))
    expect(CORRUPTIONS.map(([clause]) => clause)).toEqual(clauses)
  })
})

test('a success that a gateway counts late, while it or the machine gives it no turn, is excused', async () => {
  for (const target of ['gateway-1', 'senders'])
    expect(named(await check(addFault(addLateOne(good), { ...aStall, target }), openssl)), target).toEqual([])
  const gone = { ...aStall, target: 'gateway-1', fromMs: 1, untilMs: 2 }
  expect(named(await check(addFault(addLateOne(good), gone), openssl))).toEqual(['O10.late_at_gateway'])
})

test('what was violated first is told with its whole path', async () => {
  const [, corrupt] = CORRUPTIONS.find(([clause]) => clause === 'O4.lost') ?? []
  if (corrupt === undefined) throw new Error('no such corruption')
  const bad = corrupt(good)
  const found = firstViolation(bad, await check(bad, openssl))
  expect(found?.what).toContain('lost: ')
  const stages = new Set(found?.path.map((line) => line.split(' ')[0]))
  expect([...stages]).toEqual(['asked', 'delivery', 'input', 'row', 'output'])
  for (const line of found?.path ?? []) expect(line).not.toContain('undefined')
})

test('an order that only a callback about several tells of has its delivery in the path', async () => {
  const { sent, callbacks, messages } = read(good)
  const named = new Set(sent.map(nameOf))
  const order = callbacks.map(({ callback }) => nameOf(callback)).find((name) => !named.has(name))
  const gone = new Set(messages.flatMap(({ record, message }) => (nameOf(message) === order ? [placeOf(record)] : [])))
  expect(gone.size).toBeGreaterThan(0)
  const without = (records: Capture['output']) => records.filter((record) => !gone.has(placeOf(record)))
  const bad = { ...good, output: without(good.output), probe: without(good.probe) }
  const found = firstViolation(bad, await check(bad, openssl))
  expect(found?.order).toBe(order)
  expect(found?.path.some((line) => line.startsWith('delivery '))).toBe(true)
})

describe('a processor with a broken rule is reported:', () => {
  const main = 'chaos/mutants/processor.ts'
  /** In the midst of the load, so that the other one finds what it left. */
  const end =
    (signal: NodeJS.Signals) =>
    async ([processor]: readonly Service[], seen: () => number) => {
      await until('workers have seen some events', () => seen() >= 40, 60_000)
      if (processor === undefined) throw new Error('no processor was started')
      processes.signal(processor.id, signal)
      await processes.gone(processor.id, 30_000)
    }
  test.each(MUTANTS)('%s: %s', async (mutant, clause, signal) => {
    tried.processors++
    const capture = await playSmall({
      ...{ stack, dir: join(dir, mutant), seed: 11, orders: 120, processorMain: main, env: { MUTANT: mutant } },
      meddle: end(signal),
    })
    const verdict = await check(readCapture(capture), openssl)
    console.log(mutant, named(verdict))
    expect(named(verdict)).toContain(clause)
    caught.processors++
  })
})
