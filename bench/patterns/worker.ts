/** One of a form's worker processes: callbacks come from the parent, and the answer goes back. It is killed at any time. */
import { createClient } from '@redis/client'
import { partitionFor } from '../../src/runtime/kafka/partition.ts'
import { createPlainProducer } from '../../src/runtime/kafka/plain-producer.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createPool } from '../../src/runtime/postgres.ts'
import { FORMS, isFormName } from './forms/all.ts'
import type { Callback, Shop } from './forms/form.ts'
import type { Moment } from './system.ts'

export type ToWorker = { readonly id: number; readonly callback: Callback } | { readonly dieAt: Moment }
export interface FromWorker {
  readonly id: number
  readonly success: boolean
}

const { FORM = '', DATABASE_URL = '', REDIS_URL = '', KAFKA_BROKERS = '', TOPIC = '' } = process.env
if (!isFormName(FORM)) throw new Error(`no form ${FORM}`)
const form = FORMS[FORM]
const log = createLog('pattern', 'silent')
const redis = createClient({
  ...{ url: REDIS_URL, disableOfflineQueue: true },
  socket: { reconnectStrategy: 50 },
})
redis.on('error', () => undefined) // its commands fail, and the provider sends again
await redis.connect()
const producer = await createPlainProducer({ brokers: KAFKA_BROKERS.split(','), ssl: false }, [TOPIC], log)
const partitions = producer.partitionCount(TOPIC)
let dieAt: Moment | undefined
const dieIf = (moment: Moment) => {
  if (dieAt === moment) process.kill(process.pid, 'SIGKILL')
}
const shop: Shop = {
  pool: createPool(DATABASE_URL, 'pattern', log, 10),
  redis,
  ship: async (outTradeNo) => {
    dieIf('before_effect')
    const messages = [{ key: outTradeNo, value: Buffer.from('ship') }]
    await producer.send({ topic: TOPIC, partition: partitionFor(outTradeNo, partitions), messages }, 10_000)
    dieIf('after_effect')
  },
}

const answer = (message: FromWorker) => process.connected && process.send?.(message)
process.on('message', (message: ToWorker) => {
  if ('dieAt' in message) {
    dieAt = message.dieAt
    dieIf('any')
    return
  }
  const { id, callback } = message
  form(shop, callback).then(
    (success) => answer({ id, success }),
    () => answer({ id, success: false }),
  )
})
process.on('disconnect', () => process.exit(0))
answer({ id: -1, success: true })
