import { expect, test } from 'vitest'
import type { Guard } from '../../../../src/runtime/kafka/guards/internals.ts'
import { guardLostCoordinator } from '../../../../src/runtime/kafka/guards/lost-coordinator.ts'
import { apartKafkajs, quietLogger } from '../../../helpers/stock-kafkajs.ts'

interface Runner {
  heartbeat: () => Promise<void>
}
interface Errors {
  isRebalancing: (error: unknown) => boolean
}

/** Whether the runner, which rejoins on such an error and on no other, takes a failed heartbeat for a rebalance. */
async function rejoinsAfter(error: Error, ...guards: Guard[]): Promise<boolean> {
  const apart = apartKafkajs(...guards)
  const Runner = apart.load('src/consumer/runner.js') as new (options: object) => Runner
  const runner = new Runner({
    logger: quietLogger,
    consumerGroup: { heartbeat: () => Promise.reject(error) },
    instrumentationEmitter: {},
    concurrency: 1,
    autoCommit: false,
  })
  const thrown: unknown = await runner.heartbeat().catch((failure: unknown) => failure)
  return (apart.load('src/errors.js') as Errors).isRebalancing(thrown)
}

const named = (name: string) => Object.assign(new Error('gone'), { name })

test.each(['KafkaJSConnectionError', 'KafkaJSConnectionClosedError', 'KafkaJSRequestTimeoutError'])(
  'a coordinator lost by %s is looked for anew; stock kafkajs asks it again',
  async (name) => {
    expect(await rejoinsAfter(named(name))).toBe(false)
    expect(await rejoinsAfter(named(name), guardLostCoordinator)).toBe(true)
  },
)

test('other errors stay what they are', async () => {
  expect(await rejoinsAfter(named('KafkaJSNonRetriableError'), guardLostCoordinator)).toBe(false)
})
