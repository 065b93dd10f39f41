import { readApiConfig } from '../api/config.ts'
import { readGateway } from '../gateway/config.ts'
import { readProcessorConfig } from '../processor/config.ts'
import { readReconcilerSetup } from '../reconcile/config.ts'
import { BadConfiguration } from '../runtime/config.ts'
import type { Check } from './config-check.ts'
import { isSet } from './connect.ts'

export const PROCESSES = ['api', 'gateway', 'processor', 'reconciler'] as const
export type ProcessName = (typeof PROCESSES)[number]

const READERS: Record<ProcessName, (env: NodeJS.ProcessEnv) => void> = {
  api: readApiConfig,
  gateway: readGateway,
  processor: readProcessorConfig,
  reconciler: readReconcilerSetup,
}

/** All that are meant to run: the reconciler where there are keys for it. */
export const processesOf = (env: NodeJS.ProcessEnv): readonly ProcessName[] =>
  PROCESSES.filter((name) => name !== 'reconciler' || isSet(env, 'QUERY_KEYS_DIR'))

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
