import { readGatewayConfig } from '../../src/gateway/config.ts'
import { createReceive } from '../../src/gateway/receive-callback.ts'
import { startGateway, type Gateway } from '../../src/gateway/start.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/runtime/log.ts'
import type { Callback } from '../../src/schemas/callback.ts'
import { until } from './until.ts'

export interface FakeGateway {
  readonly gateway: Gateway
  /** All that would be in Kafka. */
  readonly published: readonly Callback[]
  readonly logLines: readonly string[]
}

/** A gateway of the merchants in a directory whose Kafka is here: it keeps what is published and acknowledges it. */
export async function withFakeGateway(
  merchantsDir: string,
  now: () => Date,
  work: (fake: FakeGateway) => Promise<void>,
  moreEnv: Readonly<Record<string, string>> = {},
): Promise<void> {
  const published: Callback[] = []
  const logLines: string[] = []
  const encoded = new Map<Buffer, Callback>()
  const encode = (_topic: string, value: unknown) => {
    const bytes = Buffer.alloc(1)
    encoded.set(bytes, value as Callback)
    return bytes
  }
  const publisher: Parameters<typeof createReceive>[0] = {
    publish: ({ value }, _deadlineAtMs, settle) => {
      const callback = encoded.get(value)
      if (callback === undefined) throw new Error('published before encoded')
      published.push(callback)
      setImmediate(settle, { kind: 'acked' })
    },
    close: () => Promise.resolve(),
    pending: () => ({ records: 0, bytes: 0 }),
  }
  const codec = { encode } as unknown as Parameters<typeof createReceive>[1]
  const clock: Clock = { now, elapsedMs: () => performance.now() }
  const env = { KAFKA_BROKERS: '127.0.0.1:1', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1', MERCHANTS_DIR: merchantsDir }
  const log = createLog('gateway', 'info', { write: (line) => void logLines.push(line) })
  const gateway = await startGateway(readGatewayConfig({ ...env, PORT: '0', METRICS_PORT: '0', ...moreEnv }), {
    clock,
    log,
    connect: () =>
      Promise.resolve({ receive: createReceive(publisher, codec, clock, log), close: () => Promise.resolve() }),
  })
  try {
    await until('it is ready', async () => (await fetch(`http://127.0.0.1:${gateway.metricsPort}/readyz`)).ok)
    await work({ gateway, published, logLines })
  } finally {
    await gateway.stop()
  }
}
