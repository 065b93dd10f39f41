import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startProxy, type Proxy } from '../../chaos/proxy/tcp-proxy.ts'
import { choosePort } from '../../dev/parts/ports.ts'
import { until } from '../helpers/until.ts'

let received: Buffer
let proxy: Proxy
let close: () => Promise<void>

/** A server that says back what it hears. */
beforeEach(async () => {
  received = Buffer.alloc(0)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      socket.write(chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  proxy = await startProxy('test', await choosePort(), (server.address() as AddressInfo).port)
  close = async () => {
    await proxy.close()
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
})
afterEach(() => close())

function client() {
  const socket = connect(proxy.port, '127.0.0.1')
  const state = { socket, heard: '', isClosed: false }
  socket.on('data', (chunk) => (state.heard += chunk.toString('latin1')))
  socket.on('error', () => undefined)
  socket.on('close', () => (state.isClosed = true))
  return state
}
const said = () => received.toString('latin1')
/** A Kafka request: size, api key, and so many bytes more. */
function request(apiKey: number, rest: string): Buffer {
  const head = Buffer.alloc(6)
  head.writeInt32BE(2 + rest.length, 0)
  head.writeInt16BE(apiKey, 4)
  return Buffer.concat([head, Buffer.from(rest)])
}

test('bytes pass, both ways', async () => {
  const one = client()
  one.socket.write('hello')
  await until('the echo', () => one.heard === 'hello')
})

test('cut: connections are reset, new ones refused, until it is over', async () => {
  const one = client()
  one.socket.write('a')
  await until('the echo', () => one.heard === 'a')
  proxy.set({ kind: 'cut' })
  const two = client()
  await until('both are closed', () => one.isClosed && two.isClosed)
  expect(proxy.effects()).toMatchObject({ connectionsReset: 1, connectionsRefused: 1 })
  proxy.set(undefined)
  const three = client()
  three.socket.write('b')
  await until('the echo', () => three.heard === 'b')
})

test('half open: nothing passes, nobody is told; what has lost bytes is reset afterwards', async () => {
  const one = client()
  proxy.set({ kind: 'half_open' })
  one.socket.write('lost')
  await until('it is swallowed', () => proxy.effects().bytesSwallowed === 4)
  expect([said(), one.heard, one.isClosed]).toEqual(['', '', false])
  proxy.set(undefined)
  await until('it is closed', () => one.isClosed)
})

test('delay: late, whole and in order', async () => {
  const one = client()
  proxy.set({ kind: 'delay', ms: 60, jitterMs: 40 })
  const startedMs = performance.now()
  one.socket.setNoDelay(true)
  for (const letter of 'abcdef') one.socket.write(letter)
  await until('the echo', () => one.heard.length === 6)
  expect(one.heard).toBe('abcdef')
  expect(performance.now() - startedMs).toBeGreaterThan(119)
  expect(proxy.effects().chunksDelayed).toBeGreaterThan(1)
})

test('answers dropped: the request is done, its sender hears nothing', async () => {
  const one = client()
  proxy.set({ kind: 'drop_responses' })
  one.socket.write('done')
  await until('it is closed', () => one.isClosed)
  expect([said(), one.heard]).toEqual(['done', ''])
  expect(proxy.effects().responsesDropped).toBe(1)
})

test('a request of one api key is held, with all behind it, and delivered also when its sender has gone', async () => {
  const one = client()
  proxy.set({ kind: 'hold', apiKeys: [26], ms: 150 })
  const [before, held, behind] = [request(0, 'before'), request(26, 'held'), request(0, 'behind')]
  // In pieces that are cut anywhere, also within a head.
  const bytes = Buffer.concat([before, held, behind])
  one.socket.setNoDelay(true)
  one.socket.write(bytes.subarray(0, before.length + 5))
  await until('the first has passed', () => received.length >= before.length)
  one.socket.write(bytes.subarray(before.length + 5))
  await until('it is held', () => proxy.effects().requestsHeld === 1)
  expect(said()).not.toContain('held')
  one.socket.destroy()
  await until('it is delivered', () => received.length === bytes.length)
  expect(received.equals(bytes)).toBe(true)
})
