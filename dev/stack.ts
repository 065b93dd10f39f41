import { parseArgs } from 'node:util'
import { join, resolve } from 'node:path'
import * as processes from './parts/process.ts'
import { AlreadyRuns, holderOf } from './parts/only-one.ts'
import { MissingPrograms } from './parts/prerequisites.ts'
import { say } from './parts/progress.ts'
import { startStack } from './parts/stack.ts'
import {
  forgetState,
  givenStack,
  LOCAL_DIR,
  readState,
  runningStack,
  writeState,
  type StackEnv,
} from './parts/state.ts'
import { endAtHelp, usageMistake } from './parts/usage.ts'

const USAGE = `usage: npm run -s stack -- up|down|status|env [--dir DIR]

  up      start Kafka, Postgres and a schema registry, and leave them running
  down    stop what "up" started; data and logs stay in DIR/stack
  status  say what runs, where, and where its log is
  env     print the stack's environment, for: export $(npm run -s stack -- env)

With KAFKA_BROKERS, DATABASE_URL and SCHEMA_REGISTRY_URL set, those are used and nothing is started.`

/**
 * Starts the stack if none is given or runs.
 * @returns its environment
 * @throws AlreadyRuns where `npm start` has one of its own on the same data
 */
export async function up(dir = LOCAL_DIR): Promise<StackEnv> {
  const present = givenStack(process.env) ?? runningStack(dir)
  if (present !== undefined) return present
  const start = holderOf(join(dir, 'start.pid'))
  if (start !== undefined)
    throw new AlreadyRuns(
      `\`npm start\` (pid ${start.pid}) has this folder's stack to itself: end it with Ctrl-C first.`,
    )
  await down(dir) // what is left of one that lost a part
  const guard = processes.dieTogether()
  const stack = await startStack({ dir: join(dir, 'stack'), preferPorts: true })
  const parts = stack.parts.map(({ name, id, stopSignal, logFile }) => ({ name, id, stopSignal, logFile }))
  writeState(dir, { env: stack.env, parts })
  guard.release()
  return stack.env
}

/** Stops the processes that `up` started, and no other. */
export async function down(dir = LOCAL_DIR): Promise<void> {
  const parts = readState(dir)?.parts ?? []
  for (const part of parts.toReversed()) await processes.end(part.id, part.stopSignal, 20_000)
  forgetState(dir)
}

function status(dir: string): boolean {
  const state = readState(dir)
  for (const part of state?.parts ?? [])
    say(`${part.name.padEnd(9)} ${processes.isAlive(part.id) ? 'runs ' : 'ended'} pid ${part.id.pid}  ${part.logFile}`)
  const env = givenStack(process.env) ?? runningStack(dir)
  say(env === undefined ? 'no stack runs' : show(env))
  return env !== undefined
}

const show = (env: StackEnv) =>
  Object.entries(env)
    .map(([name, value]) => `${name}=${value as string}`)
    .join('\n')

async function main(): Promise<number> {
  endAtHelp(USAGE)
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { dir: { type: 'string' } } })
  const dir = values.dir === undefined ? LOCAL_DIR : resolve(values.dir)
  switch (positionals[0]) {
    case 'up':
      say(show(await up(dir)))
      return 0
    case 'down':
      await down(dir)
      return 0
    case 'status':
      return status(dir) ? 0 : 1
    case 'env': {
      const env = givenStack(process.env) ?? runningStack(dir)
      if (env !== undefined) process.stdout.write(`${show(env)}\n`)
      return env === undefined ? 1 : 0
    }
    default:
      say(USAGE)
      return 2
  }
}

if (import.meta.main)
  main().then(
    (code) => (process.exitCode = code),
    (error: unknown) => {
      const mistake = usageMistake(error)
      say(mistake === undefined ? (error instanceof Error ? error.message : String(error)) : `${mistake}\n${USAGE}`)
      process.exitCode = mistake !== undefined ? 2 : error instanceof MissingPrograms ? 3 : 1
    },
  )
