import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { createSender, type Sender, type SenderOptions } from '../../src/simulator/send.ts'
import { until } from '../helpers/until.ts'

let server: Server
let arrived: { readonly body: string; readonly chunks: number; readonly answer: ServerResponse }[] = []
let vanished = 0
beforeEach(async () => {
  arrived = []
  vanished = 0
  server = createServer({ connectionsCheckingInterval: 100 }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () =>
      arrived.push({ body: Buffer.concat(chunks).toString(), chunks: chunks.length, answer: response }),
    )
    request.on('error', () => vanished++)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => server.close().closeAllConnections())

const withSender = async (options: Partial<SenderOptions>, work: (sender: Sender) => Promise<void>) => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sender = createSender({
    ...{ gateways: [url], inFlightMax: 4, answerMsMax: 5_000, byteMs: 0.1, clock: systemClock },
    ...options,
  })
  await work(sender).finally(() => sender.close())
}
const signed = (body: string) => () => ({ path: '/callbacks/alipay/shop', headers: {}, rawBody: Buffer.from(body) })
const accept = (answer: ServerResponse | undefined) =>
  answer?.writeHead(200, { 'content-type': 'text/plain' }).end('success')

test('what waits for room is signed when there is room, and not before', () =>
  withSender({ inFlightMax: 1 }, async (sender) => {
    const signatures: string[] = []
    const sign = (name: string) => () => {
      signatures.push(name)
      return signed(name)()
    }
    const sent = [sender.burst('alipay', sign('first'), 1), sender.burst('alipay', sign('second'), 1)]
    await until('the first has come', () => arrived.length === 1)
    expect(signatures).toEqual(['first'])
    accept(arrived[0]?.answer)
    await until('the second has come', () => arrived.length === 2)
    expect(signatures).toEqual(['first', 'second'])
    accept(arrived[1]?.answer)
    expect((await Promise.all(sent)).flat().map(({ heard }) => heard)).toEqual(['success', 'success'])
  }))

test('a slow sender writes its body bit by bit, and all of it', () =>
  withSender({}, async (sender) => {
    const body = 'x'.repeat(500)
    const sent = sender.burst('alipay', signed(body), 1, 'slow')
    const [first] = await until('it has come', () => (arrived.length > 0 ? arrived : undefined))
    expect(first?.body).toBe(body)
    expect(first?.chunks).toBeGreaterThan(5)
    accept(first?.answer)
    expect(await sent).toMatchObject([{ status: 200, heard: 'success' }])
  }))

test('a slow sender stops when nobody listens any more', () =>
  withSender({ byteMs: 1_000, answerMsMax: 100 }, async (sender) => {
    expect(await sender.burst('alipay', signed('never'), 1, 'slow')).toMatchObject([{ heard: 'no_answer' }])
    await until('the connection has ended', () => vanished === 1)
  }))

test('a sender that vanishes has sent half of its body, and hears nothing', () =>
  withSender({}, async (sender) => {
    expect(await sender.burst('alipay', signed('half of it'), 1, 'cut_off')).toMatchObject([
      { status: null, heard: 'no_answer' },
    ])
    await until('it is gone', () => vanished === 1)
    expect(arrived).toEqual([])
  }))

test('a head that never ends is ended by a server that looks at the time, and heard as a refusal', async () => {
  server.headersTimeout = 300
  server.requestTimeout = 400
  await withSender({}, async (sender) => {
    const [heard] = await sender.burst('alipay', signed('never'), 1, 'slow_head')
    expect(heard).toMatchObject({ status: 408, heard: 'failure' })
    expect(heard?.latencyMs).toBeLessThan(4_000)
  })
  expect(arrived).toEqual([])
})

test('a server that does not look is left when the sender has had enough', () =>
  withSender({ answerMsMax: 700 }, async (sender) => {
    expect(await sender.burst('alipay', signed('never'), 1, 'slow_head')).toMatchObject([
      { status: null, heard: 'no_answer' },
    ])
  }))
