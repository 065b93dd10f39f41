import { randomUUID } from 'node:crypto'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { watchLanes } from '../../dev/demo/lanes.ts'
import { createBatchPublisher } from '../../src/gateway/batch-publisher.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createPlainProducer } from '../../src/runtime/kafka/plain-producer.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import type { CrashPoint } from '../../src/processor/crash-points.ts'
import { startProcessorChild, type Child } from '../../test/helpers/child.ts'
import type { Armed } from '../../test/helpers/crash-here.ts'
import { createInstallation, payment } from '../../test/helpers/installation.ts'
import { stackEnv } from '../../test/helpers/stack.ts'
import { until } from '../../test/helpers/until.ts'
import { countShipped } from './count-shipped.ts'
import { MOMENT_MS_MAX, WORKERS, type Moment, type System } from './system.ts'

export const OURS = 'paidonce'
/** Decided in Postgres and not in Kafka; in Kafka and nobody knows. */
const POINTS = {
  before_effect: 'batch_after_commit',
  after_effect: 'emit_after_kafka_commit',
} as const satisfies Partial<Record<Moment, CrashPoint>>

const SETTLE_MS_MAX = 120_000

/** Our own publisher as a gateway has it, and two processors. */
export async function startOurs(): Promise<System> {
  const installation = await createInstallation()
  const { topics } = installation
  const { KAFKA_BROKERS } = stackEnv()
  const log = createLog('bench', 'silent')
  const input = topics.name(INPUT_TOPIC)
  const producer = await createPlainProducer({ brokers: KAFKA_BROKERS.split(','), ssl: false }, [input], log)
  const publisher = createBatchPublisher(
    producer,
    {
      ...{ topic: input, partitions: topics.partitions, intervalMs: 10 },
      ...{ pendingRecordsMax: 10_000, pendingBytesMax: 1e8 },
      ...{ onBatch: () => undefined, onPartitionCountChanged: () => undefined },
    },
    systemClock,
    log,
  )
  const lanes = await watchLanes({
    ...{ brokers: KAFKA_BROKERS, databaseUrl: installation.database.url },
    ...{ appId: topics.appId, topicPrefix: topics.prefix },
  })
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-patterns-'))
  const start = async (): Promise<{ child: Child; control: string }> => {
    const control = join(dir, randomUUID())
    const child = startProcessorChild(
      installation.env({ METRICS_PORT: '0', LOG_LEVEL: 'info', CRASH_CONTROL: control }),
    )
    // A kill before it owns a lane would prove nothing.
    await child.said('that it owns a lane', ({ msg }) => msg === 'the lane is fenced', 60_000)
    return { child, control }
  }
  const processors = await Promise.all(Array.from({ length: WORKERS }, start))

  return {
    name: OURS,
    settled: async () => {
      const isDone = async () => {
        const states = await lanes.read()
        const done = states.filter(({ lag, nextSeq, ledger }) => lag === 0 && nextSeq === ledger)
        return done.length === topics.partitions || Promise.reject(new Error(JSON.stringify(states)))
      }
      await until('every lane is read and emitted', isDone, SETTLE_MS_MAX)
    },
    createOrders: (outTradeNos) => installation.createOrders(outTradeNos),
    deliver: ({ outTradeNo }) =>
      new Promise((resolve) => {
        const { key, callback } = payment(outTradeNo)
        const message = { key, value: installation.encode(callback) }
        publisher.publish(message, systemClock.elapsedMs() + 4_000, ({ kind }) => resolve(kind === 'acked'))
      }),
    killOne: async (at, moment) => {
      const processor = processors[at % WORKERS]
      if (processor === undefined) return
      const { child, control } = processor
      if (moment !== 'any') {
        const armed: Armed = { point: POINTS[moment], action: 'kill', marker: `${control}.marker`, delayMs: 0 }
        writeFileSync(`${control}.new`, JSON.stringify(armed))
        renameSync(`${control}.new`, control)
        await Promise.race([child.exited, delay(MOMENT_MS_MAX)])
      }
      await child.kill()
      processors[at % WORKERS] = await start()
    },
    shipped: () =>
      countShipped(KAFKA_BROKERS, topics.name(SHIPMENT_TOPIC), topics.partitions, (_value, headers) =>
        String(headers['ce_type']).endsWith('ship'),
      ),
    stop: async () => {
      await Promise.all(processors.map(({ child }) => child.kill()))
      await lanes.close()
      rmSync(dir, { recursive: true, force: true })
      await publisher.close()
      await producer.close()
      await installation.drop()
    },
  }
}
