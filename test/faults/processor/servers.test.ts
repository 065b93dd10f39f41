import { setTimeout as faultLasts } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Stack } from '../../../dev/parts/stack.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { createInstallation, payment, type Installation } from '../../helpers/installation.ts'
import { ownStack } from '../../helpers/own-stack.ts'
import { startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import type { RunningProcessor } from '../../../src/processor/start.ts'
import { until } from '../../helpers/until.ts'

let stack: Stack
let installation: Installation
let processors: RunningProcessor[] = []
const fatal: Error[] = []
const paid: string[] = []

beforeAll(async () => {
  stack = await ownStack({ registryInMemory: true })
  installation = await createInstallation({ partitions: 3, stack: stack.env })
  const start = () => startTestProcessor(installation, {}, { onFatal: (error) => fatal.push(error) })
  processors = [await start(), await start()]
  await untilSettled(processors, 3)
})
afterAll(async () => {
  await Promise.all(processors.map((processor) => processor.stop()))
  await installation.drop()
  await stack.stop()
})

/** Sends again until the broker has it: what was there already is a duplicate. */
const sendSurely = (orders: readonly string[]) =>
  until(
    'the callbacks are in Kafka',
    () => installation.send(orders.map((order) => payment(order))).then(() => true),
    90_000,
  )

async function underLoad(name: string, fault: () => Promise<void>) {
  const orders = Array.from({ length: 120 }, (_, index) => `${name}${index}`)
  await installation.createOrders(orders)
  const feeding = (async () => {
    for (let from = 0; from < orders.length; from += 10) await sendSurely(orders.slice(from, from + 10))
  })()
  await Promise.all([feeding, fault()])
  paid.push(...orders)
  const after = `${name}-after`
  await installation.createOrders([after])
  await sendSurely([after])
  paid.push(after)
  const events = await readEvents(installation.topics, {
    atLeast: 3 * paid.length,
    brokers: stack.env.KAFKA_BROKERS,
  })
  expect(checkExactlyOnce(paid, events)).toEqual(nothingWrong(paid))
  expect(fatal).toEqual([])
}

describe('under load, and everything catches up by itself', () => {
  const broker = () => stack.kafka.nodes[0]

  test('the broker is frozen', () =>
    underLoad('frozen', async () => {
      broker()?.freeze()
      await faultLasts(4_000)
      broker()?.thaw()
    }))

  test('the broker is killed and comes back', () =>
    underLoad('killed', async () => {
      await broker()?.kill()
      await broker()?.restart()
    }))

  test('the broker is restarted in order', () =>
    underLoad('restarted', async () => {
      await broker()?.restart()
    }))

  test('Postgres is killed and comes back', () =>
    underLoad('pg-killed', async () => {
      await stack.postgres.kill()
      await faultLasts(1_000)
      await stack.postgres.restart()
    }))

  test('Postgres is restarted in order', () => underLoad('pg-restarted', () => stack.postgres.restart()))
})
