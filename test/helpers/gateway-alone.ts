import type { BatchPublisher, Published } from '../../src/gateway/batch-publisher.ts'
import { readGatewayConfig } from '../../src/gateway/config.ts'
import { createReceive } from '../../src/gateway/receive-callback.ts'
import { startGateway, type Gateway } from '../../src/gateway/start.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/runtime/log.ts'
import type { Callback } from '../../src/schemas/callback.ts'
import type { Codec } from '../../src/schemas/codec.ts'

export const ACKED: Published = { kind: 'acked' }

export interface GatewayAlone {
  readonly gateway: Gateway
  readonly published: Callback[]
  readonly orders: () => (string | null)[]
}

/** A gateway over real HTTP whose Kafka is here: it keeps what is published and acknowledges it as the test says. */
export async function withGatewayAlone(
  work: (alone: GatewayAlone) => Promise<void>,
  {
    merchantsDir,
    ack = () => Promise.resolve(ACKED),
    env = {},
    connected = true,
    clock: gatewayClock,
  }: {
    merchantsDir: string
    ack?: (callback: Callback) => Promise<Published>
    env?: Record<string, string>
    connected?: boolean
    clock?: Clock
  },
): Promise<void> {
  const published: Callback[] = []
  const encoded = new Map<Buffer, Callback>()
  const codec: Pick<Codec, 'encode'> = {
    encode: (_topic, value) => {
      const bytes = Buffer.alloc(1)
      encoded.set(bytes, value as Callback)
      return bytes
    },
  }
  const publisher: BatchPublisher = {
    publish: ({ value }, _deadlineAtMs, settle) => {
      const callback = encoded.get(value)
      if (callback === undefined) throw new Error('published before encoded')
      published.push(callback)
      void ack(callback).then(settle)
    },
    close: () => Promise.resolve(),
    pending: () => ({ records: 0, bytes: 0 }),
  }
  const config = readGatewayConfig({
    ...{ KAFKA_BROKERS: '127.0.0.1:1', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1', MERCHANTS_DIR: merchantsDir },
    ...{ PORT: '0', METRICS_PORT: '0', ...env },
  })
  const gateway = await startGateway(config, {
    log: createLog('gateway', 'silent'),
    ...(gatewayClock === undefined ? {} : { clock: gatewayClock }),
    connect: (_config, { clock, log, signal }) =>
      connected
        ? Promise.resolve({ receive: createReceive(publisher, codec as Codec, clock, log), close: publisher.close })
        : new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(new Error('stopped')))
          }),
  })
  try {
    await work({ gateway, published, orders: () => published.map(({ outTradeNo }) => outTradeNo) })
  } finally {
    await gateway.stop()
  }
}
