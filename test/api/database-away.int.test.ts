import { connect, createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi, type Api } from '../../src/api/start.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { recordTopology } from '../../src/store/topology.ts'
import { createDatabase, type TestDatabase } from '../helpers/database.ts'
import { until } from '../helpers/until.ts'
import { anOrder, callWith } from './start-api.ts'

/** A way to Postgres that can be cut (connections refused) and frozen (accepted, and then silence). */
function createWay(target: URL) {
  const sockets = new Set<Socket>()
  let frozen = false
  let server: Server | undefined
  const keep = (socket: Socket) =>
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
  const serve = (client: Socket) => {
    keep(client)
    const upstream = connect(Number(target.port), target.hostname)
    keep(upstream)
    client.on('data', (bytes) => frozen || upstream.write(bytes)).on('close', () => upstream.destroy())
    upstream.on('data', (bytes) => client.write(bytes)).on('close', () => client.destroy())
  }
  return {
    open: (port = 0) =>
      new Promise<number>((resolve) => {
        frozen = false
        const opened = (server = createServer(serve))
        opened.listen(port, '127.0.0.1', () => resolve((opened.address() as AddressInfo).port))
      }),
    cut: () => {
      server?.close()
      for (const socket of sockets) socket.destroy()
    },
    freeze: () => (frozen = true),
    thaw: () => {
      frozen = false
      for (const socket of sockets) socket.destroy() // what was swallowed meanwhile is gone
    },
  }
}

let database: TestDatabase
let way: ReturnType<typeof createWay>
let port: number
let api: Api
const { token, hash } = mintToken()
beforeEach(async () => {
  database = await createDatabase()
  const role = 'merchant'
  await insertApiToken(database.pool, { name: 't', tokenHash: hash, merchant: 'acme', role, expiresAtMs: null })
  const target = new URL(database.url)
  way = createWay(new URL(database.url))
  port = await way.open()
  target.port = String(port)
  target.hostname = '127.0.0.1'
  const config = readApiConfig({ DATABASE_URL: target.href, PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'silent' })
  api = await startApi(config, { log: createLog('api', 'silent') })
})
afterEach(async () => {
  way.thaw()
  await api.stop()
  way.cut()
  await database.drop()
})

const create = (outTradeNo: string) =>
  callWith(`http://127.0.0.1:${api.port}`, token)('POST', '/v1/orders', anOrder(outTradeNo))
const probe = async (path: string) => {
  const answer = await fetch(`http://127.0.0.1:${api.metricsPort}${path}`)
  return [answer.status, await answer.text()] as const
}
const untilReady = () => until('the api is ready', async () => (await probe('/readyz'))[0] === 200)

test('no topology yet: not ready, 503 with the remedy; recorded: it goes on by itself', async () => {
  await until('it says why', async () => (await probe('/readyz'))[1].includes('topics create'))
  const answer = await create('a')
  expect([answer.status, answer.body['type'], answer.headers.get('retry-after')]).toEqual([
    503,
    'urn:paidonce:problem:not_ready',
    '1',
  ])
  await recordTopology(database.pool, INPUT_TOPIC, 12)
  await untilReady()
  expect((await create('a')).status).toBe(201)
})

test('another count of lanes later on: no order is created with a lane that its callbacks would not meet', async () => {
  await recordTopology(database.pool, INPUT_TOPIC, 12)
  await untilReady()
  await database.pool.query('update topology set partitions = 24')
  await until('it says why', async () => (await probe('/readyz'))[1].includes('restart it'), 20_000)
  expect((await create('a')).status).toBe(503)
})

test('Postgres cut off: 503, alive, not ready; back: everything by itself', async () => {
  await recordTopology(database.pool, INPUT_TOPIC, 12)
  await untilReady()
  way.cut()
  const startedMs = performance.now()
  const answer = await create('b')
  expect([answer.status, answer.body['type']]).toEqual([503, 'urn:paidonce:problem:database_unavailable'])
  expect(performance.now() - startedMs).toBeLessThan(5_000)
  await until('it is not ready', async () => (await probe('/readyz'))[0] === 503)
  expect(await probe('/healthz')).toEqual([200, 'ok\n'])
  await way.open(port)
  await untilReady()
  expect((await create('b')).status).toBe(201)
})

test('Postgres frozen: an answer within seconds, and no connection is stuck afterwards', async () => {
  await recordTopology(database.pool, INPUT_TOPIC, 12)
  await untilReady()
  way.freeze()
  const startedMs = performance.now()
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => create(`c${n}`)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
  expect(performance.now() - startedMs).toBeLessThan(15_000)
  way.thaw()
  await until('orders are created again', async () => (await create('c')).status === 201)
})
