import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createApp, type AppDeps } from '../../src/api/app.ts'
import { reachNothing } from '../../src/api/crash-points.ts'
import { createApiMetrics } from '../../src/api/metrics.ts'
import type { Principal } from '../../src/api/policy.ts'
import type { ApiRequest, Route } from '../../src/api/route.ts'
import { hashToken, mintToken } from '../../src/runtime/access-token.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/runtime/log.ts'

const { token } = mintToken()
const viewer: Principal = { tokenId: 1, name: 'shop', merchant: 'acme', role: 'viewer' }
const merchant: Principal = { ...viewer, role: 'merchant' }
const lines: Record<string, unknown>[] = []
const log = createLog('api', 'info', {
  write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]),
})

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
  lines.length = 0
})

async function serve(handle: Route['handle'], principal: Principal = merchant, deps: Partial<AppDeps> = {}) {
  const doc = { id: 'any', summary: '', answers: {} }
  const routes: Route[] = [
    { method: 'post', path: '/v1/orders', action: 'create_order', doc, handle },
    { method: 'get', path: '/v1/orders/:merchant/:outTradeNo', action: 'read_order', doc, handle },
  ]
  const metrics = createApiMetrics()
  const app = createApp(routes, {
    findPrincipal: (hash) => Promise.resolve(hash.equals(hashToken(token) ?? hash) ? principal : undefined),
    mayKeepAlive: () => true,
    clock: systemClock,
    log,
    metrics,
    bodyBytesMax: 1_000,
    inFlightMax: 2,
    reach: reachNothing,
    ...deps,
  })
  const listening = (server = createServer(app))
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
  const call = async (
    path: string,
    init: { method?: string; body?: string | Uint8Array<ArrayBuffer> } = {},
    headers: Record<string, string> = {},
  ) => {
    const answer = await fetch(url + path, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, body: (text === '' ? {} : JSON.parse(text)) as Body }
  }
  return { call, metrics, url }
}
interface Body {
  readonly [key: string]: unknown
}
const echo: Route['handle'] = (request: ApiRequest) =>
  Promise.resolve({ kind: 'answer', status: 200, body: { params: request.params, body: request.body.value } })
const post = (body: string | Uint8Array<ArrayBuffer>) => ({ method: 'POST', body })

test('a request goes through to its route, and the answer is not to be cached', async () => {
  const { call } = await serve(echo)
  const answer = await call('/v1/orders/acme/a%2Fb%20%E4%B8%AD')
  expect(answer.body['params']).toEqual({ merchant: 'acme', outTradeNo: 'a/b 中' })
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('x-powered-by')).toBeNull()
  expect(answer.headers.get('etag')).toBeNull()
})

test.each([
  ['none', ''],
  ['another scheme', `Basic ${token}`],
  ['an unknown one', `Bearer ${mintToken().token}`],
  ['one cut short', `Bearer ${token.slice(0, -1)}`],
  ['two', `Bearer ${token} ${token}`],
])('without a valid token (%s): 401, always with the same words', async (_what, authorization) => {
  const { call } = await serve(echo)
  const answer = await call('/v1/orders', post('{}'), { authorization })
  expect(answer.status).toBe(401)
  expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  const { instance, ...body } = answer.body
  expect(instance).toMatch(/^urn:uuid:/)
  expect(body).toMatchInlineSnapshot(`
    {
      "detail": "There is no valid token in the Authorization header.",
      "field": "Authorization",
      "remedy": "Send Authorization: Bearer <token>; make one with: paidonce token create.",
      "status": 401,
      "title": "A valid bearer token is needed",
      "type": "urn:paidonce:problem:unauthenticated",
    }
  `)
  expect(JSON.stringify(lines)).not.toContain(token)
})

test('a role that may not: 403 that names the roles that may', async () => {
  const { call } = await serve(echo, viewer)
  const answer = await call('/v1/orders', post('{}'))
  expect(answer.status).toBe(403)
  expect(answer.body['remedy']).toContain('merchant, admin')
  expect((await call('/v1/orders/acme/1')).status).toBe(200)
})

test.each([
  ['not JSON', '{', {}, 400, undefined],
  ['a key twice', '{"a":1,"a":1}', {}, 400, 'a'],
  ['no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), {}, 400, undefined],
  ['another type', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'Content-Type'],
  ['another charset', '{}', { 'content-type': 'application/json; charset=gbk' }, 415, 'Content-Type'],
  ['compressed', '{}', { 'content-encoding': 'gzip' }, 415, 'Content-Encoding'],
  ['too large', `{"a":"${'x'.repeat(1_000)}"}`, {}, 413, undefined],
])('a body that is %s is refused', async (_what, body, headers, status, field) => {
  const { call } = await serve(() => Promise.reject(new Error('must not be reached')))
  const answer = await call('/v1/orders', post(body), headers)
  expect([answer.status, answer.body['field']]).toEqual([status, field])
})

test('a body of unknown length is cut off at the limit', async () => {
  const { url } = await serve(echo)
  const status = await new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const request = httpRequest(`${url}/v1/orders`, { method: 'POST', headers }, (answer) => resolve(answer.statusCode))
    request.once('error', reject)
    request.write('x'.repeat(600))
    request.write('x'.repeat(600)) // No end: the answer must not wait for it.
  })
  expect(status).toBe(413)
})

test('unknown paths, methods and parameters are refused by name', async () => {
  const { call } = await serve(echo)
  expect((await call('/v1/nothing')).status).toBe(404)
  expect((await call('/v1/orders/acme/%')).status).toBe(404)
  const wrong = await call('/v1/orders', { method: 'DELETE' })
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
  const parameter = await call('/v1/orders/acme/1?expand=all')
  expect([parameter.status, parameter.body['field']]).toEqual([400, 'expand'])
})

test('a surprise tells the caller nothing but where it is logged', async () => {
  const { call } = await serve(() => Promise.reject(new Error('relation "secret" at /srv/x.ts')))
  const answer = await call('/v1/orders/acme/1')
  expect(answer.status).toBe(500)
  expect(answer.text).not.toMatch(/secret|srv|Error/)
  const line = lines.find((logged) => logged['level'] === 'error')
  expect(`urn:uuid:${String(line?.['requestId'])}`).toBe(answer.body['instance'])
  expect(JSON.stringify(line)).toContain('secret')
})

test('trouble with the database: tried again, then 503 and when to come back', async () => {
  let calls = 0
  const { call, metrics } = await serve((request) => {
    calls++
    const lost = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    return calls === 2 ? echo(request) : Promise.reject(lost)
  })
  expect((await call('/v1/orders/acme/1')).status).toBe(200)
  expect(calls).toBe(2)
  const answer = await call('/v1/orders/acme/1')
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
  expect(calls).toBe(6)
  expect(await metrics.registry.metrics()).toContain('paidonce_api_database_retries_total 4')
})

test('above the limit in flight: 503 at once, and the others finish', async () => {
  const waiting: (() => void)[] = []
  const { call } = await serve(async (request) => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    return echo(request)
  })
  const two = [call('/v1/orders/acme/1'), call('/v1/orders/acme/2')]
  while (waiting.length < 2) await new Promise(setImmediate)
  expect((await call('/v1/orders/acme/3')).body['type']).toBe('urn:paidonce:problem:overloaded')
  for (const release of waiting) release()
  expect((await Promise.all(two)).map(({ status }) => status)).toEqual([200, 200])
})
