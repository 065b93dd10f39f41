import { createServer, type AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { guardSingleConnect } from '../../../../src/runtime/kafka/guards/single-connect.ts'
import type { Guard } from '../../../../src/runtime/kafka/guards/internals.ts'
import { apartKafkajs, quietLogger } from '../../../helpers/stock-kafkajs.ts'

interface Connection {
  connect: () => Promise<boolean>
  disconnect: () => Promise<void>
}
type ConnectionClass = new (options: object) => Connection
type CreateSocketFactory = () => (options: object) => object

async function socketsOfThreeCallers(...guards: Guard[]): Promise<number> {
  const apart = apartKafkajs(...guards)
  const Connection = apart.load('src/network/connection.js') as ConnectionClass
  const create = (apart.load('src/network/socketFactory.js') as CreateSocketFactory)()
  const socketFactory = vi.fn(create)
  const server = createServer((socket) => socket.on('error', () => undefined).resume())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const connection = new Connection({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    logger: quietLogger,
    socketFactory,
    requestTimeout: 1_000,
    connectionTimeout: 1_000,
  })
  await Promise.all([connection.connect(), connection.connect(), connection.connect()])
  await connection.disconnect()
  await connection.connect()
  await connection.disconnect()
  server.close()
  for (const { value } of socketFactory.mock.results) (value as { destroy: () => void }).destroy()
  return socketFactory.mock.calls.length
}

test('callers that meet a closed connection share one socket, and a later one opens another', async () => {
  expect(await socketsOfThreeCallers()).toBe(3 + 1)
  expect(await socketsOfThreeCallers(guardSingleConnect)).toBe(1 + 1)
})
