import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readApiConfig } from '../../../src/api/config.ts'
import { startApi } from '../../../src/api/start.ts'
import type { RunningProcessor } from '../../../src/processor/start.ts'
import { mintToken } from '../../../src/runtime/access-token.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { insertApiToken } from '../../../src/store/api-tokens.ts'
import { REPLAY_POINTS } from '../../../src/store/send-replays.ts'
import { callWith } from '../../api/start-api.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { startChild } from '../../helpers/child.ts'
import { givenLetters } from '../../helpers/dead-letters.ts'
import { createInstallation, type Installation } from '../../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { until } from '../../helpers/until.ts'

const CHILD = new URL('../../helpers/replay-api-child.ts', import.meta.url).pathname
const LETTERS = 60
const { token, hash } = mintToken()
let it: Installation
let processor: RunningProcessor
const done: string[] = []

beforeAll(async () => {
  it = await createInstallation({ partitions: 2 })
  processor = await startTestProcessor(it)
  await untilSettled([processor], 2)
  const of = { name: 'ann', role: 'operator', merchant: null, expiresAtMs: null } as const
  await insertApiToken(it.database.pool, { ...of, tokenHash: hash })
})
afterAll(async () => {
  await processor.stop()
  await it.drop()
})

const apiHere = async () => {
  const api = await startApi(readApiConfig(it.env()), { log: createLog('api', 'silent') })
  await until('the api is ready', async () => (await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`)).ok)
  return { ...api, call: callWith(`http://127.0.0.1:${api.port}`, token) }
}
const resultsOf = async (call: ReturnType<typeof callWith>, run: unknown) => {
  const { body } = await call('GET', `/v1/replays/${String(run)}?limit=500`)
  return (body['run'] as { results: Record<string, number> }).results
}
const lettersOf = async (name: string) => {
  const orders = Array.from({ length: LETTERS }, (_, index) => `${name}-${index}`)
  const ids = await givenLetters(it, orders)
  done.push(...orders)
  return ids
}

test.each(REPLAY_POINTS.map((point) => ({ point })))(
  'kill -9 of the api at $point: the next one sends the rest, and each is applied once and said to be',
  async ({ point }) => {
    const ids = await lettersOf(point)
    // With 60 letters the second chunk is on its way at the third call.
    const CRASH_PASSAGE = point === 'replay_requested' ? '1' : '3'
    const child = startChild(CHILD, it.env({ CRASH_AT: point, CRASH_PASSAGE }))
    await child.said('it listens', ({ msg }) => msg === 'api listens')
    const port = child.lines.find(({ msg }) => msg === 'api listens')?.['port']
    const call = callWith(`http://127.0.0.1:${Number(port)}`, token)
    const key = { 'idempotency-key': randomUUID() }
    const body = { filter: { ids }, reason: 'r' }
    // It may die before it answers: whoever asked then knows nothing, and asks again with the same key.
    await until('it has answered or is dead', async () => {
      if (child.exit() !== undefined) return true
      return (await call('POST', '/v1/replays', body, key)).status === 202
    })
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
    const api = await apiHere()
    const again = await api.call('POST', '/v1/replays', body, key)
    const { id } = again.body['run'] as { id: number }
    try {
      await until('every record has its result', async () => (await resultsOf(api.call, id))['applied'] === LETTERS)
    } finally {
      await api.stop()
    }
    const { rows } = await it.database.pool.query(`select from operator_actions where target->>'run' = $1`, [
      String(id),
    ])
    expect(rows).toHaveLength(1)
  },
)

test('two apis at once: one sends a run, nothing is in the topic twice', async () => {
  const ids = await lettersOf('two')
  const [one, two] = [await apiHere(), await apiHere()]
  try {
    const key = { 'idempotency-key': randomUUID() }
    const asked = await Promise.all(
      [one, two].map(({ call }) => call('POST', '/v1/replays', { filter: { ids }, reason: 'r' }, key)),
    )
    const runs = asked.map(({ body }) => (body['run'] as { id: number }).id)
    expect(runs[0]).toBe(runs[1])
    await until('every record has its result', async () => (await resultsOf(two.call, runs[0]))['applied'] === LETTERS)
    const { rows } = await it.database.pool.query(
      `select from deliveries v join replays r on r.id = v.replay_id where r.run_id = $1`,
      [runs[0]],
    )
    expect(rows).toHaveLength(LETTERS)
  } finally {
    await Promise.all([one.stop(), two.stop()])
  }
})

test('after all of it: each order shipped once', async () => {
  const events = await readEvents(it.topics, { atLeast: 3 * done.length })
  expect(checkExactlyOnce(done, events, { inOrder: false })).toEqual(nothingWrong(done))
})
