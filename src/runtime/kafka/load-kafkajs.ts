import type * as Kafkajs from 'kafkajs'
import { internalsOf, type Guard } from './guards/internals.ts'
import { guardAbortedRecords } from './guards/aborted-records.ts'
import { guardBrokersAway } from './guards/brokers-away.ts'
import { guardEosManager } from './guards/eos-manager.ts'
import { guardFilteredBatches } from './guards/filtered-batches.ts'
import { guardLostCoordinator } from './guards/lost-coordinator.ts'
import { guardMessageGrouping } from './guards/message-grouping.ts'
import { guardOffsetReset } from './guards/offset-reset.ts'
import { guardProduceEncoding } from './guards/produce-encoding.ts'
import { guardRequestQueueTimer } from './guards/request-queue-timer.ts'
import { guardSilentBroker } from './guards/silent-broker.ts'
import { guardSingleConnect } from './guards/single-connect.ts'

const VERSION = '2.2.4'
export const GUARDS: readonly Guard[] = [
  guardRequestQueueTimer,
  guardSingleConnect,
  guardSilentBroker,
  guardLostCoordinator,
  guardBrokersAway,
  guardOffsetReset,
  guardAbortedRecords,
  guardFilteredBatches,
  guardEosManager,
  guardMessageGrouping,
  guardProduceEncoding,
]
const guarded = Symbol.for('paidonce.kafkajs.guarded')

/**
 * Loads kafkajs with its guards (docs/decisions: kafkajs with guards).
 * @throws when the version is another one, or when something loaded kafkajs before the guards.
 */
export function loadKafkajs(require: NodeJS.Require): typeof Kafkajs {
  const { version } = require('kafkajs/package.json') as { version: string }
  if (version !== VERSION)
    throw new Error(`The guards are written for kafkajs ${VERSION}, not ${version}: pin it, or review each guard`)
  const loaded = require.cache[require.resolve('kafkajs')]?.exports as Record<symbol, unknown> | undefined
  if (loaded !== undefined && loaded[guarded] !== true)
    throw new Error('kafkajs was loaded without its guards: only src/runtime/kafka may import it')
  if (loaded === undefined) {
    const internals = internalsOf(require)
    for (const guard of GUARDS) guard(internals)
  }
  const kafkajs = require('kafkajs') as typeof Kafkajs
  Object.defineProperty(kafkajs, guarded, { value: true })
  return kafkajs
}
