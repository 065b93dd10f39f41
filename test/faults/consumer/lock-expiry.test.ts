import { createClient } from '@redis/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Redis } from '../../../dev/parts/redis.ts'
import { startCarrier, type Carrier } from '../../../examples/carrier/carrier.ts'
import { LOCK_PREFIX } from '../../../src/consumer/call-lock.ts'
import { anEvent, createDownstream, type Downstream } from '../../helpers/consumer.ts'
import { ownRedis } from '../../helpers/redis.ts'
import { until } from '../../helpers/until.ts'
import { createWorkers, untilRuns, type Workers } from '../../helpers/workers.ts'

let redis: Redis
let replica: Redis
let client: ReturnType<typeof createClient>
let downstream: Downstream
let carrier: Carrier
let workers: Workers

beforeAll(async () => {
  redis = await ownRedis()
  replica = await ownRedis()
  client = createClient({ url: redis.url, RESP: 2 })
  client.on('error', () => undefined)
  await client.connect()
})
afterAll(async () => {
  client.destroy()
  await Promise.all([redis.stop(), replica.stop()])
})
beforeEach(async () => {
  downstream = await createDownstream(2)
  carrier = await startCarrier()
  const own = { CARRIER_URL: carrier.url, REDIS_URL: redis.url, LOCK_SEC: '1', CALL_MS: '8000' }
  workers = createWorkers('consumer-child.ts', (more) => downstream.env({ ...own, ...more }))
})
afterEach(async () => {
  await workers.killAll()
  await carrier.close()
  await downstream.drop()
})

const untilDone = (count: number) => downstream.untilDone(count)
const shippedOnce = async (count: number) => {
  await until('nothing is under way at the carrier', () => carrier.inProgress() === 0, 30_000)
  const ids = carrier.done.map(({ eventId }) => eventId)
  expect(ids).toHaveLength(count)
  expect(new Set(ids).size).toBe(count)
}
const keyOf = (order: string) => client.get(LOCK_PREFIX + order)
const orders = (name: string, count: number) => Array.from({ length: count }, (_, n) => anEvent(`${name}-${n}`))

describe('a lock that really expires in the middle of a slow call', () => {
  test('because its holder is frozen past its time: the other takes the lock, and does not call', async () => {
    carrier.behave({ slowMs: 5_000 })
    const first = workers.start({ CALL_MS: '20000' })
    await untilRuns(first)
    await downstream.emit(orders('slow', 6))
    const locks = async () => (await client.keys(`${LOCK_PREFIX}slow-*`)).length
    // On a busy machine one may be called for without a lock.
    await until(
      'the carrier is at it, and there are locks',
      async () => carrier.inProgress() > 2 && (await locks()) > 0,
    )
    first.signal('SIGSTOP')
    await until('all locks have expired by themselves', async () => (await locks()) === 0)
    const second = workers.start({ CALL_MS: '20000' })
    await untilRuns(second)
    await until('the carrier has shipped', () => carrier.inProgress() === 0 && carrier.done.length > 2, 60_000)
    first.signal('SIGCONT')
    await untilDone(6)
    await shippedOnce(6)
  })

  test('and stays away for longer than Postgres keeps its session: the other asks, and it comes back to nothing', async () => {
    carrier.behave({ slowMs: 2_000 })
    const first = workers.start({ CALL_MS: '1000', LATE_MS: '3000' })
    await untilRuns(first)
    await downstream.emit([anEvent('gone')])
    await until('the carrier is at it', () => carrier.inProgress() === 1)
    first.signal('SIGSTOP')
    await until('the lock has expired by itself', async () => (await keyOf('gone')) === null)
    workers.start({ CALL_MS: '1000', LATE_MS: '3000' })
    await untilDone(1)
    first.signal('SIGCONT')
    expect(await first.stop()).toEqual({ code: 0, signal: null })
    await shippedOnce(1)
  })

  test('frozen with the lock and the row, before anything was sent: it does not send when it is late', async () => {
    const terms = { CALL_MS: '1000', LATE_MS: '200' }
    await downstream.emit([anEvent('late')])
    const first = await workers.startCrashing('once_row_held', 'stop', terms)
    await until('the lock has expired by itself', async () => (await keyOf('late')) === null)
    workers.start(terms)
    await untilDone(1)
    first.signal('SIGCONT')
    expect(await first.stop()).toEqual({ code: 0, signal: null })
    await shippedOnce(1)
  })
})

describe('Redis, in the middle of the calls of two workers,', () => {
  const failover = async () => {
    // The replica never had the keys: replication is asynchronous, and it takes over before they arrive.
    const master = createClient({ url: redis.url, RESP: 2 })
    await master.connect()
    await master.sendCommand(['REPLICAOF', '127.0.0.1', String(replica.port)])
    await until('it has what the other had', async () => (await master.info('replication')).includes('link_status:up'))
    await master.sendCommand(['REPLICAOF', 'NO', 'ONE'])
    master.destroy()
  }
  interface Fault {
    readonly what: string
    readonly fault: () => unknown
    readonly mend?: () => unknown
  }
  const freeze = () => {
    redis.freeze()
  }
  const thaw = () => {
    redis.thaw()
  }
  const TAKE_ALL = `for n = 0, 40 do redis.call('set', 'pay_callback_lock:after-' .. n, 'x') end return 1`
  const FAULTS: readonly Fault[] = [
    { what: 'is flushed', fault: () => client.flushAll() },
    { what: 'is killed and comes back empty', fault: () => redis.kill(), mend: () => redis.restart() },
    { what: 'is frozen', fault: freeze, mend: thaw },
    { what: 'fails over to one without the keys', fault: failover },
    { what: 'has the locks of somebody else for ever', fault: () => client.eval(TAKE_ALL) },
  ]
  test.each(FAULTS)('$what: each order ships once, and nobody waits for ever', async ({ fault, mend }) => {
    carrier.behave({ slowMs: 700 })
    const two = [workers.start(), workers.start()]
    await Promise.all(two.map((one) => untilRuns(one)))
    await downstream.emit(orders('before', 40))
    await until('several calls are under way', () => carrier.inProgress() > 4, 60_000)
    await fault()
    await downstream.emit(orders('after', 20))
    await untilDone(60)
    await mend?.()
    await downstream.emit(orders('mended', 10))
    await untilDone(70)
    await shippedOnce(70)
  })
})
