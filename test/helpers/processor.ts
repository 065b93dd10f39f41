import { createLog } from '../../src/runtime/log.ts'
import { readProcessorConfig } from '../../src/processor/config.ts'
import { startProcessor, type ProcessorDeps, type RunningProcessor } from '../../src/processor/start.ts'
import type { Installation } from './installation.ts'
import { until } from './until.ts'

/** A processor inside the test; `LOG_LEVEL=info` shows what it does. */
export async function startTestProcessor(
  installation: Installation,
  more: Readonly<Record<string, string>> = {},
  deps: ProcessorDeps = {},
): Promise<RunningProcessor> {
  const config = readProcessorConfig(installation.env(more))
  return startProcessor(config, { log: createLog('processor', process.env['LOG_LEVEL'] ?? 'error'), ...deps })
}

/** Waits until these processors own all lanes, each at least one, and every lane runs or is halted. */
export async function untilSettled(processors: readonly RunningProcessor[], partitions: number, deadlineMs = 20_000) {
  await until(
    'every lane has an owner and is fenced',
    () => {
      const shares = processors.map((processor) => processor.lanes())
      const views = shares.flat()
      const isShared = shares.every(({ length }) => length > 0)
      return isShared && views.length === partitions && views.every(({ state }) => state !== 'fencing')
    },
    deadlineMs,
  )
}

/** The text of `/metrics`, `/readyz` or `/healthz`. */
export async function probe(
  { metricsPort }: RunningProcessor,
  path: string,
): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${metricsPort}${path}`)
  return { status: response.status, text: await response.text() }
}

/** The sum of a metric's series whose labels contain `labels`. */
export function metricOf(text: string, name: string, labels = ''): number {
  return text
    .split('\n')
    .filter((line) => new RegExp(`^${name}(\\{| )`).test(line) && line.includes(labels))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}
