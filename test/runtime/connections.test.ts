import { Agent, createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { createConnections, type Connections } from '../../src/runtime/connections.ts'
import { post, rawConnection } from '../helpers/http.ts'
import { until } from '../helpers/until.ts'

const agents: Agent[] = []
const servers: Server[] = []
afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy()
  for (const server of servers.splice(0)) server.closeAllConnections()
})

/** A server whose answers end their connection as `Connections` says. */
async function serve(work: (n: number) => Promise<unknown>, headersTimeout = 1_000) {
  const connections: Connections = createConnections(1_000)
  let requests = 0
  const answer: RequestListener = (_request, response) => {
    void work(++requests).then(() =>
      response.writeHead(200, connections.mayKeepAlive() ? {} : { connection: 'close' }).end('true'),
    )
  }
  const server = createServer({ headersTimeout, connectionsCheckingInterval: 100, keepAliveTimeout: 60_000 })
  server.on('request', answer)
  servers.push(server)
  connections.countOn(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => requests,
    drain: (graceMs: number) => connections.drain(server, graceMs),
  }
}
const keepAlive = () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  agents.push(agent)
  return agent
}
const REQUEST = { path: '/', headers: {}, rawBody: Buffer.from('x') }
/** `connect`: no connection was made, so no request was sent. A request that is reset says `read` or `write`. */
const failedAt = (error: unknown) => (error as NodeJS.ErrnoException).syscall ?? String(error)

test('no request on a kept connection is lost: each is answered, until nothing new is accepted', async () => {
  // Where this process had no turn for a second, what it accepted and did not read is no slow sender's.
  const server = await serve(() => sleep(Math.random() * 3), 60_000)
  const ends: string[] = []
  const answered = new Set<Agent>()
  const sender = async (agent: Agent) => {
    for (;;) {
      try {
        await post(server.port, REQUEST, { agent })
        answered.add(agent)
      } catch (error) {
        return ends.push(failedAt(error))
      }
      await sleep(Math.random() * 20)
    }
  }
  const senders = Array.from({ length: 64 }, () => sender(keepAlive()))
  await until('load runs', () => server.requests() > 500 && answered.size === 64)
  await server.drain(10_000)
  await Promise.all(senders)
  expect(ends).toEqual(Array.from({ length: 64 }, () => 'connect'))
})

test('what is in flight gets its answer, which ends the connection', async () => {
  const { promise, resolve: answer } = Promise.withResolvers<undefined>()
  const server = await serve(() => promise)
  const inFlight = post(server.port, REQUEST, { agent: keepAlive() })
  await until('it is in flight', () => server.requests() === 1)
  const drained = server.drain(10_000)
  answer(undefined)
  const { body, headers } = await inFlight
  expect([body.toString(), headers.connection]).toEqual(['true', 'close'])
  await drained
})

test('an idle connection, and one that never asked for anything, hold nothing up', async () => {
  const server = await serve(() => Promise.resolve())
  const [agent, silent] = [keepAlive(), await rawConnection(server.port)]
  await post(server.port, REQUEST, { agent })
  const startedMs = performance.now()
  await server.drain(30_000)
  expect(performance.now() - startedMs).toBeLessThan(5_000)
  expect(await silent.closed).toContain('408')
})

test('what is never answered is cut off when the time is up', async () => {
  const server = await serve(() => new Promise(() => undefined))
  const inFlight = post(server.port, REQUEST, { agent: keepAlive() }).catch(failedAt)
  await until('it is in flight', () => server.requests() === 1)
  await server.drain(100)
  expect(await inFlight).toBe('Error: socket hang up')
})
