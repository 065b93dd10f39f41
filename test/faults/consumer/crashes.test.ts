import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Redis } from '../../../dev/parts/redis.ts'
import { startCarrier, type Carrier } from '../../../examples/carrier/carrier.ts'
import { CRASH_POINTS } from '../../../src/consumer/crash-points.ts'
import type { Gateway } from '../../../src/gateway/start.ts'
import { createPartitionReader } from '../../../src/runtime/kafka/partition-reader.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { createCodec } from '../../../src/schemas/codec.ts'
import { INPUT_TOPIC } from '../../../src/schemas/topics.ts'
import { anEvent, createDownstream, type Downstream } from '../../helpers/consumer.ts'
import { gatewayOf, ready } from '../../helpers/gateway.ts'
import { createMerchant, type TestMerchant } from '../../helpers/merchant.ts'
import { ownRedis } from '../../helpers/redis.ts'
import { stackEnv } from '../../helpers/stack.ts'
import { until } from '../../helpers/until.ts'
import { createWorkerKeys, createWorkers, type Workers } from '../../helpers/workers.ts'

let redis: Redis
let merchant: TestMerchant
let keys: ReturnType<typeof createWorkerKeys>
let downstream: Downstream
let carrier: Carrier
let gateway: Gateway
let workers: Workers

beforeAll(async () => {
  redis = await ownRedis()
  merchant = createMerchant('shop')
  keys = createWorkerKeys(merchant)
})
afterAll(async () => {
  merchant.remove()
  keys.remove()
  await redis.stop()
})
beforeEach(async () => {
  downstream = await createDownstream(1)
  carrier = await startCarrier()
  gateway = await gatewayOf(merchant, downstream.topics.prefix)
  await ready(gateway)
  workers = createWorkers('consumer-child.ts', (more) =>
    downstream.env({
      ...{ CARRIER_URL: carrier.url, REDIS_URL: redis.url, LOCK_SEC: '2' },
      ...{ GATEWAY_URL: `http://127.0.0.1:${gateway.port}`, WORKER_KEYS_DIR: keys.dir },
      ...more,
    }),
  )
})
afterEach(async () => {
  await workers.killAll()
  await gateway.stop()
  await carrier.close()
  await downstream.drop()
})

const timesDone = () =>
  Object.fromEntries([...Map.groupBy(carrier.done, ({ eventId }) => eventId)].map(([id, some]) => [id, some.length]))
const untilDone = (count: number) => downstream.untilDone(count, 60_000)

/** The ids of the reports that the gateway has put into the input topic. */
async function reportsInTopic(): Promise<string[]> {
  const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL } = stackEnv()
  const { prefix, name } = downstream.topics
  const log = createLog('test', 'silent')
  const codec = await createCodec(SCHEMA_REGISTRY_URL, prefix, log)
  const reader = createPartitionReader({ brokers: KAFKA_BROKERS.split(','), ssl: false }, log)
  try {
    const { records } = await reader.read(name(INPUT_TOPIC), 0, 0)
    return records.flatMap(({ value }) => {
      const decoded = codec.decodeCallback(value)
      return decoded.kind === 'callback' ? decoded.callback.facts.map(({ providerRef }) => providerRef) : []
    })
  } finally {
    await reader.close()
  }
}

/** What leads to a point that an undisturbed run does not pass. */
const LEADS_TO_ASKING = /^ask_/

describe('a worker that is killed at', () => {
  test.each(CRASH_POINTS)('%s ships once, notes it once and reports it', async (point) => {
    const [ship, back] = [anEvent('order'), anEvent('order', { kind: 'return', sequence: 2 })]
    await downstream.emit([ship, back])
    if (LEADS_TO_ASKING.test(point)) await workers.startCrashing('once_called', 'kill')
    await workers.startCrashing(point, 'kill')
    workers.start()
    await untilDone(2)
    expect(timesDone()).toEqual({ [ship.eventId]: 1 })
    const { rows } = await downstream.database.pool.query(
      'select (select count(*)::int from parcels) as parcels, (select count(*)::int from expected_returns) as returns',
    )
    expect(rows).toEqual([{ parcels: 1, returns: 1 }])
    const reports = await until('its report is in the topic', async () => {
      const found = await reportsInTopic()
      return found.length > 0 ? found : undefined
    })
    expect(new Set(reports)).toEqual(new Set([`worker:shipment_completed-${ship.eventId}`]))
  })
})

describe('a worker that is frozen at', () => {
  test.each(['once_calling_committed', 'once_row_held', 'once_called', 'ask_taken_over'] as const)(
    '%s, and comes back after another has done its work, ships once',
    async (point) => {
      const ship = anEvent('order')
      await downstream.emit([ship])
      if (LEADS_TO_ASKING.test(point)) await workers.startCrashing('once_called', 'kill')
      const frozen = await workers.startCrashing(point, 'stop')
      workers.start()
      await untilDone(1)
      frozen.signal('SIGCONT')
      // It ends when all that it had begun has ended.
      expect(await frozen.stop()).toEqual({ code: 0, signal: null })
      await until('nothing is under way', () => carrier.inProgress() === 0)
      expect(timesDone()).toEqual({ [ship.eventId]: 1 })
    },
  )
})

describe('without a rule it ships twice:', () => {
  test('without asking, a worker that is killed after the call calls again', async () => {
    const ship = anEvent('order')
    await downstream.emit([ship])
    await workers.startCrashing('once_called', 'kill', { MUTANT: 'no_ask' })
    workers.start({ MUTANT: 'no_ask' })
    await untilDone(1)
    expect(timesDone()).toEqual({ [ship.eventId]: 2 })
  })

  test('without the row that says `calling`, so does one that ships within the transaction of its inbox', async () => {
    const ship = anEvent('order')
    await downstream.emit([ship])
    await workers.startCrashing('inbox_handled', 'kill', { MUTANT: 'no_calling' })
    workers.start({ MUTANT: 'no_calling' })
    await untilDone(1)
    expect(timesDone()).toEqual({ [ship.eventId]: 2 })
  })
})
