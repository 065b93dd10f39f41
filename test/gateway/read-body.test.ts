import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createBodyReader, type Body, type BodyLimits } from '../../src/gateway/read-body.ts'
import { head, post, rawConnection } from '../helpers/http.ts'
import { until } from '../helpers/until.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

/** A server that reads bodies within limits, answers with what became of each, and keeps that. */
async function serve(limits: Partial<BodyLimits> = {}) {
  const read = createBodyReader({ bytesMax: 65_536, unfinishedMax: 100, unfinishedBytesMax: 1e6, ...limits })
  const bodies: Body[] = []
  const server = createServer((request, response) => {
    read(request, (body) => {
      bodies.push(body)
      if (!response.destroyed) response.end(body.kind)
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const begin = async (headers: Record<string, string | number>, first: string | Buffer) => {
    const connection = await rawConnection(port)
    connection.socket.setNoDelay(true)
    connection.write(head('/', headers))
    connection.write(first)
    return connection
  }
  return { port, bodies, begin }
}
const kinds = (bodies: readonly Body[]) => bodies.map(({ kind }) => kind)
const piece = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
const random = (bytes: number) => Buffer.from(Array.from({ length: bytes }, (_, i) => (i * 131 + (i >> 8)) & 255))

test.each([1, 2, 5, 64, 255])('a body in %i pieces is put together as it was, announced or chunked', async (pieces) => {
  const { bodies, begin } = await serve()
  const bytes = random(65_536 - pieces)
  const size = Math.ceil(bytes.length / pieces)
  const cut = Array.from({ length: pieces }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
  const chunked = await begin(
    { 'transfer-encoding': 'chunked' },
    Buffer.concat([...cut.map(piece), Buffer.from('0\r\n\r\n')]),
  )
  await until('it is read', () => bodies.length === 1)
  const announced = await begin({ 'content-length': bytes.length }, cut[0] ?? '')
  for (const next of cut.slice(1)) await new Promise((resolve) => announced.socket.write(next, resolve))
  await until('that too', () => bodies.length === 2)
  for (const body of bodies) expect(body.kind === 'complete' && body.bytes.equals(bytes)).toBe(true)
  for (const { socket } of [chunked, announced]) socket.destroy()
})

test('pieces hold on to nothing but their bytes, however small they are', async () => {
  const { port, bodies, begin } = await serve({ unfinishedBytesMax: 20 * 2_048 })
  const connections = []
  for (let i = 0; i < 20; i++)
    connections.push(await begin({ 'transfer-encoding': 'chunked' }, '1\r\na\r\n'.repeat(200)))
  // The room is for the least that each takes; did they take more, some would be crowded out.
  await post(port, { path: '/', headers: {}, rawBody: Buffer.alloc(10) })
  expect(kinds(bodies)).toEqual(['complete'])
  for (const { socket } of connections) socket.destroy()
  await until('they ended', () => bodies.length === 21)
})

test('64,000 chunks of one byte are refused after 256, and what goes on is cut off', async () => {
  const { bodies, begin } = await serve()
  const flood = await begin({ 'transfer-encoding': 'chunked' }, '1\r\na\r\n'.repeat(64_000))
  expect(await flood.closed).toContain('too_many_pieces')
  expect(kinds(bodies)).toEqual(['too_many_pieces'])
})

test('one that ends soon after is answered, and its connection lives on', async () => {
  const { bodies, begin } = await serve()
  const sender = await begin({ 'transfer-encoding': 'chunked' }, `${'1\r\na\r\n'.repeat(300)}0\r\n\r\n`)
  sender.write(`${head('/', { 'content-length': 1 })}x`)
  await until('both are answered', () => sender.received().endsWith('complete'))
  expect(kinds(bodies)).toEqual(['too_many_pieces', 'complete'])
  sender.socket.destroy()
})

test('what is only announced takes no room', async () => {
  const { bodies, begin } = await serve({ unfinishedBytesMax: 20 * 2_048 })
  const slow = await Promise.all(Array.from({ length: 20 }, () => begin({ 'content-length': 65_536 }, 'x')))
  const next = await begin({ 'content-length': 1 }, 'x')
  await until('the next is read', () => bodies.length === 1)
  expect(kinds(bodies)).toEqual(['complete'])
  for (const { socket } of [...slow, next]) socket.destroy()
})

test.each([
  ['too many', { unfinishedMax: 3 }, 'x'],
  ['too large together', { unfinishedBytesMax: 3 * 4_096 }, 'x'.repeat(4_096)],
])('unfinished bodies that are %s crowd out the oldest; whoever is quick gets through', async (_how, limits, first) => {
  const { port, bodies, begin } = await serve(limits)
  const slow = []
  for (let i = 0; i < 5; i++) {
    slow.push(await begin({ 'transfer-encoding': 'chunked' }, piece(Buffer.from(first))))
    // One request after another, so that their order is known.
    await post(port, { path: '/', headers: {}, rawBody: Buffer.alloc(4_096) })
  }
  expect(kinds(bodies).filter((kind) => kind === 'complete')).toHaveLength(5)
  const isOut = slow.map(({ received }) => received().includes('crowded_out'))
  expect(isOut.slice(0, 2)).toEqual([true, true])
  expect(isOut.slice(-2)).toEqual([false, false])
  for (const { socket } of slow) socket.destroy()
  // And their room is given back.
  await until('all ended', () => bodies.length === 10)
  const again = await begin({ 'transfer-encoding': 'chunked' }, piece(Buffer.from(first)))
  again.write('0\r\n\r\n')
  await until('there is room', () => bodies.at(-1)?.kind === 'complete' && bodies.length === 11)
  again.socket.destroy()
})

test('those that are complete take no room from one that is slow', async () => {
  const { bodies, begin } = await serve({ unfinishedMax: 3, unfinishedBytesMax: 4 * 2_048 })
  const slow = await begin({ 'transfer-encoding': 'chunked' }, piece(Buffer.from('slow')))
  for (let i = 1; i <= 5; i++) {
    const { socket } = await begin({ 'transfer-encoding': 'chunked' }, `${piece(Buffer.from('x')).toString()}0\r\n\r\n`)
    await until('it is read', () => bodies.length === i)
    socket.destroy()
  }
  slow.write('0\r\n\r\n')
  await until('so is the slow one', () => bodies.length === 6)
  expect(bodies.at(-1)).toEqual({ kind: 'complete', bytes: Buffer.from('slow') })
  slow.socket.destroy()
})
