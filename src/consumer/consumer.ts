import { runProcess } from '../runtime/lifecycle.ts'
import { createLog } from '../runtime/log.ts'
import { readConsumerConfig } from './config.ts'
import type { ConsumerOptions } from './options.ts'
import { startConsumer } from './start.ts'

export { readConsumerConfig, type ConsumerConfig } from './config.ts'
export type { ConsumerOptions } from './options.ts'
export { startConsumer, type RunningConsumer } from './start.ts'
export { createTables } from './tables.ts'
export {
  listUnsettled,
  listDeadLetters,
  reviveDeadLetter,
  sayHappened,
  sayDidNotHappen,
  setPosition,
} from './operate.ts'
export { inbox, once, refused, retry, skip } from './effect.ts'
export type { Answer, CallContext, CallOutcome, Effect, Effects, OnceOptions, Outcome } from './effect.ts'
export type { Unsettled } from './parts.ts'
export type { ReportType, WriteReport } from './write-report.ts'
export type { Fulfillment } from '../schemas/fulfillment.ts'
export type { FulfillmentTopic } from '../schemas/fulfillment-reader.ts'
export type { Transaction } from '../runtime/postgres.ts'
export { BadConfiguration } from '../runtime/config.ts'

/**
 * A whole process: configuration from the environment, SIGTERM and SIGINT stop it in order. A bad configuration prints
 * every problem and exits 2.
 */
export const runConsumer = (options: ConsumerOptions, env: NodeJS.ProcessEnv = process.env): Promise<void> =>
  runProcess(async () => {
    const config = readConsumerConfig(env)
    const log = options.log ?? createLog(config.CONSUMER_NAME, config.LOG_LEVEL)
    return { running: await startConsumer(config, { ...options, log }), log }
  })
