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

interface ConnectionPool {
  isConnected: () => boolean
  send: (request: object) => Promise<unknown>
}
const FETCH = 1
const JOIN_GROUP = 11
const encode = () => Promise.resolve({ buf: Buffer.alloc(4), buffer: Buffer.alloc(4) })
const request = (apiKey: number, requestTimeout: number | null = null) => ({
  request: { apiKey, apiName: String(apiKey), apiVersion: 0, encode },
  response: {},
  requestTimeout,
})

async function silentPool(...guards: Guard[]): Promise<ConnectionPool> {
  return (await silentBroker(...guards)).pool
}

interface Broker {
  connect: () => Promise<void>
}

/** A broker whose versions are known, as those of every broker are that has once answered. */
async function silentBroker(...guards: Guard[]): Promise<{ pool: ConnectionPool; broker: Broker }> {
  const apart = apartKafkajs(...guards)
  const Pool = apart.load('src/network/connectionPool.js') as new (options: object) => ConnectionPool
  const { address } = await silentServer()
  const [host, port] = address.split(':')
  const pool = new Pool({
    ...{ host, port: Number(port), logger: quietLogger },
    socketFactory: (apart.load('src/network/socketFactory.js') as () => unknown)(),
    ...{ connectionTimeout: 200, requestTimeout: 100 },
  })
  const Broker = apart.load('src/broker/index.js') as new (options: object) => Broker
  const versions = { 36: { minVersion: 0, maxVersion: 1 } }
  return { pool, broker: new Broker({ connectionPool: pool, logger: quietLogger, versions }) }
}

async function isKeptAfterTimeout(...guards: Guard[]): Promise<boolean> {
  const pool = await silentPool(...guards)
  const [timedOut, waiting] = await Promise.allSettled([pool.send(request(18)), pool.send(request(18))])
  expect([timedOut.status, waiting.status]).toEqual(['rejected', 'rejected'])
  return pool.isConnected()
}

test('a request that times out ends its connection; stock kafkajs sends the next one into the same silence', async () => {
  expect(await isKeptAfterTimeout()).toBe(true)
  expect(await isKeptAfterTimeout(guardSilentBroker)).toBe(false)
})

/** What ends first: a JoinGroup, which may take the rebalance timeout and 5 s, or nine more fetches into the silence. */
async function whoWaits(...guards: Guard[]): Promise<string> {
  const pool = await silentPool(...guards)
  const joining = pool.send(request(JOIN_GROUP, 5_000)).catch((error: unknown) => (error as Error).name)
  const fetching = async () => {
    for (let n = 0; n < 10; n++) await pool.send(request(FETCH)).catch(() => undefined)
    return 'it waits on'
  }
  return String(await Promise.race([joining, fetching()]))
}

test('a fetch that times out ends a JoinGroup to the same broker; behind stock kafkajs the group waits for 65 s', async () => {
  expect(await whoWaits()).toBe('it waits on')
  expect(await whoWaits(guardSilentBroker)).toBe('KafkaJSConnectionClosedError')
})

async function isFoundAgain(...guards: Guard[]): Promise<boolean> {
  const { pool, broker } = await silentBroker(...guards)
  await broker.connect()
  await pool.send(request(FETCH)).catch(() => undefined)
  return broker.connect().then(
    () => true,
    (error: unknown) => {
      expect((error as Error).name).toBe('KafkaJSConnectionError')
      return false
    },
  )
}

test('a broker that went silent has to answer before it counts as connected; stock kafkajs takes the kernel for it', async () => {
  expect(await isFoundAgain()).toBe(true)
  expect(await isFoundAgain(guardSilentBroker)).toBe(false)
})

test('nothing is sent into the silence until the broker has answered', async () => {
  const { pool, broker } = await silentBroker(guardSilentBroker)
  await broker.connect()
  await pool.send(request(FETCH)).catch(() => undefined)
  await expect(pool.send(request(JOIN_GROUP, 5_000))).rejects.toMatchObject({ name: 'KafkaJSConnectionClosedError' })
  expect(pool.isConnected()).toBe(false)
})
