import { afterAll, beforeAll, expect, test } from 'vitest'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { startTestApi, type Call, type TestApi } from './start-api.ts'

let it: TestApi
let operator: Call
beforeAll(async () => {
  it = await startTestApi()
  operator = await it.as('operator', null)
  await it.pool.query(
    `insert into lanes (topic, lane, start_offset, applied_offset, next_seq) values ($1, 0, 0, 5, 7), ($1, 1, 0, 5, 9)`,
    [INPUT_TOPIC],
  )
})
afterAll(() => it.stop())

const list = async (call: Call) => (await call('GET', '/v1/brakes')).body['brakes'] as { id: number }[]
const versions = async () =>
  (await it.pool.query<{ v: string }>('select brake_version as v from lanes order by lane')).rows.map(({ v }) =>
    Number(v),
  )

test('set, listed, set again, released, released again', async () => {
  const body = { merchant: 'acme', event_type: 'ship', reason: 'the printer prints wrong addresses' }
  const stops = [
    { lane: 0, lane_seq: 7 },
    { lane: 1, lane_seq: 9 },
  ]
  const set = await operator('POST', '/v1/brakes', body)
  expect([set.status, set.body]).toMatchObject([201, { result: 'set', stops, untold: [] }])
  expect(await versions()).toEqual([1, 1])
  await it.pool.query('update lanes set next_seq = next_seq + 100')
  expect(await operator('POST', '/v1/brakes', { ...body, reason: 'again' })).toMatchObject({
    ...{ status: 200, body: { id: set.body['id'], result: 'same', stops } },
  })
  expect(await versions()).toEqual([1, 1])
  const id = Number(set.body['id'])
  await it.pool.query(
    `insert into waiting_events (lane, brake_id, topic, event_id, kind, key, cause, occurred_at, created_at)
     values (0, $1, 't', gen_random_uuid(), 'ship', 'k', 'c', now(), now() - interval '1 minute')`,
    [id],
  )
  expect(await list(operator)).toMatchObject([
    {
      ...{ id, merchant: 'acme', out_trade_no: null, event_type: 'ship', state: 'set', waiting: 1, stops },
      ...{
        set_by: expect.stringMatching(/^operator/) as string,
        reason: body.reason,
        oldest_seconds: expect.any(Number) as number,
      },
    },
  ])
  const release = () => operator('POST', `/v1/brakes/${id}/release`, { reason: 'mended' })
  expect(await release()).toMatchObject({ status: 200, body: { id, result: 'released', waiting: 1, untold: [] } })
  expect(await versions()).toEqual([2, 2])
  expect(await release()).toMatchObject({ status: 200, body: { result: 'same' } })
  expect(await list(operator)).toMatchObject([{ state: 'releasing', release_reason: 'mended' }])
  await it.pool.query('delete from waiting_events')
  expect(await list(operator)).toEqual([])
  const { rows } = await it.pool.query('select action, reason from operator_actions order by id')
  expect(rows).toEqual([
    { action: 'brake_set', reason: body.reason },
    { action: 'brake_release', reason: 'mended' },
  ])
})

test('two that set the same brake at once: one is told that it was set', async () => {
  const body = { merchant: 'acme', out_trade_no: 'o-1', reason: 'r' }
  const answers = await Promise.all([1, 2, 3].map(() => operator('POST', '/v1/brakes', body)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201])
  expect(new Set(answers.map((answer) => answer.body['id'])).size).toBe(1)
})

test.each([
  [{ reason: 'r' }, 'merchant'],
  [{ out_trade_no: 'x', event_type: 'ship', reason: 'r' }, 'merchant'],
  [{ merchant: 'acme' }, 'reason'],
  [{ merchant: 'acme', reason: '' }, 'reason'],
  [{ merchant: 'acme', reason: 'a\u0007b' }, 'reason'],
  [{ merchant: 'ACME', reason: 'r' }, 'merchant'],
  [{ event_type: 'ships', reason: 'r' }, 'event_type'],
  [{ merchant: 'acme', event_type: 'dead_letter', reason: 'r' }, 'merchant'],
  [{ merchant: 'acme', until: 'tomorrow', reason: 'r' }, 'until'],
])('%j is refused for its %s', async (body, field) => {
  expect(await operator('POST', '/v1/brakes', body)).toMatchObject({ status: 400, body: { field } })
})

test('who may what: operators and admins set, everybody reads, a merchant’s token only its own', async () => {
  const statusOf = async (call: Call, body: object) => (await call('POST', '/v1/brakes', body)).status
  const own = { merchant: 'acme', event_type: 'grant', reason: 'r' }
  for (const role of ['merchant', 'viewer'] as const) {
    const call = await it.as(role, 'acme')
    expect(await statusOf(call, own)).toBe(403)
    expect((await call('POST', '/v1/brakes/1/release', { reason: 'r' })).status).toBe(403)
    expect((await call('GET', '/v1/brakes')).status).toBe(200)
  }
  const acme = await it.as('operator', 'acme')
  const globex = await it.as('operator', 'globex')
  expect(await statusOf(acme, own)).toBe(201)
  expect(await statusOf(globex, own)).toBe(403)
  expect(await statusOf(globex, { event_type: 'ship', reason: 'r' })).toBe(403)
  const [mine] = (await list(acme)).slice(-1)
  expect(await list(globex)).toEqual([])
  const releaseBy = (call: Call) => call('POST', `/v1/brakes/${mine?.id ?? 0}/release`, { reason: 'r' })
  expect((await releaseBy(globex)).status).toBe(404)
  expect((await releaseBy(acme)).status).toBe(200)
  expect((await operator('POST', '/v1/brakes/x/release', { reason: 'r' })).status).toBe(404)
})
