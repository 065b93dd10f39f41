import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Redis } from '../../dev/parts/redis.ts'
import { startCarrier, type Carrier } from '../../examples/carrier/carrier.ts'
import { shipmentEffects, TABLES } from '../../examples/shipment/effects.ts'
import type { Parts } from '../../src/consumer/parts.ts'
import { createWorkLoop, type WorkLoop } from '../../src/consumer/work-loop.ts'
import { anEvent, createDownstream, type Downstream } from '../helpers/consumer.ts'
import { ownRedis } from '../helpers/redis.ts'
import { until } from '../helpers/until.ts'

let redis: Redis
let downstream: Downstream
let carrier: Carrier
let loops: WorkLoop[]

beforeAll(async () => {
  redis = await ownRedis()
})
afterAll(() => redis.stop())
beforeEach(async () => {
  loops = []
  downstream = await createDownstream()
  carrier = await startCarrier()
})
afterEach(async () => {
  await Promise.all(loops.map((loop) => loop.stop()))
  await downstream.drop()
  await carrier.close()
})

/** A consumer and, on its rows, a second one that takes all lanes to be its own all the time, as in a rebalance. */
async function startTwo(more: Readonly<Record<string, string>>): Promise<void> {
  const options = {
    effects: shipmentEffects({ url: carrier.url, callMs: 2_000, lateMs: 200 }),
    prepare: (pool: Parts['pool']) => pool.query(TABLES),
  }
  let rival: Parts | undefined
  await downstream.start(
    {
      ...options,
      changeParts: (parts) => {
        rival = parts
        return parts
      },
    },
    more,
  )
  await until('the tables are there', () => downstream.states())
  if (rival !== undefined) loops.push(createWorkLoop(rival, { lanes: () => [0, 1], concurrency: 8, pollMs: 5 }))
}
const untilDone = (count: number) => downstream.untilDone(count, 50_000)
const shippedOnce = (count: number) => {
  expect(carrier.done).toHaveLength(count)
  expect(new Set(carrier.done.map(({ eventId }) => eventId)).size).toBe(count)
}

test.each([
  ['with Redis', () => ({ REDIS_URL: redis.url })],
  ['without Redis', () => ({})],
] as const)('two consumers at work on the same lanes, %s: each order ships once', async (_, env) => {
  carrier.behave({ slowMs: 20 })
  await startTwo(env())
  await downstream.emit(Array.from({ length: 100 }, (_, n) => anEvent(`order-${n}`)))
  await untilDone(100)
  shippedOnce(100)
})

test('Redis is flushed, restarted and frozen in the middle of slow calls: each order ships once', async () => {
  carrier.behave({ slowMs: 400 })
  await startTwo({ REDIS_URL: redis.url, LOCK_SEC: '1' })
  const underWay = (what: string) => until(`calls are under way ${what}`, () => carrier.inProgress() > 0)
  const emit = (name: string) => downstream.emit(Array.from({ length: 20 }, (_, n) => anEvent(`${name}-${n}`)))
  await emit('restarted')
  await underWay('at the restart')
  await redis.restart()
  await emit('frozen')
  await underWay('at the freeze')
  redis.freeze()
  await untilDone(40)
  redis.thaw()
  await emit('again')
  await underWay('at the kill')
  await redis.kill()
  await untilDone(60)
  await redis.restart()
  await emit('last')
  await untilDone(80)
  shippedOnce(80)
})
