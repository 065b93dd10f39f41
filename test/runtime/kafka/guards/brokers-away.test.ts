import { expect, test } from 'vitest'
import { guardBrokersAway } from '../../../../src/runtime/kafka/guards/brokers-away.ts'
import type { Guard } from '../../../../src/runtime/kafka/guards/internals.ts'
import { apartKafkajs, quietLogger } from '../../../helpers/stock-kafkajs.ts'

type Retry = (options: object) => unknown
type Cluster = new () => { findGroupCoordinator: (query: { groupId: string }) => Promise<unknown> }
type Lock = new (options: { timeout: number }) => { acquire: () => Promise<void> }

/** Looks for a group's coordinator while every broker that is known is away until the metadata are read anew. */
async function findCoordinator(...guards: Guard[]): Promise<unknown> {
  const apart = apartKafkajs(...guards)
  const { prototype } = apart.load('src/cluster/index.js') as { prototype: InstanceType<Cluster> }
  let away = true
  const cluster = Object.assign(Object.create(prototype as object) as InstanceType<Cluster>, {
    logger: quietLogger,
    retrier: (apart.load('src/retry/index.js') as Retry)({ retries: 2, initialRetryTime: 1 }),
    // kafkajs answers null when the call to each of the pool's brokers has failed, whatever the reason.
    brokerPool: { withBroker: () => Promise.resolve(away ? null : { coordinator: { nodeId: 7 } }) },
    refreshMetadata: () => Promise.resolve(void (away = false)),
    findBroker: (broker: unknown) => Promise.resolve(broker),
  })
  return await cluster.findGroupCoordinator({ groupId: 'g' }).catch((error: unknown) => error)
}

test('a coordinator is looked for again when no broker answered; stock kafkajs ends the consumer for good', async () => {
  expect(await findCoordinator()).toMatchObject({ name: 'KafkaJSGroupCoordinatorNotFound', retriable: false })
  expect(await findCoordinator(guardBrokersAway)).toEqual({ nodeId: 7 })
})

/** Asks brokers through kafkajs's own pool; each answers with an error of its own, as the wire has it. */
async function askDenied(codes: readonly number[], ...guards: Guard[]): Promise<unknown> {
  const apart = apartKafkajs(...guards)
  const { prototype } = apart.load('src/cluster/index.js') as { prototype: InstanceType<Cluster> }
  const { createErrorFromCode } = apart.load('src/protocol/error.js') as {
    createErrorFromCode: (code: number) => Error
  }
  let refreshed = 0
  const brokers = codes.map((code) => ({
    findGroupCoordinator: () => Promise.reject(createErrorFromCode(code)),
  }))
  const cluster = Object.assign(Object.create(prototype as object) as InstanceType<Cluster>, {
    logger: quietLogger,
    retrier: (apart.load('src/retry/index.js') as Retry)({ retries: 1, initialRetryTime: 1 }),
    brokerPool: {
      withBroker: async (ask: (broker: object) => Promise<unknown>) => {
        for (const broker of brokers) {
          const answer = await ask({ nodeId: 1, broker }).catch(() => null)
          if (answer !== null) return answer
        }
        return null
      },
    },
    refreshMetadata: () => {
      refreshed++
      return Promise.resolve()
    },
  })
  const error = await cluster.findGroupCoordinator({ groupId: 'shop' }).catch((caught: unknown) => caught)
  return Object.assign(error as object, { refreshed })
}

test('a group that is denied is fatal and named; a coordinator that is absent is looked for again', async () => {
  const [groupDenied, transactionDenied, notAvailable] = [30, 53, 15]
  expect(await askDenied([notAvailable, groupDenied], guardBrokersAway)).toMatchObject({
    ...{ type: 'GROUP_AUTHORIZATION_FAILED', retriable: false, refreshed: 0 },
    message: 'Kafka denies the group shop to this user: grant it READ on the group (kafka-acls.sh)',
  })
  expect(await askDenied([transactionDenied], guardBrokersAway)).toMatchObject({
    ...{ type: 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED', retriable: false, refreshed: 0 },
  })
  const absent = (await askDenied([notAvailable], guardBrokersAway)) as { refreshed: number }
  expect(absent).toMatchObject({ retriable: false, name: 'KafkaJSNumberOfRetriesExceeded' })
  expect(absent.refreshed).toBeGreaterThan(0)
})

async function waitForLock(...guards: Guard[]): Promise<unknown> {
  const lock = new (apartKafkajs(...guards).load('src/utils/lock.js') as Lock)({ timeout: 1 })
  await lock.acquire()
  return await lock.acquire().catch((error: unknown) => error)
}

test("who waited too long for someone else's connection tries again; stock kafkajs gives up for good", async () => {
  expect(await waitForLock()).toMatchObject({ name: 'KafkaJSLockTimeout', retriable: false })
  expect(await waitForLock(guardBrokersAway)).toMatchObject({ name: 'KafkaJSLockTimeout', retriable: true })
})
