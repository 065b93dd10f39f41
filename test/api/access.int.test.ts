import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Role } from '../../src/runtime/access-token.ts'
import { revokeApiToken } from '../../src/store/api-tokens.ts'
import { anOrder, callWith, startTestApi, withoutInstance, type Call, type TestApi } from './start-api.ts'

let it: TestApi
let admin: Call
beforeAll(async () => {
  it = await startTestApi({ COMMAND_WAIT_MS: '0' })
  admin = await it.as('admin', null)
  await admin('POST', '/v1/orders', anOrder('mine'))
  await admin('POST', '/v1/orders', anOrder('theirs', { merchant: 'globex' }))
})
afterAll(() => it.stop())

/** What each role may do with its own merchant's order, and with another's: the whole matrix. */
const ACTIONS: Record<string, (call: Call, merchant: string, outTradeNo: string) => Promise<{ status: number }>> = {
  create: (call, merchant) => call('POST', '/v1/orders', anOrder(`new-${merchant}`, { merchant })),
  read: (call, merchant, outTradeNo) => call('GET', `/v1/orders/${merchant}/${outTradeNo}`),
  timeline: (call, merchant, outTradeNo) => call('GET', `/v1/orders/${merchant}/${outTradeNo}/timeline`),
  close: (call, merchant, outTradeNo) =>
    call('POST', `/v1/orders/${merchant}/${outTradeNo}/close`, {}, { 'idempotency-key': `k-${merchant}` }),
}
test.each<[Role, Record<string, [own: number, foreign: number]>]>([
  ['merchant', { create: [201, 403], read: [200, 404], timeline: [200, 404], close: [202, 404] }],
  ['viewer', { create: [403, 403], read: [200, 404], timeline: [200, 404], close: [403, 403] }],
  ['operator', { create: [403, 403], read: [200, 404], timeline: [200, 404], close: [202, 404] }],
  ['admin', { create: [200, 403], read: [200, 404], timeline: [200, 404], close: [202, 404] }],
])('%s with one merchant', async (role, expected) => {
  const call = await it.as(role, 'acme')
  for (const [action, statuses] of Object.entries(expected)) {
    const run = ACTIONS[action]
    const own = await run?.(call, 'acme', 'mine')
    const foreign = await run?.(call, 'globex', 'theirs')
    expect([action, own?.status, foreign?.status]).toEqual([action, ...statuses])
  }
})

test('a token without a merchant sees every merchant, within its role', async () => {
  const viewer = await it.as('viewer', null)
  expect((await viewer('GET', '/v1/orders/globex/theirs')).status).toBe(200)
  expect((await viewer('POST', '/v1/orders', anOrder('x'))).status).toBe(403)
})

test('another merchant’s order and one that does not exist cannot be told apart', async () => {
  const call = await it.as('merchant', 'acme')
  const bodies = await Promise.all(
    ['/v1/orders/globex/theirs', '/v1/orders/globex/nothing', '/v1/orders/acme/nothing'].map(
      async (path) => (await call('GET', path)).body,
    ),
  )
  expect(new Set(bodies.map((body) => JSON.stringify(withoutInstance(body)))).size).toBe(1)
})

test('an expired and a revoked token are worth as much as none, at once', async () => {
  const expired = await it.as('merchant', 'acme', Date.now() - 1)
  expect((await expired('GET', '/v1/orders/acme/mine')).status).toBe(401)
  const call = await it.as('merchant', 'acme')
  expect((await call('GET', '/v1/orders/acme/mine')).status).toBe(200)
  const { rows } = await it.pool.query<{ name: string }>('select name from api_tokens order by id desc limit 1')
  await revokeApiToken(it.pool, rows[0]?.name ?? '')
  expect((await call('GET', '/v1/orders/acme/mine')).status).toBe(401)
})

test('the database holds the hash of a token and nothing that opens the door', async () => {
  const { token } = await it.as('merchant', 'acme')
  const { rows } = await it.pool.query(
    `select row_to_json(t)::text as row, encode(token_hash, 'hex') as hash from api_tokens t`,
  )
  const text = JSON.stringify(rows)
  expect(text).not.toContain(token.slice(3))
  expect(text).not.toContain(Buffer.from(token.slice(3), 'base64url').toString('hex'))
  const hash = (rows as { hash: string }[]).at(-1)?.hash ?? ''
  for (const guess of [hash, `po_${hash}`, `po_${Buffer.from(hash, 'hex').toString('base64url')}`])
    expect((await callWith(it.url, guess)('GET', '/v1/orders/acme/mine')).status).toBe(401)
})
