import type { Metrics } from '../../../src/processor/metrics.ts'
import type { Log } from '../../../src/runtime/log.ts'

const nothing = () => undefined

/** Counts nothing: a registry for each process of each history would cost more than the history. */
export const NO_METRICS = new Proxy(
  {},
  { get: () => ({ inc: nothing, set: nothing, observe: nothing, reset: nothing }) },
) as unknown as Metrics

/** @param say hears what is logged, for whoever looks into one seed */
export function simulatedLog(say?: (line: string) => void): Log {
  const line = say === undefined ? nothing : (fields: object, text: string) => say(`${text} ${JSON.stringify(fields)}`)
  const log = { debug: nothing, info: line, warn: line, error: line, child: () => log }
  return log as unknown as Log
}
