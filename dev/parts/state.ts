import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as processes from './process.ts'
import type { ProcessId } from './process.ts'

/** What a process of ours needs to find the stack. */
export interface StackEnv {
  readonly KAFKA_BROKERS: string
  readonly DATABASE_URL: string
  readonly SCHEMA_REGISTRY_URL: string
  readonly ALLOW_SINGLE_REPLICA?: '1'
}
export const ALLOW_SINGLE_REPLICA = { ALLOW_SINGLE_REPLICA: '1' } as const

/** `stack.json`: how to reach a running stack, and which processes `down` may end. */
export interface StackState {
  readonly env: StackEnv
  readonly parts: readonly {
    readonly name: string
    readonly id: ProcessId
    readonly stopSignal: NodeJS.Signals
    readonly logFile: string
  }[]
}

/** The project's own folder for state, data and logs; never committed. */
export const LOCAL_DIR = join(import.meta.dirname, '..', '..', '.local')

const file = (dir: string) => join(dir, 'stack.json')

export function readState(dir: string): StackState | undefined {
  try {
    return JSON.parse(readFileSync(file(dir), 'utf8')) as StackState
  } catch {
    return undefined
  }
}

export function writeState(dir: string, state: StackState): void {
  mkdirSync(dir, { recursive: true })
  writeFileSync(`${file(dir)}.new`, `${JSON.stringify(state, undefined, 2)}\n`, { mode: 0o600 })
  renameSync(`${file(dir)}.new`, file(dir))
}

export const forgetState = (dir: string): void => rmSync(file(dir), { force: true })

/** The running stack's environment, if every process of it still lives. */
export function runningStack(dir = LOCAL_DIR): StackEnv | undefined {
  const state = readState(dir)
  return state?.parts.every((part) => processes.isAlive(part.id)) === true ? state.env : undefined
}

/** Said before it is used: who has forgotten the variables would wonder. */
export const GIVEN_STACK =
  'using the stack that KAFKA_BROKERS, DATABASE_URL and SCHEMA_REGISTRY_URL name (unset them to have one started)'

/** A stack that somebody else runs, named by the environment; all three or none. @throws Error when some are missing */
export function givenStack(env: NodeJS.ProcessEnv): StackEnv | undefined {
  const names = ['KAFKA_BROKERS', 'DATABASE_URL', 'SCHEMA_REGISTRY_URL'] as const
  const missing = names.filter((name) => (env[name] ?? '') === '')
  if (missing.length === names.length) return undefined
  if (missing.length > 0) throw new Error(`set ${missing.join(' and ')} too, or none of ${names.join(', ')}`)
  return {
    KAFKA_BROKERS: env['KAFKA_BROKERS'] ?? '',
    DATABASE_URL: env['DATABASE_URL'] ?? '',
    SCHEMA_REGISTRY_URL: env['SCHEMA_REGISTRY_URL'] ?? '',
    ...(env['ALLOW_SINGLE_REPLICA'] === '1' ? ALLOW_SINGLE_REPLICA : {}),
  }
}
