import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { Agent } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '../../src/gateway/app.ts'
import { createMetrics } from '../../src/gateway/metrics.ts'
import type { Gateway } from '../../src/gateway/start.ts'
import { bareCloseNotice, returnFields } from '../../src/providers/alipay/notice-fields.ts'
import { signNotice, signReturn, type NoticeFields } from '../../src/providers/alipay/sign.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/runtime/log.ts'
import { withFakeGateway, type FakeGateway } from '../helpers/fake-gateway.ts'
import { metric } from '../helpers/gateway.ts'
import { post, rawConnection } from '../helpers/http.ts'
import { vector } from '../providers/vectors.ts'

const v = vector('alipay/yansongda-sandbox-return') as { certificatePem: string; rawQuery: string }
const NOW = new Date('2023-12-21T06:48:50Z')
const APP_ID = '9021000122682882'
const SELLER_ID = '2088721003899159'
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })

/** A merchant whose buyers Alipay sends back: signed under the vector's certificate, or under a key of ours. */
const directory = mkdtempSync(join(tmpdir(), 'paidonce-returns-'))
const file = (name: string, content: string) => {
  writeFileSync(join(directory, name), content)
  return name
}
beforeAll(() => {
  const alipay = {
    appIds: [APP_ID],
    sellerIds: [SELLER_ID],
    publicKeyFiles: [file('alipay.pem', publicKey.export({ type: 'spki', format: 'pem' }).toString())],
    certificateFiles: [file('alipay.crt', v.certificatePem)],
  }
  const worker = { secretFiles: [file('worker.key', `whsec_${randomBytes(32).toString('base64')}`)] }
  file('shop1.json', JSON.stringify({ alipay, worker }))
})
afterAll(() => rmSync(directory, { recursive: true }))

const withGateway = (work: (fake: FakeGateway) => Promise<void>, env: Record<string, string> = {}) =>
  withFakeGateway(directory, () => NOW, work, env)
const open = ({ port }: Gateway, path: string, options: { method?: string; agent?: Agent } = {}) =>
  post(port, { path, headers: {}, rawBody: Buffer.alloc(0) }, { method: 'GET', ...options })
const returned = (query: string, to = 'alipay/shop1') => `/returns/${to}?${query}`
const fields = returnFields(
  {
    appId: APP_ID,
    sellerId: SELLER_ID,
    tradeNo: '2023122122001499160501586203',
    outTradeNo: '订单1',
    totalFen: 8_800,
    subject: '会员',
    createdAt: NOW,
    paidAt: NOW,
    charset: 'gbk',
  },
  NOW,
)
const signed = (change: NoticeFields = {}, key = privateKey) => signReturn({ ...fields, ...change }, key)
const REFUSED = '{"verified":false}\n'

test('a return that Alipay signed is shown, says that it proves no payment, and publishes nothing', () =>
  withGateway(async ({ gateway, published }) => {
    const shown = await open(gateway, returned(v.rawQuery))
    expect([shown.status, shown.headers['content-type']]).toEqual([200, 'application/json'])
    expect(JSON.parse(shown.body.toString())).toEqual({
      verified: true,
      proves_payment: false,
      out_trade_no: '1703141270',
      trade_no: '2023122122001499160501586202',
      total_amount: '0.01',
      note: expect.stringContaining('no proof of a payment') as string,
    })
    const gbk = await open(gateway, returned(signed()))
    expect(JSON.parse(gbk.body.toString())).toMatchObject({ out_trade_no: '订单1', total_amount: '88.00' })
    for (let again = 0; again < 3; again++) expect((await open(gateway, returned(v.rawQuery))).status).toBe(200)
    expect((await open(gateway, returned(v.rawQuery), { method: 'HEAD' })).body).toHaveLength(0)
    expect(published).toEqual([])
    expect(await metric(gateway, 'paidonce_gateway_returns_total{provider="alipay",outcome="verified"}')).toBe(6)
    const { port } = gateway
    const posted = (rawBody: Buffer) => post(port, { path: '/callbacks/alipay/shop1', headers: {}, rawBody })
    // Posted by the buyer, it is no notice.
    expect((await posted(Buffer.from(v.rawQuery))).status).toBe(400)
    expect(published).toEqual([])
    expect((await posted(signNotice(bareCloseNotice('n1', NOW), privateKey).rawBody)).status).toBe(200)
    // What keeps them is there, then: it has this one.
    expect(published).toHaveLength(1)
  }))

test('every refusal is the same bytes, and none publishes; the log has its reason', () =>
  withGateway(async ({ gateway, published, logLines }) => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
    const queries = [
      '',
      'x',
      v.rawQuery.replace('total_amount=0.01', 'total_amount=0.02'),
      v.rawQuery.replaceAll('%2B', '+'),
      `${v.rawQuery}&tenant=7`,
      `${v.rawQuery}&total_amount=0.02`,
      v.rawQuery.replace('sign_type=RSA2', 'sign_type=RSA'),
      signed({}, other),
      signed({ app_id: '9021000122682883' }),
      signed({ seller_id: '2088721003899150' }),
      signed({ out_trade_no: '' }),
      signed({ charset: 'utf-16' }),
      signed({ alipay_cert_sn: '0'.repeat(32) }),
      signed({ subject: 'x'.repeat(4_096) }),
    ]
    const answers = await Promise.all(queries.map((query) => open(gateway, returned(query))))
    for (const { status, body } of answers) expect([status, body.toString()]).toEqual([400, REFUSED])
    expect((await open(gateway, returned('').slice(0, -1))).body.toString()).toBe(REFUSED)
    expect(published).toEqual([])
    const refusals = logLines
      .map((line) => JSON.parse(line) as { at?: string; reason: string })
      .filter(({ at }) => at === 'return')
    expect(refusals).toHaveLength(queries.length + 1)
    expect(new Set(refusals.map(({ reason }) => reason))).toEqual(
      new Set(['malformed', 'bad_signature', 'wrong_recipient', 'unknown_key', 'too_large']),
    )
    const refused = 'paidonce_gateway_returns_total{provider="alipay",outcome="refused"}'
    expect(await metric(gateway, refused)).toBe(queries.length + 1)
    expect(await metric(gateway, 'paidonce_gateway_callbacks_total{provider="alipay",outcome="refused"}')).toBe(0)
  }))

test('where nothing is returned to, it is an unknown path like any other', () =>
  withGateway(async ({ gateway, published }) => {
    for (const to of ['worker/shop1', 'alipay/shop2', 'paypal/shop1', 'constructor/shop1', 'alipay', 'alipay/shop1/'])
      expect(await open(gateway, returned(v.rawQuery, to))).toMatchObject({
        status: 404,
        body: Buffer.from('not found\n'),
      })
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect((await open(gateway, returned(v.rawQuery), { method })).status).toBe(404)
    expect((await open(gateway, `/callbacks/alipay/shop1?${v.rawQuery}`)).status).toBe(404)
    expect(published).toEqual([])
    const unknown = (provider: string) =>
      metric(gateway, `paidonce_gateway_returns_total{provider="${provider}",outcome="unknown"}`)
    expect([await unknown('worker'), await unknown('alipay'), await unknown('unknown')]).toEqual([1, 1, 2])
  }))

test('connections are kept, a body is let pass, and too many header lines are refused', () =>
  withGateway(async ({ gateway }) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (const path of [
      returned(v.rawQuery),
      returned('x'),
      returned(v.rawQuery, 'worker/shop1'),
      returned(v.rawQuery),
    ])
      expect((await open(gateway, path, { agent })).headers['connection']).toBe('keep-alive')
    agent.destroy()

    const raw = await rawConnection(gateway.port)
    raw.write(`GET ${returned(v.rawQuery)} HTTP/1.1\r\nhost: x\r\ncontent-length: 20000\r\n\r\n${'x'.repeat(20_000)}`)
    raw.write(`GET ${returned('x')} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    const both = await raw.closed
    expect([both.match(/HTTP\/1\.1 200/g)?.length, both.match(/HTTP\/1\.1 400/g)?.length]).toEqual([1, 1])

    const many = Array.from({ length: 64 }, (_line, i) => `x-${i}: 1\r\n`).join('')
    const lines = await rawConnection(gateway.port)
    lines.write(`GET ${returned(v.rawQuery)} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${many}\r\n`)
    expect(await lines.closed).toMatch(/^HTTP\/1\.1 (400|431)/)
  }))

test('returns had no limit: anybody could have had the gateway verify nothing but them', () =>
  withGateway(
    async ({ gateway, logLines }) => {
      // In one packet, so that they come in one turn.
      const raw = await rawConnection(gateway.port)
      const line = (end = '') => `GET ${returned(v.rawQuery)} HTTP/1.1\r\nhost: x\r\n${end}\r\n`
      raw.write(line() + line() + line() + line('connection: close\r\n'))
      const answers = await raw.closed
      expect(answers.match(/HTTP\/1\.1 \d+/g)?.map((found) => found.slice(-3))).toEqual(['200', '200', '503', '503'])
      expect(answers.match(/\{"verified":false\}\n/g)).toHaveLength(2)
      expect(logLines.filter((logged) => logged.includes('"reason":"overloaded"'))).toHaveLength(2)
      const counted = (outcome: string) =>
        metric(gateway, `paidonce_gateway_returns_total{provider="alipay",outcome="${outcome}"}`)
      expect([await counted('verified'), await counted('failed')]).toEqual([2, 2])
      // And there is room again.
      expect((await open(gateway, returned(v.rawQuery))).status).toBe(200)
      expect((await open(gateway, returned('x'))).status).toBe(400)
      expect((await open(gateway, returned(v.rawQuery))).status).toBe(200)
    },
    { IN_FLIGHT_MAX: '2' },
  ))

test('one verification that throws is answered by itself, and the others of its turn too', async () => {
  const verifyReturn = (query: string) => {
    if (query === 'odd') throw new Error('a surprise')
    return { kind: 'verified', says: { outTradeNo: query, tradeNo: '', totalAmount: '' } } as const
  }
  const find = () => ({ verifyReturn }) as unknown as Provider
  const metrics = createMetrics()
  const log = createLog('gateway', 'silent')
  const app = createApp(
    {
      ...{ merchants: { names: [], find }, receive: () => undefined, inFlightMax: 9, mayKeepAlive: () => true },
      ...{ clock: systemClock, metrics, logRefusal: () => undefined },
      pace: (_response, answer) => answer(),
    },
    log,
  )
  const server = app.listen(0)
  await once(server, 'listening')
  const raw = await rawConnection((server.address() as AddressInfo).port)
  const line = (query: string, end = '') => `GET ${returned(query)} HTTP/1.1\r\nhost: x\r\n${end}\r\n`
  raw.write(line('odd') + line('T1') + line('T2', 'connection: close\r\n'))
  expect((await raw.closed).match(/HTTP\/1\.1 \d+|"T\d"/g)).toEqual([
    ...['HTTP/1.1 500', 'HTTP/1.1 200', '"T1"', 'HTTP/1.1 200', '"T2"'],
  ])
  metrics.stop()
  server.close()
})
