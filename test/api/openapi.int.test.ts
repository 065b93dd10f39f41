import { afterAll, beforeAll, expect, test } from 'vitest'
import { REPLAY_RUNS_MAX } from '../../src/store/request-replay.ts'
import { until } from '../helpers/until.ts'
import { BRAKES_MAX } from '../../src/store/set-brake.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import { documentOf, type Operation } from './check-answer.ts'
import { anOrder, callWith, startTestApi, type Call, type TestApi } from './start-api.ts'

/** Every status of every operation is asked for here, of an api whose Kafka is away, or stands below with the reason why not. */
const document = await documentOf()
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)
const seen = new Set<string>()
const noted = (call: Call): Call => {
  return async (method, path, body, headers) => {
    const answer = await call(method, path, body, headers)
    const operation = operations.find(
      (one) =>
        one.method === method &&
        new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0] ?? ''),
    )
    if (operation !== undefined) seen.add(`${operation.operation.operationId} ${answer.status}`)
    return answer
  }
}

let it: TestApi
let admin: Call
let acme: Call
beforeAll(async () => {
  it = await startTestApi({ COMMAND_WAIT_MS: '0', KAFKA_BROKERS: '127.0.0.1:1' })
  admin = noted(await it.as('admin', null))
  acme = noted(await it.as('admin', 'acme'))
})
afterAll(() => it.stop())

/** What the order's lane would write. */
const finish = (command: unknown, status: string, result: object) => {
  const text = 'update commands set status = $2, result = $3, finished_at = now() where id = $1'
  return it.pool.query(text, [command, status, result])
}
const addressOf = (path: string) =>
  path.replace('{merchant}', 'acme').replace('{outTradeNo}', 'none').replace('{id}', '999999')
const needsToken = (operation: Operation) => operation.security?.length !== 0

test('what any route may refuse: no token, the wrong role, a parameter, a body', async () => {
  const nobody = noted(callWith(it.url, mintToken().token))
  const weak = noted(await it.as('viewer', 'acme'))
  const merchant = noted(await it.as('merchant', 'acme'))
  for (const { path, method, operation } of operations) {
    const at = addressOf(path)
    if (needsToken(operation)) expect((await nobody(method, at)).status).toBe(401)
    if ('403' in operation.responses && method === 'POST')
      expect([(await weak(method, at, {})).status, (await merchant(method, at, {})).status]).toContain(403)
    expect((await admin(method, `${at}?nonsense=1`)).status).toBe(400)
    if (operation.requestBody === undefined) continue
    expect((await admin(method, at, {}, { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await admin(method, at, 'x'.repeat(5_300_000))).status).toBe(413)
  }
})

test('what does not exist is 404 wherever a path names something', async () => {
  const bodies: Record<string, object> = { resolveAnomaly: { resolution: 'ignore', reason: 'r' }, closeOrder: {} }
  for (const { path, method, operation } of operations) {
    if (!('404' in operation.responses)) continue
    const body = method === 'GET' ? undefined : (bodies[operation.operationId] ?? { reason: 'r' })
    expect((await admin(method, addressOf(path), body, { 'idempotency-key': 'k' })).status).toBe(404)
  }
})

let unsent = ''
test('replays: asked for, again, with a key used before, too many; listed, read, resumed', async () => {
  const { rows } = await it.pool.query<{ id: number }>(
    `insert into dead_letters (topic, lane, kafka_offset, key, value, reason, record_time, merchant)
     select $1, 0, n, 'k', 'v', 'unknown_schema', now(), 'acme' from generate_series(11, 21) n returning id::int`,
    [INPUT_TOPIC],
  )
  const ask = (letter: number | undefined, key: string, more: object = {}) =>
    acme('POST', '/v1/replays', { filter: { ids: [letter] }, reason: 'r', ...more }, { 'idempotency-key': key })
  const [first, ...others] = rows.map(({ id }) => id)
  expect((await ask(first, 'a', { dry_run: true })).status).toBe(200)
  const asked = await ask(first, 'a')
  expect([asked.status, (await ask(first, 'a')).status, (await ask(others[0], 'a')).status]).toEqual([202, 202, 422])
  const foreign = { filter: { merchant: 'globex' }, reason: 'r' }
  expect((await acme('POST', '/v1/replays', foreign, { 'idempotency-key': 'f' })).status).toBe(403)
  const at = asked.headers.get('location') ?? ''
  unsent = at
  expect((await acme('GET', '/v1/replays?limit=1')).body['replays']).toHaveLength(1)
  expect((await acme('POST', `${at}/resume`, { reason: 'r' })).status).toBe(202)
  for (const [index, letter] of others.entries())
    expect((await ask(letter, `k${index}`)).status).toBe(index < REPLAY_RUNS_MAX - 1 ? 202 : 409)
  await it.pool.query('update replays set sent_at = now()')
  expect((await acme('POST', `${at}/resume`, { reason: 'r' })).status).toBe(200)
})

test('orders: made, same, differs, in a list; read; closed, in part, twice, with a key used before', async () => {
  expect((await acme('POST', '/v1/orders', anOrder('O1'))).status).toBe(201)
  expect((await acme('POST', '/v1/orders', anOrder('O1'))).status).toBe(200)
  expect((await acme('POST', '/v1/orders', anOrder('O1', { amount_minor: 1 }))).status).toBe(409)
  expect((await acme('POST', '/v1/orders', anOrder('O2', { merchant: 'globex' }))).status).toBe(403)
  const orders = [anOrder('O3', { payload: { skus: ['A1'] } }), anOrder('O1', { amount_minor: 1 })]
  expect((await acme('POST', '/v1/orders', { orders })).body['results']).toMatchObject([
    { status: 201 },
    { status: 409 },
  ])
  expect((await acme('GET', '/v1/orders/acme/O1')).status).toBe(200)
  expect((await acme('GET', '/v1/orders/acme/O1/timeline')).status).toBe(200)
  const close = (key: string, body: object = {}) =>
    acme('POST', '/v1/orders/acme/O1/close', body, { 'idempotency-key': key })
  const filed = await close('a')
  expect(filed.status).toBe(202)
  expect((await close('a', { reason: 'another' })).status).toBe(422)
  await finish(filed.body['id'], 'done', { kind: 'done', status: 'closed' })
  expect((await close('a')).status).toBe(200)
  expect((await acme('GET', filed.headers.get('location') ?? '')).body).toMatchObject({ status: 'done' })
  await finish((await close('b')).body['id'], 'done', {
    kind: 'refused',
    status: 'paid',
    refusal: { reason: 'already_paid' },
  })
  expect((await close('b')).status).toBe(409)
  await finish((await close('c')).body['id'], 'failed', { kind: 'failed', detail: 'd' })
  expect((await close('c')).status).toBe(500)
})

test('an order whose archive is gone: 410', async () => {
  await it.pool.query(`insert into tombstones (merchant, out_trade_no, status) values ('acme', 'gone', 'shipped')`)
  for (const rest of ['', '/timeline']) expect((await acme('GET', `/v1/orders/acme/gone${rest}`)).status).toBe(410)
})

test('held facts: listed', async () => {
  expect((await acme('GET', '/v1/held?limit=1')).status).toBe(200)
})

test('anomalies: listed, read, claimed, released, answered', async () => {
  const { rows } = await it.pool.query<{ id: number }>(
    `insert into anomalies (order_id, lane, kind, cause, facts)
     select id, lane, 'paid_after_close', 'payment_succeeded/a:1', '{"fact":{}}' from orders where out_trade_no = 'O1' returning id::int`,
  )
  const at = `/v1/anomalies/${rows[0]?.id}`
  expect((await acme('GET', '/v1/anomalies?limit=1')).body['anomalies']).toHaveLength(1)
  expect((await acme('GET', at)).status).toBe(200)
  expect((await acme('POST', `${at}/claim`, {})).status).toBe(200)
  expect((await admin('POST', `${at}/claim`, {})).status).toBe(409)
  expect((await admin('POST', `${at}/release`, {})).status).toBe(409)
  expect((await acme('POST', `${at}/release`, {})).status).toBe(200)
  const answer = { resolution: 'ignore', reason: 'r' }
  const resolve = (key: string, body: object = answer) =>
    acme('POST', `${at}/resolve`, body, { 'idempotency-key': key })
  const filed = await resolve('r1')
  expect(filed.status).toBe(202)
  expect((await resolve('r1', { ...answer, reason: 'x' })).status).toBe(422)
  await finish(filed.body['id'], 'done', { kind: 'done', status: 'closed' })
  expect((await resolve('r1')).status).toBe(200)
  await finish((await resolve('r2')).body['id'], 'done', {
    kind: 'refused',
    status: 'closed',
    refusal: { reason: 'claimed', owner: 'ann' },
  })
  expect((await resolve('r2')).status).toBe(409)
  await finish((await resolve('r3')).body['id'], 'failed', { kind: 'failed', detail: 'd' })
  expect((await resolve('r3')).status).toBe(500)
})

test('brakes: set, same, untold, too many, foreign; released', async () => {
  await it.pool.query(`insert into lanes (topic, lane, start_offset, applied_offset) values ($1, 0, 0, 0)`, [
    INPUT_TOPIC,
  ])
  const body = { merchant: 'acme', event_type: 'ship', reason: 'r' }
  const set = await acme('POST', '/v1/brakes', body)
  expect(set.status).toBe(201)
  expect((await acme('POST', '/v1/brakes', body)).status).toBe(200)
  expect((await acme('GET', '/v1/brakes')).body['brakes']).toHaveLength(1)
  const holder = await it.pool.connect()
  await holder.query('begin; select 1 from lanes for update')
  expect((await acme('POST', '/v1/brakes', { ...body, event_type: 'grant' })).status).toBe(202)
  expect((await acme('POST', `/v1/brakes/${String(set.body['id'])}/release`, { reason: 'r' })).status).toBe(202)
  await holder.query('rollback')
  holder.release()
  expect((await acme('POST', `/v1/brakes/${String(set.body['id'])}/release`, { reason: 'r' })).status).toBe(200)
  await it.pool.query(
    `insert into brakes (merchant, out_trade_no, set_by, reason, told_at) select 'acme', n::text, 'x', 'x', now()
     from generate_series(1, $1) n`,
    [BRAKES_MAX],
  )
  expect((await acme('POST', '/v1/brakes', { ...body, event_type: 'cancel' })).status).toBe(409)
})

test('dead letters: listed, read, discarded, and not while they are replayed', async () => {
  const { rows } = await it.pool.query<{ id: number }>(
    `insert into dead_letters (topic, lane, kafka_offset, key, value, headers, reason, record_time, merchant)
     select $1, 0, n, 'k', 'v', '{"a":"YQ=="}', 'unsupported', now(), 'acme' from generate_series(1, 2) n returning id::int`,
    [INPUT_TOPIC],
  )
  const [first, second] = rows.map(({ id }) => id)
  await it.pool.query(`update dead_letters set status = 'replaying' where id = $1`, [second])
  expect((await acme('GET', '/v1/dead-letters?limit=1&status=any')).body['next']).not.toBeNull()
  expect((await acme('GET', `/v1/dead-letters/${first}`)).status).toBe(200)
  expect((await acme('POST', `/v1/dead-letters/${first}/discard`, { reason: 'r' })).status).toBe(200)
  expect((await acme('POST', `/v1/dead-letters/${second}/discard`, { reason: 'r' })).status).toBe(409)
})

test('the document is served without a token, and is the one that the tests hold answers against', async () => {
  const answer = await noted(callWith(it.url, ''))('GET', '/v1/openapi.json')
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual(document)
})

test('a replay that could not be sent says why, without naming a broker', async () => {
  const trouble = await until(
    'it has been tried',
    async () => {
      const { run } = (await acme('GET', unsent)).body as { run: { trouble: string | null } }
      return run.trouble ?? undefined
    },
    60_000,
  )
  expect(trouble).toBe('KafkaJSNumberOfRetriesExceeded')
}, 60_000)

/** What cannot be had by asking a running api, and where it is tested instead. */
const ELSEWHERE: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/ 500$/, 'a surprise: no request brings one about; app.test.ts has a handler throw'],
  [/ 503$/, 'the database away, too many at once: database-away.int.test.ts, app.test.ts; the same for every route'],
]

test('every status of every operation was asked for above, or says why not', () => {
  const documented = operations.flatMap(({ operation }) =>
    Object.keys(operation.responses).map((status) => `${operation.operationId} ${status}`),
  )
  const missing = documented.filter((one) => !seen.has(one) && !ELSEWHERE.some(([pattern]) => pattern.test(one)))
  expect(missing).toEqual([])
})
