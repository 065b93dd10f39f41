import { readGatewayConfig } from '../../src/gateway/config.ts'
import { startGateway, type Gateway, type GatewayDeps } from '../../src/gateway/start.ts'
import { createLog } from '../../src/runtime/log.ts'
import type { TestMerchant } from './merchant.ts'
import { processEnv } from './stack.ts'
import { until } from './until.ts'

/** A gateway in this process, on free ports and the stack's topics under `prefix`. */
export function gatewayOf(
  merchant: TestMerchant,
  prefix: string,
  { env = {}, deps = {} }: { env?: Readonly<Record<string, string>>; deps?: GatewayDeps } = {},
): Promise<Gateway> {
  const config = readGatewayConfig(processEnv({ MERCHANTS_DIR: merchant.dir, TOPIC_PREFIX: prefix, ...env }))
  return startGateway(config, { log: createLog('gateway', 'silent'), ...deps })
}

export const isReady = async ({ metricsPort }: Pick<Gateway, 'metricsPort'>) =>
  (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).ok

export const ready = (gateway: Pick<Gateway, 'metricsPort'>) => until('the gateway is ready', () => isReady(gateway))

/** The value of one metric line, labels in the order in which they are printed; 0 if it has not been counted yet. */
export async function metric({ metricsPort }: Pick<Gateway, 'metricsPort'>, line: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const found = text.split('\n').find((one) => one.startsWith(`${line} `))
  return found === undefined ? 0 : Number(found.slice(line.length + 1))
}
