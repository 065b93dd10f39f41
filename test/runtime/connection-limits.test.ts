import { Agent, createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { CONNECTION_LIMITS, type ConnectionEnd, type ConnectionLimits } from '../../src/runtime/connection-limits.ts'
import { createConnections } from '../../src/runtime/connections.ts'
import { post, rawConnection } from '../helpers/http.ts'
import { until } from '../helpers/until.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

async function serve(limits: Partial<ConnectionLimits>, listener: RequestListener) {
  const server = createServer(listener)
  servers.push(server)
  const ends: ConnectionEnd[] = []
  createConnections(100, (reason) => ends.push(reason), { ...CONNECTION_LIMITS, ...limits }).countOn(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const open = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
  return { port: (server.address() as AddressInfo).port, open, ends }
}
const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'
const REQUEST = { path: '/', headers: {}, rawBody: Buffer.alloc(0) }
const LARGE = Buffer.alloc(1_000_000)

test('a sender that never reads is cut off, and whoever reads is not', async () => {
  const { port, open, ends } = await serve({ unreadMsMax: 200 }, (_request, response) => response.end(LARGE))
  const deaf = await rawConnection(port)
  deaf.socket.pause()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  await post(port, REQUEST, { agent })
  deaf.write(GET.repeat(10))
  await until('it is cut off', async () => {
    await post(port, REQUEST, { agent })
    return (await open()) === 1
  })
  expect(ends).toEqual(['unread'])
  agent.destroy()
  deaf.socket.destroy()
})

test('reading a little now and then does not help', async () => {
  const { port, open } = await serve({ unreadMsMax: 200 }, (_request, response) => response.end(LARGE))
  const slow = await rawConnection(port)
  slow.socket.pause()
  slow.write(GET.repeat(60))
  await until('it is cut off', async () => {
    slow.socket.read(1_000)
    return (await open()) === 0
  })
  slow.socket.destroy()
})

test('a connection that is quiet, and has read all, is left alone', async () => {
  const { port, open } = await serve({ unreadMsMax: 50 }, (_request, response) => response.end('x'))
  const [quiet, deaf] = [await rawConnection(port), await rawConnection(port)]
  quiet.write(GET)
  await until('it is answered', () => quiet.received().endsWith('x'))
  deaf.socket.pause()
  const startedMs = performance.now()
  await until('many looks have been', () => performance.now() - startedMs > 200)
  expect(await open()).toBe(2)
  quiet.write(GET)
  await until('it is answered again', () => quiet.received().match(/200 OK/g)?.length === 2)
  for (const { socket } of [quiet, deaf]) socket.destroy()
})

test('after so many requests the answer ends the connection', async () => {
  const { port, ends } = await serve({ requestsMax: 3 }, (_request, response) => response.end('x'))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const connection = async () => (await post(port, REQUEST, { agent })).headers.connection
  expect([await connection(), await connection(), await connection(), await connection()]).toEqual([
    ...['keep-alive', 'keep-alive', 'close', 'keep-alive'],
  ])
  agent.destroy()
  const raw = await rawConnection(port)
  raw.write(GET.repeat(10))
  expect((await raw.closed).match(/200 OK/g)).toHaveLength(3)
  expect(ends).toEqual(['requests', 'requests'])
})

test('a few requests ahead of their answers are answered in order; a flood of them is cut off', async () => {
  let waiting: (() => void)[] = []
  let n = 0
  const { port, ends } = await serve({ pipelinedMax: 5 }, (_request, response) => {
    const name = `n${++n}.`
    waiting.push(() => response.end(name))
  })
  const answerAll = () => {
    for (const answer of waiting.splice(0).reverse()) answer()
  }
  const few = await rawConnection(port)
  for (let round = 1; round <= 2; round++) {
    few.write(GET.repeat(6))
    await until('all are there', () => waiting.length === 6)
    answerAll()
    await until('all are answered', () => few.received().match(/n\d+\./g)?.length === 6 * round)
  }
  expect(few.received().match(/n\d+\./g)).toEqual(Array.from({ length: 12 }, (_, i) => `n${i + 1}.`))
  few.socket.destroy()
  waiting = []
  const flood = await rawConnection(port)
  flood.write(GET.repeat(9))
  expect(await flood.closed).toBe('')
  expect(ends).toEqual(['pipelined'])
})

test('as room gets scarce an answer ends its connection, and what finds none is counted', async () => {
  const ends: ConnectionEnd[] = []
  const connections = createConnections(2, (reason) => ends.push(reason))
  const server = createServer((_request, response) => {
    response.writeHead(200, connections.mayKeepAlive() ? {} : { connection: 'close' }).end('x')
  })
  servers.push(server)
  connections.countOn(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const [first, second] = [await rawConnection(port), await rawConnection(port)]
  await until('both are there', async () => {
    const third = await rawConnection(port)
    await third.closed
    return ends.includes('full')
  })
  first.write(GET)
  expect(await first.closed).toContain('200 OK')
  expect(ends.filter((reason) => reason !== 'full')).toEqual(['crowded'])
  second.write(GET)
  await until('it is answered, and left open', () => second.received().includes('Connection: keep-alive'))
  expect(ends.filter((reason) => reason !== 'full')).toEqual(['crowded'])
  second.socket.destroy()
})
