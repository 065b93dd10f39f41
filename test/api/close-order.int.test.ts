import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../helpers/until.ts'
import { anOrder, startTestApi, withoutInstance, type Answer, type Call, type TestApi } from './start-api.ts'

let it: TestApi
let acme: Call
beforeAll(async () => {
  it = await startTestApi({ COMMAND_WAIT_MS: '400' })
  acme = await it.as('merchant', 'acme')
})
afterAll(() => it.stop())

const close = (outTradeNo: string, key: string, body: unknown = {}, as: Call = acme) =>
  as('POST', `/v1/orders/acme/${outTradeNo}/close`, body, { 'idempotency-key': key })
const givenOrder = (outTradeNo: string) => acme('POST', '/v1/orders', anOrder(outTradeNo))

/** Does what a lane does with the order's next command. */
async function decide(outTradeNo: string, result: unknown, { status = 'done', notify = true } = {}) {
  const id = await until(`a command about ${outTradeNo}`, async () => {
    const { rows } = await it.pool.query<{ id: string }>(
      `update commands c set status = $2, result = $3, finished_at = now() from orders o
       where o.id = c.order_id and o.out_trade_no = $1 and c.status = 'pending' and c.kind = 'close' returning c.id`,
      [outTradeNo, status, JSON.stringify(result)],
    )
    return rows[0]?.id
  })
  if (notify) await it.pool.query(`select pg_notify('paidonce_commands', $1)`, [id])
  return id
}
const refusedBecause = (reason: string, status: string) => ({ kind: 'refused', status, refusal: { reason } })

test('close of a pending order: the lane says closed, the answer is 200 with the result', async () => {
  await givenOrder('c1')
  const [answer, id] = await Promise.all([close('c1', 'k1'), decide('c1', { kind: 'done', status: 'closed' })])
  expect(answer.status).toBe(200)
  expect(answer.headers.get('location')).toBe(`/v1/commands/${id}`)
  expect(answer.body).toMatchObject({
    ...{ id: Number(id), kind: 'close', merchant: 'acme', out_trade_no: 'c1', status: 'done' },
    result: { kind: 'done', status: 'closed' },
  })
  const asked = await acme('GET', `/v1/commands/${id}`)
  expect([asked.status, asked.body]).toEqual([200, answer.body])
})

test.each([
  ['paid', 'already_paid', 'Refund the payment'],
  ['refunded', 'already_refunded', undefined],
  ['awaited', 'unknown_order', 'Create it first'],
])('close of an order that is %s: 409 %s', async (status, reason, remedy) => {
  await givenOrder(`c-${status}`)
  const [answer] = await Promise.all([
    close(`c-${status}`, `k-${status}`),
    decide(`c-${status}`, refusedBecause(reason, status)),
  ])
  expect(answer.status).toBe(409)
  expect(answer.body).toMatchObject({ type: 'urn:paidonce:problem:command_refused', reason })
  if (remedy !== undefined) expect(answer.body['remedy']).toContain(remedy)
})

test('a command that failed: 500 that names it, and nothing of why', async () => {
  await givenOrder('c-failed')
  const [answer, id] = await Promise.all([
    close('c-failed', 'k-failed'),
    decide('c-failed', { detail: 'secret detail' }, { status: 'failed' }),
  ])
  expect([answer.status, answer.body['type']]).toEqual([500, 'urn:paidonce:problem:command_failed'])
  expect(answer.body['detail']).toContain(id)
  expect(JSON.stringify(answer.body)).not.toContain('secret')
})

test('no processor is up: 202 after the wait, with where to ask; later the same key gets the result', async () => {
  await givenOrder('c2')
  const startedMs = performance.now()
  const answer = await close('c2', 'k2')
  const tookMs = performance.now() - startedMs
  expect(answer.status).toBe(202)
  expect(tookMs).toBeGreaterThan(350)
  expect(tookMs).toBeLessThan(3_000)
  expect(answer.body).toMatchObject({ status: 'pending', result: null, finished_at: null })
  const location = answer.headers.get('location') ?? ''
  expect((await acme('GET', location)).body['status']).toBe('pending')
  await decide('c2', { kind: 'done', status: 'closed' })
  expect((await acme('GET', location)).body).toMatchObject({ status: 'done', result: { status: 'closed' } })
  const again = await close('c2', 'k2')
  expect([again.status, again.headers.get('location')]).toEqual([200, location])
})

test('a result is found without a notification too', async () => {
  await givenOrder('c3')
  const [answer] = await Promise.all([
    close('c3', 'k3'),
    decide('c3', { kind: 'done', status: 'closed' }, { notify: false }),
  ])
  expect(answer.status).toBe(200)
})

test('the same key at the same instant is one command; another body, order or reason is 422', async () => {
  await givenOrder('c4')
  await givenOrder('c5')
  const [answers] = await Promise.all([
    Promise.all(Array.from({ length: 20 }, () => close('c4', 'k4', { reason: 'sold out' }))),
    decide('c4', { kind: 'done', status: 'closed' }),
  ])
  expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
  expect(answers[0]?.status).toBe(200)
  const { rows } = await it.pool.query(`select body, actor from commands where idempotency_key = 'k4'`)
  expect(rows).toEqual([{ body: { reason: 'sold out' }, actor: 'merchant-0' }])
  const reused = (answer: Answer) => [answer.status, answer.body['field']]
  expect(reused(await close('c4', 'k4', {}))).toEqual([422, 'Idempotency-Key'])
  expect(reused(await close('c5', 'k4', { reason: 'sold out' }))).toEqual([422, 'Idempotency-Key'])
})

test('keys of two merchants do not meet', async () => {
  await givenOrder('c6')
  const admin = await it.as('admin', null)
  await admin('POST', '/v1/orders', anOrder('c6', { merchant: 'globex' }))
  expect((await close('c6', 'shared')).status).toBe(202)
  const other = await admin('POST', '/v1/orders/globex/c6/close', {}, { 'idempotency-key': 'shared' })
  expect(other.status).toBe(202)
})

test('the lane is woken when a command is filed, and only then', async () => {
  await givenOrder('c7')
  const listener = await it.pool.connect()
  const heard: unknown[] = []
  listener.on('notification', ({ channel }) => heard.push(channel))
  await listener.query('listen paidonce_lanes')
  await Promise.all([close('c7', 'k7'), decide('c7', { kind: 'done', status: 'closed' })])
  await close('c7', 'k7')
  await listener.query('select 1')
  expect(heard).toEqual(['paidonce_lanes'])
  listener.release(true)
})

test.each([
  ['no key', {}, undefined, 'Idempotency-Key'],
  ['an empty key', {}, '', 'Idempotency-Key'],
  ['a key with a space', {}, 'a b', 'Idempotency-Key'],
  ['a key of 129 bytes', {}, 'x'.repeat(129), 'Idempotency-Key'],
  ['an unknown field', { force: true }, 'k', 'force'],
  ['a long reason', { reason: 'x'.repeat(257) }, 'k', 'reason'],
])('%s is refused by name', async (_what, body, key, field) => {
  await givenOrder('c8')
  const answer = await acme(
    'POST',
    '/v1/orders/acme/c8/close',
    body,
    key === undefined ? {} : { 'idempotency-key': key },
  )
  expect([answer.status, answer.body['field']]).toEqual([400, field])
})

test('an order that nobody knows, or that is not theirs, is not found; so is a foreign command', async () => {
  await givenOrder('c9')
  expect((await close('nothing-there', randomUUID())).status).toBe(404)
  const globex = await it.as('merchant', 'globex')
  const foreign = await close('c9', randomUUID(), {}, globex)
  const absent = await close('nothing-there', randomUUID(), {}, globex)
  expect(withoutInstance(foreign.body)).toEqual(withoutInstance(absent.body))
  expect([foreign.status, absent.status]).toEqual([404, 404])
  const id = (await close('c9', 'k9')).body['id']
  expect((await globex('GET', `/v1/commands/${String(id)}`)).status).toBe(404)
  for (const bad of ['0', '-1', 'x', '1e3', '99999999999999999999', '999999'])
    expect((await acme('GET', `/v1/commands/${bad}`)).status).toBe(404)
})
