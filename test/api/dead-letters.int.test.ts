import { afterAll, beforeAll, expect, test } from 'vitest'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { startTestApi, withoutInstance, type TestApi } from './start-api.ts'

let it: TestApi
const ids: number[] = []
beforeAll(async () => {
  it = await startTestApi()
  const letters = ['acme', 'acme', 'globex', null]
  for (const [offset, merchant] of letters.entries()) {
    const { rows } = await it.pool.query<{ id: string }>(
      `insert into dead_letters (topic, lane, kafka_offset, key, value, headers, reason, record_time, merchant)
       values ($1, 0, $2, 'k', 'v', '{"a":"YQ=="}', $3, now(), $4) returning id`,
      [INPUT_TOPIC, offset, merchant === null ? 'undecodable' : 'unsupported', merchant],
    )
    ids.push(Number(rows[0]?.id))
  }
})
afterAll(() => it.stop())

const listed = (body: Record<string, unknown>) => (body['dead_letters'] as { id: number }[]).map(({ id }) => id)

test('a token sees its merchant’s, and only one without a merchant what could not be decoded', async () => {
  const [own, all] = [await it.as('merchant', 'acme'), await it.as('viewer', null)]
  expect(listed((await own('GET', '/v1/dead-letters')).body)).toEqual([ids[1], ids[0]])
  expect(listed((await own('GET', '/v1/dead-letters?merchant=globex')).body)).toEqual([])
  expect(listed((await all('GET', '/v1/dead-letters')).body)).toEqual([...ids].reverse())
  expect(listed((await all('GET', '/v1/dead-letters?reason=undecodable')).body)).toEqual([ids[3]])
  const foreign = await Promise.all([ids[2], ids[3], 99_999].map((id) => own('GET', `/v1/dead-letters/${id}`)))
  expect(foreign.map(({ status }) => status)).toEqual([404, 404, 404])
  expect(new Set(foreign.map(({ body }) => JSON.stringify(withoutInstance(body)))).size).toBe(1)
})

test('pages meet without a gap; one whole; a parameter that is no good is named', async () => {
  const call = await it.as('viewer', null)
  const first = await call('GET', '/v1/dead-letters?limit=3')
  const rest = await call('GET', `/v1/dead-letters?limit=3&cursor=${String(first.body['next'])}`)
  expect([...listed(first.body), ...listed(rest.body)]).toEqual([...ids].reverse())
  expect(rest.body['next']).toBeNull()
  expect((await call('GET', `/v1/dead-letters/${ids[0]}`)).body).toMatchObject({
    ...{ id: ids[0], merchant: 'acme', value_base64: 'dg==', key_base64: 'aw==', headers: { a: 'a' }, replays: [] },
  })
  for (const [query, field] of [
    ['reason=x', 'reason'],
    ['since=noon', 'since'],
    ['limit=0', 'limit'],
    ['cursor=-1', 'cursor'],
    ['colour=red', 'colour'],
  ])
    expect((await call('GET', `/v1/dead-letters?${query}`)).body).toMatchObject({ status: 400, field })
})

test('discard: by an operator, with a reason, once, and said again when asked again', async () => {
  const path = `/v1/dead-letters/${ids[0]}/discard`
  for (const role of ['merchant', 'viewer'] as const)
    expect((await (await it.as(role, 'acme'))('POST', path, { reason: 'r' })).status).toBe(403)
  const call = await it.as('operator', 'acme')
  expect((await call('POST', path, {})).body).toMatchObject({ status: 400, field: 'reason' })
  for (let again = 0; again < 2; again++)
    expect(await call('POST', path, { reason: 'not ours' })).toMatchObject({
      status: 200,
      body: { status: 'discarded' },
    })
  expect((await call('POST', `/v1/dead-letters/${ids[2]}/discard`, { reason: 'r' })).status).toBe(404)
  await it.pool.query(`update dead_letters set status = 'replaying' where id = $1`, [ids[1]])
  expect(await call('POST', `/v1/dead-letters/${ids[1]}/discard`, { reason: 'r' })).toMatchObject({
    ...{ status: 409, body: { reason: 'replaying' } },
  })
  const { rows } = await it.pool.query(`select reason, target->'ids' as ids from operator_actions`)
  expect(rows).toEqual([{ reason: 'not ours', ids: [ids[0]] }])
})
