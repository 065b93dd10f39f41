import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { Guard } from '../../../../src/runtime/kafka/guards/internals.ts'
import { guardSilentBroker } from '../../../../src/runtime/kafka/guards/silent-broker.ts'
import { apartKafkajs, quietLogger } from '../../../helpers/stock-kafkajs.ts'

/** Accepts connections and never answers, as the kernel does for a frozen process. */
async function silentServer() {
  const sockets: Socket[] = []
  const server = createServer((socket) => sockets.push(socket.on('error', () => undefined)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => sockets.length }
}

async function triedBrokers(...guards: Guard[]) {
  const { kafkajs } = apartKafkajs(...guards)
  const [first, second] = [await silentServer(), await silentServer()]
  const admin = new kafkajs.Kafka({
    brokers: [first.address, second.address],
    connectionTimeout: 100,
    requestTimeout: 100,
    retry: { initialRetryTime: 1, maxRetryTime: 1, retries: 3 },
    logLevel: kafkajs.logLevel.NOTHING,
  }).admin()
  // Stock kafkajs even calls itself connected in the end: its second attempt finds the socket open.
  await admin.connect().catch(() => undefined)
  return second.connections() > 0 ? 'both' : 'the first'
}

test('when the first broker is silent the next is tried; stock kafkajs asks the first for ever', async () => {
  expect(await triedBrokers()).toBe('the first')
  expect(await triedBrokers(guardSilentBroker)).toBe('both')
})

interface Connection {
  connect: () => Promise<boolean>
  isConnected: () => boolean
  send: (request: object) => Promise<unknown>
}

async function isKeptAfterTimeout(...guards: Guard[]): Promise<boolean> {
  const apart = apartKafkajs(...guards)
  const Connection = apart.load('src/network/connection.js') as new (options: object) => Connection
  const { address } = await silentServer()
  const [host, port] = address.split(':')
  const connection = new Connection({
    ...{ host, port: Number(port), logger: quietLogger },
    socketFactory: (apart.load('src/network/socketFactory.js') as () => unknown)(),
    ...{ connectionTimeout: 1_000, requestTimeout: 100 },
  })
  await connection.connect()
  const encode = () => Promise.resolve({ buf: Buffer.alloc(4), buffer: Buffer.alloc(4) })
  const request = { request: { apiKey: 18, apiName: 'ApiVersions', apiVersion: 0, encode }, response: {} }
  const [timedOut, waiting] = await Promise.allSettled([connection.send(request), connection.send(request)])
  expect([timedOut.status, waiting.status]).toEqual(['rejected', 'rejected'])
  return connection.isConnected()
}

test('a request that times out ends its connection; stock kafkajs sends the next one into the same silence', async () => {
  expect(await isKeptAfterTimeout()).toBe(true)
  expect(await isKeptAfterTimeout(guardSilentBroker)).toBe(false)
})
