import { once } from 'node:events'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { createAgents, createQueryHttp } from '../../src/providers/query-http.ts'

const open: { server: Server; sockets: Set<Socket> }[] = []
const agents = createAgents()
afterEach(() => {
  for (const { server, sockets } of open.splice(0)) {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
})

/** Speaks bytes, so that an answer may be anything. `speak` hears each request of each connection. */
async function serve(speak: (socket: Socket, request: string, nth: number) => void) {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createTcpServer((socket) => {
    const nth = ++connections
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      speak(socket, data.toString(), nth)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push({ server, sockets })
  const baseUrl = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`)
  return {
    http: (timeoutMs = 5_000) => createQueryHttp({ baseUrl, timeoutMs, bodyBytesMax: 100, agents }),
    connections: () => connections,
  }
}
const OK = 'HTTP/1.1 200 OK\r\n'
const get = { method: 'GET', path: '/x?a=%2e%2e', headers: { authorization: 'secret' } } as const
const never = new AbortController().signal

test('sends the very path that was signed, and says each header of the answer as it came', async () => {
  const heard: string[] = []
  const { http } = await serve((socket, request) => {
    heard.push(request)
    socket.write(`${OK}X-One: 1\r\nX-Two: a\r\nx-two: b\r\nContent-Length: 2\r\n\r\nhi`)
  })
  const fetched = await http().send({ ...get, path: '/a/../b?q=1' }, never)
  expect(fetched).toMatchObject({ kind: 'response', status: 200, rawBody: Buffer.from('hi') })
  expect(fetched).toMatchObject({ headers: { 'x-one': '1', 'content-length': '2' }, repeatedHeaders: ['x-two'] })
  expect(heard[0]).toMatch(/^GET \/base\/a\/\.\.\/b\?q=1 HTTP\/1\.1\r\n/)
  expect(heard[0]).toMatch(/accept-encoding: identity\r\n/i)
})

test('a body is sent with its length', async () => {
  const heard: string[] = []
  const { http } = await serve((socket, request) => {
    heard.push(request)
    socket.write(`${OK}Content-Length: 0\r\n\r\n`)
  })
  await http().send({ ...get, method: 'POST', body: '订单' }, never)
  expect(heard.join('')).toMatch(/content-length: 6\r\n[\s\S]*\r\n\r\n订单$/i)
})

test.each([301, 302, 303, 307, 308])('a redirect (%i) is not followed: nobody else gets the key', async (status) => {
  const other = await serve((socket) => socket.write(`${OK}Content-Length: 0\r\n\r\n`))
  const { http } = await serve((socket) =>
    socket.write(`HTTP/1.1 ${status} Moved\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n`),
  )
  expect(await http().send(get, never)).toEqual({ kind: 'unusable', reason: 'redirect' })
  expect(other.connections()).toBe(0)
})

test('an answer without an end is not read to its end', async () => {
  const { http } = await serve((socket) => {
    socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n`)
    const more = () => socket.writable && socket.write(`40\r\n${'x'.repeat(64)}\r\n`, more)
    more()
  })
  expect(await http().send(get, never)).toEqual({ kind: 'unusable', reason: 'too_large' })
  const exact = await serve((socket) => socket.write(`${OK}Content-Length: 100\r\n\r\n${'x'.repeat(100)}`))
  expect(await exact.http().send(get, never)).toMatchObject({ kind: 'response' })
})

test('a compressed answer, which nobody asked for, is not unpacked', async () => {
  const packed = gzipSync('{}')
  const { http } = await serve((socket) => {
    socket.write(`${OK}Content-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`)
    socket.write(packed)
  })
  expect(await http().send(get, never)).toEqual({ kind: 'unusable', reason: 'encoded' })
})

test('the deadline covers the last byte, not the first', async () => {
  const { http } = await serve((socket) => socket.write(`${OK}Content-Length: 10\r\n\r\nhalf`))
  expect(await http(200).send(get, never)).toEqual({ kind: 'failed', reason: 'timeout' })
})

test.each([
  ['nothing', ''],
  ['half a head', 'HTTP/1.1 200'],
  ['no HTTP', 'hello\r\n\r\n'],
  ['half a body', `${OK}Content-Length: 10\r\n\r\nhalf`],
  ['half a chunk', `${OK}Transfer-Encoding: chunked\r\n\r\nff\r\nabc`],
])('%s, and then the end, is the network’s fault', async (_what, bytes) => {
  const { http } = await serve((socket) => socket.end(bytes))
  expect(await http().send(get, never)).toEqual({ kind: 'failed', reason: 'network' })
})

test('nobody there is the network’s fault too', async () => {
  const { http } = await serve(() => undefined)
  for (const { server } of open) server.close()
  await Promise.all(open.map(({ server }) => once(server, 'close')))
  expect(await http().send(get, never)).toEqual({ kind: 'failed', reason: 'network' })
})

test('a connection is used again; one that the other side closed meanwhile costs no question', async () => {
  const { http, connections } = await serve((socket, _request, nth) => {
    // The first connection answers twice and ends at its third request, as an idle one does that has just been closed.
    const served = (heardOn.get(socket) ?? 0) + 1
    heardOn.set(socket, served)
    if (nth === 1 && served === 3) socket.destroy()
    else socket.write(`${OK}Content-Length: 2\r\n\r\nhi`)
  })
  const heardOn = new Map<Socket, number>()
  const asking = http()
  for (let n = 0; n < 4; n++) expect(await asking.send(get, never)).toMatchObject({ kind: 'response' })
  expect(connections()).toBe(2)
})
