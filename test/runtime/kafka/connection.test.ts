import { createServer, type AddressInfo } from 'node:net'
import type { ISocketFactory } from 'kafkajs'
import { expect, test } from 'vitest'
import { kafkaFor, kafkaSettings, socketFactory } from '../../../src/runtime/kafka/connection.ts'
import { BadConfiguration } from '../../../src/runtime/config.ts'
import { createLog } from '../../../src/runtime/log.ts'

const base = { KAFKA_BROKERS: ['b:9092'], KAFKA_SSL: false }

test('without SASL', () => {
  expect(kafkaSettings(base)).toEqual({ brokers: ['b:9092'], ssl: false })
})

test('with SASL over TLS', () => {
  const sasl = { KAFKA_SASL_MECHANISM: 'scram-sha-512', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p' } as const
  expect(kafkaSettings({ ...base, ...sasl, KAFKA_SSL: true })).toEqual({
    brokers: ['b:9092'],
    ssl: true,
    sasl: { mechanism: 'scram-sha-512', username: 'u', password: 'p' },
  })
})

test('half of SASL is refused and the missing half named, without the password', () => {
  const half = { ...base, KAFKA_SASL_PASSWORD: 'hunter2' }
  expect(() => kafkaSettings(half)).toThrow(BadConfiguration)
  expect(() => kafkaSettings(half)).toThrow('KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME must be set too')
  expect(() => kafkaSettings(half)).not.toThrow('hunter2')
})

test('a broker at an IPv6 address is reached there', async () => {
  const asked = new Promise<string | undefined>((resolve) => {
    const server = createServer((socket) => {
      resolve(socket.localAddress)
      socket.destroy()
      server.close()
    })
    server.listen(0, '::1', () => {
      const settings = { brokers: [`[::1]:${(server.address() as AddressInfo).port}`], ssl: false }
      const admin = kafkaFor(settings, 'test', createLog('test', 'silent'), { retries: 0 }).admin()
      admin.connect().catch(() => undefined)
    })
  })
  expect(await asked).toBe('::1')
})

test('a closed socket gathers no listeners, however often kafkajs lets go of it', async () => {
  const server = createServer((accepted) => accepted.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const asked = { host: '127.0.0.1', port, ssl: null } as unknown as Parameters<ISocketFactory>[0]
  const socket = socketFactory({ ...asked, onConnect: () => undefined })
  await new Promise((resolve) => socket.resume().once('close', resolve))
  for (let disconnects = 0; disconnects < 11; disconnects++) socket.unref()
  expect(socket.listenerCount('connect')).toBe(0)
  server.close()
})
