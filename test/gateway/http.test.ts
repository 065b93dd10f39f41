import { Agent } from 'node:http'
import express from 'express'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Published } from '../../src/gateway/batch-publisher.ts'
import { createLeanServer } from '../../src/gateway/lean-server.ts'
import { systemClock, type Clock } from '../../src/runtime/clock.ts'
import { ACKED, withGatewayAlone, type GatewayAlone } from '../helpers/gateway-alone.ts'
import { metric } from '../helpers/gateway.ts'
import { head, post, rawConnection } from '../helpers/http.ts'
import { createMerchant, type SignedCallback, type TestMerchant } from '../helpers/merchant.ts'
import { until } from '../helpers/until.ts'

const WECHATPAY_SUCCESS = '{"code":"SUCCESS","message":"成功"}'
const WECHATPAY_FAIL = '{"code":"FAIL","message":"失败"}'

let merchant: TestMerchant
beforeAll(() => {
  merchant = createMerchant()
})
afterAll(() => merchant.remove())

const withGateway = (
  work: (alone: GatewayAlone) => Promise<void>,
  options: Omit<Parameters<typeof withGatewayAlone>[1], 'merchantsDir'> = {},
) => withGatewayAlone(work, { merchantsDir: merchant.dir, ...options })

const bytesOf = ({ path, headers, rawBody }: SignedCallback) =>
  Buffer.concat([Buffer.from(head(path, { ...headers, 'content-length': rawBody.length })), rawBody])

describe('answers, byte for byte', () => {
  test('success', () =>
    withGateway(async ({ gateway, orders }) => {
      const answers = [
        await post(gateway.port, merchant.wechatpay('T1')),
        await post(gateway.port, merchant.alipay('T2')),
        await post(gateway.port, merchant.worker('T3')),
        await post(gateway.port, merchant.combined(['A', 'B'])),
      ]
      expect(answers.map(({ status, headers, body }) => [status, headers['content-type'], body.toString()])).toEqual([
        [200, 'application/json', WECHATPAY_SUCCESS],
        [200, 'text/plain', 'success'],
        [200, 'application/json', '{"accepted":true}'],
        [200, 'application/json', WECHATPAY_SUCCESS],
      ])
      expect(orders()).toEqual(['T1', 'T2', 'T3', 'A', 'B'])
      for (const { headers } of answers)
        expect(Object.keys(headers).sort()).toEqual(['connection', 'content-length', 'content-type', 'date'])
    }))

  test('failure while Kafka or the registry has not been reached: the sender’s own form, not ready, nothing promised', () =>
    withGateway(
      async ({ gateway }) => {
        const answers = [
          await post(gateway.port, merchant.wechatpay('T1')),
          await post(gateway.port, merchant.alipay('T2')),
          await post(gateway.port, merchant.worker('T3')),
        ]
        expect(answers.map(({ status, body }) => [status, body.toString()])).toEqual([
          [503, WECHATPAY_FAIL],
          [503, 'fail'],
          [503, '{"accepted":false}'],
        ])
        const readyz = await fetch(`http://127.0.0.1:${gateway.metricsPort}/readyz`)
        expect([readyz.status, await readyz.text()]).toEqual([
          503,
          'Kafka or the schema registry has not been reached yet\n',
        ])
        expect((await fetch(`http://127.0.0.1:${gateway.metricsPort}/healthz`)).status).toBe(200)
      },
      { connected: false },
    ))

  test('unknown provider, unknown merchant, unknown path and other methods get the same bytes', () =>
    withGateway(async ({ gateway }) => {
      const callback = merchant.wechatpay('T1')
      const paths = [
        ...['/callbacks/paypal/shop1', '/callbacks/constructor/shop1', '/callbacks/wechatpay/shop2'],
        ...['/callbacks/wechatpay/__proto__', '/callbacks/wechatpay/%zz', '/CALLBACKS/wechatpay/shop1'],
        ...['/callbacks/wechatpay/shop1/', '/callbacks/wechatpay', '//callbacks/wechatpay/shop1', '/'],
      ]
      const answers = await Promise.all(paths.map((path) => post(gateway.port, { ...callback, path })))
      for (const method of ['GET', 'PUT', 'TRACE', 'DELETE'])
        answers.push(await post(gateway.port, { ...callback, rawBody: Buffer.alloc(0), headers: {} }, { method }))
      for (const { status, headers, body } of answers)
        expect([status, headers['content-type'], body.toString()]).toEqual([404, 'text/plain', 'not found\n'])
      expect(
        await metric(gateway, 'paidonce_gateway_refusals_total{provider="unknown",reason="unknown_provider"}'),
      ).toBe(2)
    }))
})

test('requests reach Express with its prototypes already', async () => {
  const app = express()
  const server = createLeanServer(app, {})
  const { request, response } = app
  let same: boolean | undefined
  server.prependListener('request', (req, res) => {
    same = Object.getPrototypeOf(req) === request && Object.getPrototypeOf(res) === response
  })
  app.get('/', (req, res) => void res.send(String(req.get('host') !== undefined)))
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as { port: number }
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('true')
  expect(same).toBe(true)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

describe('hostile requests', () => {
  test('a body above 64 KiB is refused in the sender’s form, announced or not, and the connection lives on', () =>
    withGateway(async ({ gateway, orders }) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const large = merchant.signWechatpay(Buffer.alloc(65_537, 'x'))
      const announced = await post(gateway.port, large, { agent })
      expect([announced.status, announced.body.toString()]).toEqual([413, WECHATPAY_FAIL])
      expect((await post(gateway.port, merchant.wechatpay('T1'), { agent })).status).toBe(200)
      agent.destroy()

      const chunked = await rawConnection(gateway.port)
      chunked.write(head(large.path, { ...large.headers, 'transfer-encoding': 'chunked' }))
      for (let i = 0; i < 5; i++) chunked.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`)
      await until('it is refused', () => chunked.received().includes('413'))
      expect(chunked.received()).toContain('"FAIL"')
      chunked.write(`0\r\n\r\n`)
      chunked.write(bytesOf(merchant.wechatpay('T2')))
      await until('the next is accepted', () => chunked.received().includes('SUCCESS'))
      chunked.socket.destroy()
      expect(orders()).toEqual(['T1', 'T2'])
      const largest = await post(gateway.port, merchant.signWechatpay(Buffer.alloc(65_536, 'x')))
      expect(largest.status).toBe(400)
    }))

  test('a sender that never stops is cut off', () =>
    withGateway(async ({ gateway }) => {
      const { path, headers } = merchant.wechatpay('T1')
      const endless = await rawConnection(gateway.port)
      endless.write(head(path, { ...headers, 'content-length': 1e12 }))
      const chunk = Buffer.alloc(65_536)
      const flood = () => {
        if (!endless.socket.destroyed) endless.socket.write(chunk, () => setImmediate(flood))
      }
      const startedMs = performance.now()
      flood()
      expect(await endless.closed).toContain('413')
      expect(performance.now() - startedMs).toBeLessThan(2_000) // Not the server's time limit.
    }))

  test('a body in chunks of one byte is refused in the sender’s form at once', () =>
    withGateway(async ({ gateway }) => {
      const { path, headers } = merchant.wechatpay('T1')
      const endless = await rawConnection(gateway.port)
      endless.write(head(path, { ...headers, 'transfer-encoding': 'chunked' }))
      endless.write('1\r\na\r\n'.repeat(64_000))
      const startedMs = performance.now()
      expect(await endless.closed).toMatch(/^HTTP\/1.1 400[^]*"FAIL"/)
      expect(performance.now() - startedMs).toBeLessThan(2_000) // Not the server's time limit.
    }))

  test('a sender that asks on and on and never reads is cut off', () =>
    withGateway(async ({ gateway }) => {
      const deaf = await rawConnection(gateway.port)
      deaf.socket.pause()
      await until('it is cut off', () => {
        if (deaf.socket.writableLength < 100_000) deaf.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1_000))
        return deaf.socket.destroyed
      })
    }))

  test('what the parser refuses is a plain 4xx, is counted, and ends its connection', () =>
    withGateway(async ({ gateway }) => {
      const { path } = merchant.wechatpay('T1')
      const start = `POST ${path} HTTP/1.1\r\nhost: x\r\n`
      const cases: [string, string][] = [
        [`${start}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, 'HTTP/1.1 400'],
        [`${start}content-length: 5\r\ncontent-length: 6\r\n\r\n`, 'HTTP/1.1 400'],
        [`${start}x: a\r\n b\r\n\r\n`, 'HTTP/1.1 400'],
        [`${start}x: a\0b\r\n\r\n`, 'HTTP/1.1 400'],
        [`${start}x: ${'a'.repeat(9_000)}\r\n\r\n`, 'HTTP/1.1 431'],
        [`POST ${path} HTTP/1.1\r\n\r\n`, 'HTTP/1.1 400'],
        ['\x16\x03\x01\x02\x00', 'HTTP/1.1 400'],
      ]
      for (const [bytes, status] of cases) {
        const connection = await rawConnection(gateway.port)
        connection.write(bytes)
        expect((await connection.closed).slice(0, status.length)).toBe(status)
      }
      const broken = (reason: string) => metric(gateway, `paidonce_gateway_broken_requests_total{reason="${reason}"}`)
      expect(await broken('headers_too_large')).toBe(1)
      expect(await broken('bad_request')).toBeGreaterThanOrEqual(5)
      expect((await post(gateway.port, merchant.wechatpay('T1'))).status).toBe(200)
    }))

  test('too many header lines, a compressed body, a repeated signature: refused, nothing published', () =>
    withGateway(async ({ gateway, published }) => {
      const callback = merchant.wechatpay('T1')
      const many = Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`x-${i}`, '1']))
      const signature = callback.headers['wechatpay-signature'] ?? ''
      const [tooMany, ...answers] = await Promise.all([
        post(gateway.port, { ...callback, headers: { ...callback.headers, ...many } }),
        post(gateway.port, { ...callback, headers: { ...callback.headers, 'content-encoding': 'gzip' } }),
        post(gateway.port, {
          ...callback,
          headers: { ...callback.headers, 'wechatpay-signature': [signature, signature] },
        }),
      ])
      // Node may end a request with too many lines before it is one.
      expect([400, 431]).toContain(tooMany.status)
      expect(answers.map(({ status, body }) => [status, body.toString()])).toEqual([
        [400, WECHATPAY_FAIL],
        [400, WECHATPAY_FAIL],
      ])
      expect(published).toEqual([])
      const refused = (reason: string) =>
        metric(gateway, `paidonce_gateway_refusals_total{provider="wechatpay",reason="${reason}"}`)
      expect(await refused('malformed')).toBe(tooMany.status === 400 ? 2 : 1)
      expect(await refused('repeated_header')).toBe(1)
    }))

  test('invalid UTF-8 is refused where UTF-8 is the rule; GBK is taken where the sender signed and said so', () =>
    withGateway(async ({ gateway, published }) => {
      const broken = Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])
      expect((await post(gateway.port, merchant.signWechatpay(broken))).status).toBe(400)
      const subject = Buffer.from([0xb2, 0xe2, 0xca, 0xd4])
      const gbk = await post(gateway.port, merchant.alipay('T-GBK', { charset: 'gbk', subject }))
      expect(gbk.body.toString()).toBe('success')
      expect(published).toHaveLength(1)
      expect(published[0]?.outTradeNo).toBe('T-GBK')
    }))

  test('a flipped bit anywhere in the body is refused', () =>
    withGateway(async ({ gateway, published }) => {
      const callback = merchant.wechatpay('T1')
      for (let at = 0; at < callback.rawBody.length; at += 37) {
        const rawBody = Buffer.from(callback.rawBody)
        rawBody[at] = (rawBody[at] ?? 0) ^ 1
        expect((await post(gateway.port, { ...callback, rawBody })).status).toBe(401)
      }
      expect(published).toEqual([])
    }))
})

describe('time and room', () => {
  test.concurrent('slow headers and slow bodies end in time, while others are served', () =>
    withGateway(async ({ gateway }) => {
      const callback = merchant.wechatpay('T1')
      const startedMs = performance.now()
      const drip = async (first: string) => {
        const connection = await rawConnection(gateway.port)
        connection.write(first)
        const timer = setInterval(() => connection.write('a'), 100)
        const received = await connection.closed
        clearInterval(timer)
        return { received, ms: performance.now() - startedMs }
      }
      const slow = Promise.all([
        drip(`POST ${callback.path} HTTP/1.1\r\nhost: x\r\nx: `),
        drip(head(callback.path, { ...callback.headers, 'content-length': 1_000 })),
        drip(''),
        ...Array.from({ length: 50 }, () => drip(head(callback.path, { 'content-length': 1_000 }))),
      ])
      for (let i = 0; i < 20; i++) expect((await post(gateway.port, merchant.wechatpay(`H${i}`))).status).toBe(200)
      const [headers, body] = await slow
      expect(headers.received).toContain('HTTP/1.1 408')
      expect(headers.ms).toBeLessThan(3_500)
      expect(body.received).toContain('HTTP/1.1 408')
      expect(body.ms).toBeLessThan(4_500)
      const incomplete = 'paidonce_gateway_refusals_total{provider="wechatpay",reason="incomplete_body"}'
      await until('they are counted', async () => (await metric(gateway, incomplete)) === 51)
    }),
  )

  test.concurrent('without an acknowledgement the failure form comes within 4 s, and a late one changes nothing', () =>
    withGateway(
      async ({ gateway }) => {
        const startedMs = performance.now()
        const answer = await post(gateway.port, merchant.wechatpay('T1'))
        expect([answer.status, answer.body.toString()]).toEqual([503, WECHATPAY_FAIL])
        const tookMs = performance.now() - startedMs
        expect(tookMs).toBeGreaterThan(3_900)
        expect(tookMs).toBeLessThan(4_500)
      },
      { ack: () => new Promise((resolve) => setTimeout(() => resolve(ACKED), 4_100)) },
    ),
  )

  test('an acknowledgement that is met after the deadline, as after a stall, is no success any more', () => {
    let aheadMs = 0
    const clock: Clock = { now: systemClock.now, elapsedMs: () => systemClock.elapsedMs() + aheadMs }
    return withGateway(
      async ({ gateway, published }) => {
        const answer = await post(gateway.port, merchant.wechatpay('T1'))
        expect([answer.status, answer.body.toString()]).toEqual([503, WECHATPAY_FAIL])
        expect(published).toHaveLength(1)
        expect(await metric(gateway, 'paidonce_gateway_callbacks_total{provider="wechatpay",outcome="accepted"}')).toBe(
          0,
        )
      },
      {
        clock,
        // Time has passed, and no timer has had its turn.
        ack: () => {
          aheadMs = 4_000
          return Promise.resolve(ACKED)
        },
      },
    )
  })

  test('more than the in-flight limit is refused as overload at once; the others are accepted', () => {
    const acks: ((published: Published) => void)[] = []
    return withGateway(
      async ({ gateway }) => {
        const held = [post(gateway.port, merchant.wechatpay('T1')), post(gateway.port, merchant.wechatpay('T2'))]
        await until('two are in flight', () => acks.length === 2)
        const over = await post(gateway.port, merchant.wechatpay('T3'))
        expect([over.status, over.body.toString()]).toEqual([503, WECHATPAY_FAIL])
        expect(await metric(gateway, 'paidonce_gateway_in_flight_requests')).toBe(2)
        // Before its body is there, as that would need room.
        const { path, headers } = merchant.wechatpay('T4')
        const begun = await rawConnection(gateway.port)
        begun.write(head(path, { ...headers, 'content-length': 1_000 }))
        await until('it is refused', () => begun.received().startsWith('HTTP/1.1 503'))
        begun.socket.destroy()
        expect(await metric(gateway, 'paidonce_gateway_refusals_total{provider="wechatpay",reason="overloaded"}')).toBe(
          2,
        )
        for (const ack of acks) ack(ACKED)
        expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
        expect(await metric(gateway, 'paidonce_gateway_in_flight_requests')).toBe(0)
      },
      { env: { IN_FLIGHT_MAX: '2' }, ack: () => new Promise((resolve) => acks.push(resolve)) },
    )
  })

  test('one route does not take all of it: another still has its room', () =>
    withGateway(
      async ({ gateway, orders }) => {
        let refused = 0
        const count = ({ status }: { status: number }) => (refused += status === 503 ? 1 : 0)
        const flood = Array.from({ length: 20 }, (_, i) => post(gateway.port, merchant.alipay(`A${i}`)).then(count))
        await until('what is too much is refused', () => refused === 12)
        expect(orders()).toHaveLength(8)
        const other = post(gateway.port, merchant.wechatpay('T1'))
        await until('the other is being published', () => orders().includes('T1'))
        expect((await other).status).toBe(503)
        await Promise.all(flood)
      },
      // Nobody acknowledges, so that each is in flight until its time is up.
      { env: { IN_FLIGHT_MAX: '10' }, ack: () => new Promise(() => undefined) },
    ))

  test('nor do bodies that were begun before the limit was reached get past it', () =>
    withGateway(
      async ({ gateway, orders }) => {
        const begun = await Promise.all(
          ['T1', 'T2', 'T3'].map(async (order) => {
            const bytes = bytesOf(merchant.alipay(order))
            const connection = await rawConnection(gateway.port)
            connection.write(bytes.subarray(0, -1))
            return { ...connection, end: () => connection.write(bytes.subarray(-1)) }
          }),
        )
        await post(gateway.port, { ...merchant.alipay('T0'), headers: { 'content-encoding': 'br' } })
        for (const { end } of begun) end()
        await until('one is refused', () => begun.some(({ received }) => received().endsWith('fail')))
        expect(begun.filter(({ received }) => received().includes('503'))).toHaveLength(1)
        expect(orders()).toHaveLength(2)
        for (const { socket } of begun) socket.destroy()
      },
      { env: { IN_FLIGHT_MAX: '2' }, ack: () => new Promise(() => undefined) },
    ))

  test('as connections get scarce each answer ends its own', () =>
    withGateway(
      async ({ gateway }) => {
        const idle = await Promise.all(Array.from({ length: 9 }, () => rawConnection(gateway.port)))
        const crowded = await rawConnection(gateway.port)
        crowded.write(bytesOf(merchant.wechatpay('T1')))
        expect(await crowded.closed).toMatch(/^HTTP\/1.1 200 OK[^]*connection: close/i)
        for (const { socket } of idle) socket.destroy()
        await until('there is room', async () => {
          const agent = new Agent({ keepAlive: true })
          const { headers } = await post(gateway.port, merchant.wechatpay('T2'), { agent })
          agent.destroy()
          return headers['connection'] === 'keep-alive'
        })
      },
      { env: { CONNECTIONS_MAX: '10' } },
    ))
})

describe('closed sockets', () => {
  test('closed in the middle of the body: nothing is published, nothing crashes', () =>
    withGateway(async ({ gateway, published }) => {
      const callback = merchant.wechatpay('T1')
      const bytes = bytesOf(callback)
      for (const cut of [20, bytes.length - callback.rawBody.length, bytes.length - 1]) {
        const connection = await rawConnection(gateway.port)
        connection.socket.write(bytes.subarray(0, cut), () => connection.socket.resetAndDestroy())
        await connection.closed
      }
      const incomplete = 'paidonce_gateway_refusals_total{provider="wechatpay",reason="incomplete_body"}'
      await until('two got as far as the body', async () => (await metric(gateway, incomplete)) === 2)
      expect((await post(gateway.port, merchant.wechatpay('T2'))).status).toBe(200)
      expect(published.map(({ outTradeNo }) => outTradeNo)).toEqual(['T2'])
    }))

  test('closed after the body: it is published all the same, and nothing crashes', () => {
    const acks: ((published: Published) => void)[] = []
    return withGateway(
      async ({ gateway, orders }) => {
        const gone = await rawConnection(gateway.port)
        gone.write(bytesOf(merchant.wechatpay('T1')))
        await until('it is being published', () => acks.length === 1)
        gone.socket.resetAndDestroy()
        await gone.closed
        acks[0]?.(ACKED)
        const unheard = 'paidonce_gateway_unheard_answers_total{provider="wechatpay",outcome="accepted"}'
        await until('the answer found nobody', async () => (await metric(gateway, unheard)) === 1)
        const next = post(gateway.port, merchant.wechatpay('T2'))
        await until('the next is being published', () => acks.length === 2)
        acks[1]?.(ACKED)
        expect((await next).status).toBe(200)
        expect(orders()).toEqual(['T1', 'T2'])
      },
      { ack: () => new Promise((resolve) => acks.push(resolve)) },
    )
  })

  test('half-closed by a sender that still listens: it gets its answer', () =>
    withGateway(async ({ gateway }) => {
      const connection = await rawConnection(gateway.port)
      connection.socket.end(bytesOf(merchant.alipay('T1')))
      expect(await connection.closed).toMatch(/\r\n\r\nsuccess$/)
    }))
})

test('stopping: what is in flight gets its true answer, its connection ends, and nothing new is accepted', () => {
  const acks: ((published: Published) => void)[] = []
  return withGateway(
    async ({ gateway }) => {
      const agent = new Agent({ keepAlive: true })
      const inFlight = post(gateway.port, merchant.wechatpay('T1'), { agent })
      await until('one is in flight', () => acks.length === 1)
      const stopped = gateway.stop()
      await until('nothing new is accepted', () =>
        post(gateway.port, merchant.wechatpay('T2')).then(
          () => false,
          (error: unknown) => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED',
        ),
      )
      acks[0]?.(ACKED)
      const answer = await inFlight
      expect([answer.status, answer.headers['connection']]).toEqual([200, 'close'])
      await stopped
      agent.destroy()
    },
    { ack: () => new Promise((resolve) => acks.push(resolve)) },
  )
})
