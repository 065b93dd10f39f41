import { readApiConfig } from '../api/config.ts'
import { readGateway } from '../gateway/config.ts'
import { readProcessorConfig } from '../processor/config.ts'
import { BadConfiguration } from '../runtime/config.ts'
import type { Check } from './config-check.ts'

export const PROCESSES = ['api', 'gateway', 'processor'] as const
export type ProcessName = (typeof PROCESSES)[number]

const READERS: Record<ProcessName, (env: NodeJS.ProcessEnv) => void> = {
  api: readApiConfig,
  gateway: readGateway,
  processor: readProcessorConfig,
}

/** Reads each process's environment as the process itself would, and lists every mistake. */
export function checkEnvironment(env: NodeJS.ProcessEnv, processes: readonly ProcessName[]): Check[] {
  return processes.map((name) => {
    try {
      READERS[name](env)
      return { check: `environment of ${name}`, result: 'ok', detail: '' }
    } catch (error) {
      if (!(error instanceof BadConfiguration)) throw error
      const detail = error.message.split('\n').slice(1).join('\n')
      return { check: `environment of ${name}`, result: 'problem', detail }
    }
  })
}
