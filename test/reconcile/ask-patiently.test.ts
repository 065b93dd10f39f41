import { expect, test } from 'vitest'
import type { QueryAnswer } from '../../src/providers/query.ts'
import { askPatiently, BILL_PATIENCE } from '../../src/reconcile/ask-patiently.ts'

const NOT_FOUND: QueryAnswer = { kind: 'not_found' }
const later = (reason: 'rate_limited' | 'system_error', afterMs?: number): QueryAnswer => ({
  ...{ kind: 'try_later', reason, ...(afterMs === undefined ? {} : { afterMs }) },
})

/** Asks somebody who gives these answers, the last one for ever, by a clock that runs while it waits alone. */
async function asked(answers: readonly QueryAnswer[], patience = BILL_PATIENCE) {
  let nowMs = 0
  const atMs: number[] = []
  const ask = () => {
    atMs.push(nowMs)
    return Promise.resolve(answers[Math.min(atMs.length, answers.length) - 1] ?? NOT_FOUND)
  }
  const wait = (ms: number) => {
    nowMs += ms
    return Promise.resolve()
  }
  const answer = await askPatiently(ask, patience, new AbortController().signal, { elapsedMs: () => nowMs }, wait)
  return { answer, atMs, gapsMs: atMs.slice(1).map((ms, n) => ms - (atMs[n] ?? 0)) }
}

test('to wait for a turn is no failed attempt', async () => {
  const turns = Array.from({ length: 50 }, () => later('rate_limited', 100))
  const { answer, atMs } = await asked([...turns, NOT_FOUND])
  expect(answer).toEqual(NOT_FOUND)
  expect(atMs).toHaveLength(51)
})

test('a provider that says a minute is asked after a minute, and not four times before', async () => {
  for (const reason of ['rate_limited', 'system_error'] as const) {
    const said = later(reason, 60_000)
    const { answer, gapsMs } = await asked([said, said, NOT_FOUND], { ...BILL_PATIENCE, allMsMax: 300_000 })
    expect(answer).toEqual(NOT_FOUND)
    expect(gapsMs).toHaveLength(2)
    expect(Math.min(...gapsMs)).toBeGreaterThanOrEqual(60_000)
    expect(Math.max(...gapsMs)).toBeLessThanOrEqual(90_000)
  }
})

test('for what is later than there is patience for nobody waits', async () => {
  const hour = later('rate_limited', 3_600_000)
  expect(await asked([hour])).toMatchObject({ answer: hour, atMs: [0] })
  const { atMs } = await asked([later('rate_limited', 1_000)])
  expect(atMs.at(-1)).toBeGreaterThan(BILL_PATIENCE.allMsMax - 2_000)
  expect(atMs.at(-1)).toBeLessThanOrEqual(BILL_PATIENCE.allMsMax)
})

test('failures are counted, also one that says too much and go on at once', async () => {
  for (const fails of [later('system_error'), later('rate_limited', 0), later('rate_limited')]) {
    const { answer, gapsMs } = await asked([fails])
    expect(answer).toEqual(fails)
    expect(gapsMs).toHaveLength(BILL_PATIENCE.attemptsMax - 1)
    for (const [n, ms] of gapsMs.entries()) expect(ms).toBeGreaterThanOrEqual(500 * 2 ** n)
  }
})

test('who is told to stop does not wait', async () => {
  const stopped = new AbortController()
  const asking = askPatiently(
    (signal) => {
      stopped.abort()
      return Promise.resolve(signal.aborted ? later('rate_limited', 60_000) : NOT_FOUND)
    },
    BILL_PATIENCE,
    stopped.signal,
  )
  expect(await asking).toEqual(later('rate_limited', 60_000))
})
