import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { until } from './until.ts'

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Child {
  readonly pid: number
  readonly exited: Promise<Exit>
  readonly exit: () => Exit | undefined
  /** Lines of its log as JSON; lines that are none are under `text`. */
  readonly lines: readonly Readonly<Record<string, unknown>>[]
  /** Waits for a log line. */
  readonly said: (
    what: string,
    test: (line: Readonly<Record<string, unknown>>) => boolean,
    deadlineMs?: number,
  ) => Promise<void>
  readonly signal: (name: NodeJS.Signals) => void
  /** SIGTERM, and waits. */
  readonly stop: () => Promise<Exit>
  /** SIGKILL, and waits. */
  readonly kill: () => Promise<Exit>
}

/** Starts a TypeScript program with this Node; it is killed when the test's worker ends. */
export function startChild(file: string, env: NodeJS.ProcessEnv, args: readonly string[] = []): Child {
  const child = spawn(process.execPath, [file, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const { pid } = child
  if (pid === undefined) throw new Error(`cannot run ${file}`)
  const lines: Record<string, unknown>[] = []
  let exit: Exit | undefined
  const hear = (text: string) => {
    try {
      lines.push(JSON.parse(text) as Record<string, unknown>)
    } catch {
      lines.push({ text })
    }
    if (process.env['SHOW_CHILDREN'] === '1') console.log(`[${pid}] ${text}`)
  }
  createInterface({ input: child.stdout }).on('line', hear)
  createInterface({ input: child.stderr }).on('line', hear)
  const exited = new Promise<Exit>((resolve) =>
    child.once('close', (code, signal) => {
      exit = { code, signal }
      process.off('exit', atExit)
      resolve(exit)
    }),
  )
  const signal = (name: NodeJS.Signals) => {
    if (exit === undefined) child.kill(name)
  }
  const atExit = () => signal('SIGKILL')
  process.on('exit', atExit)
  return {
    pid,
    exited,
    exit: () => exit,
    lines,
    said: async (what, test, deadlineMs) => {
      await until(`the child said ${what}`, () => lines.some(test), deadlineMs)
    },
    signal,
    stop: () => {
      signal('SIGTERM')
      return exited
    },
    kill: () => {
      signal('SIGKILL')
      return exited
    },
  }
}

const PROCESSOR = new URL('./processor-child.ts', import.meta.url).pathname
export const startProcessorChild = (env: NodeJS.ProcessEnv) => startChild(PROCESSOR, env)

const CLI = new URL('./cli-child.ts', import.meta.url).pathname
/** The command line with these arguments. */
export const startCliChild = (env: NodeJS.ProcessEnv, args: readonly string[]) => startChild(CLI, env, args)

const API = new URL('./api-child.ts', import.meta.url).pathname
export const startApiChild = (env: NodeJS.ProcessEnv) => startChild(API, env)

const GATEWAY = new URL('./gateway-child.ts', import.meta.url).pathname
export const startGatewayChild = (env: NodeJS.ProcessEnv) => startChild(GATEWAY, env)

/** Where an api that was started as a child listens. */
export async function portOf(api: Child): Promise<number> {
  const isUp = (line: Readonly<Record<string, unknown>>) => line['msg'] === 'api listens'
  await api.said('that it listens', isUp)
  return Number(api.lines.find(isUp)?.['port'])
}
