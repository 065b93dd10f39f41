import { createRequire } from 'node:module'
import type * as Kafkajs from 'kafkajs'
import { internalsOf, type Guard } from '../../src/runtime/kafka/guards/internals.ts'

/**
 * A second kafkajs beside the guarded one, as npm delivers it, or with the given guards only. Its retry defaults are
 * those of production: kafkajs chooses others when NODE_ENV is `test`.
 */
export function apartKafkajs(...guards: readonly Guard[]) {
  const require = createRequire(import.meta.url)
  const own = (name: string) => /[\\/]node_modules[\\/]kafkajs[\\/]/.test(name)
  const kept = Object.entries(require.cache).filter(([name]) => own(name))
  const forget = () => {
    for (const name of Object.keys(require.cache)) if (own(name)) Reflect.deleteProperty(require.cache, name)
  }
  const environment = process.env['NODE_ENV']
  forget()
  process.env['NODE_ENV'] = 'production'
  try {
    const internals = internalsOf(require)
    for (const guard of guards) guard(internals)
    const kafkajs = require('kafkajs') as typeof Kafkajs
    // What is loaded later must come from this copy too, so the files that tests reach for are loaded now.
    const loaded = new Map<string, unknown>()
    for (const path of REACHED) loaded.set(path, internals.load(path))
    return {
      kafkajs,
      load: (path: string): unknown => {
        if (!loaded.has(path)) throw new Error(`${path} is not among those that are loaded apart`)
        return loaded.get(path)
      },
    }
  } finally {
    process.env['NODE_ENV'] = environment
    forget()
    for (const [name, module] of kept) require.cache[name] = module
  }
}

const REACHED = [
  'src/broker/index.js',
  'src/cluster/index.js',
  'src/errors.js',
  'src/protocol/error.js',
  'src/consumer/batch.js',
  'src/consumer/filterAbortedMessages.js',
  'src/consumer/offsetManager/index.js',
  'src/consumer/runner.js',
  'src/instrumentation/emitter.js',
  'src/network/connection.js',
  'src/network/connectionPool.js',
  'src/network/requestQueue/index.js',
  'src/network/socketFactory.js',
  'src/producer/eosManager/index.js',
  'src/producer/groupMessagesPerPartition.js',
  'src/producer/partitioners/default/murmur2.js',
  'src/producer/sendMessages.js',
  'src/protocol/recordBatch/crc32C/index.js',
  'src/protocol/requests/produce/v3/request.js',
  'src/retry/index.js',
  'src/utils/lock.js',
]

/** A kafkajs logger that says nothing. */
export const quietLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  namespace: (): unknown => quietLogger,
}
