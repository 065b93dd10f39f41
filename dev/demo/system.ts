import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import { choosePort } from '../parts/ports.ts'
import * as processes from '../parts/process.ts'
import type { ProcessId } from '../parts/process.ts'

/** A process of the product, started by us. */
export interface Service {
  readonly name: string
  readonly id: ProcessId
  readonly url: string
  readonly metricsUrl: string
  readonly logFile: string
  readonly stop: () => Promise<void>
}

export interface ServiceOptions {
  readonly name: string
  /** A file to run, from the project's folder. */
  readonly main: string
  /** Loaded before it (`node --import`). */
  readonly preload?: string
  readonly env: NodeJS.ProcessEnv
  readonly logDir: string
  readonly port?: number
  readonly metricsPort?: number
}

const ROOT = join(import.meta.dirname, '..', '..')
const READY_MS_MAX = 60_000
const STOP_MS_MAX = 20_000
const run = promisify(execFile)

/** Starts a process and waits until it says that it is ready. @throws Error with the end of its log if it does not */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { name, logDir } = options
  const [port, metricsPort] = [await choosePort(options.port), await choosePort(options.metricsPort)]
  const logFile = join(logDir, `${name}.log`)
  const id = processes.launch({
    command: process.execPath,
    args: [...(options.preload === undefined ? [] : ['--import', options.preload]), join(ROOT, options.main)],
    env: { ...options.env, PORT: String(port), METRICS_PORT: String(metricsPort) },
    logFile,
  })
  const service = {
    ...{ name, id, logFile },
    url: `http://127.0.0.1:${port}`,
    metricsUrl: `http://127.0.0.1:${metricsPort}`,
    stop: () => processes.end(id, 'SIGTERM', STOP_MS_MAX),
  }
  const deadline = performance.now() + READY_MS_MAX
  for (;;) {
    const probe = await fetch(`${service.metricsUrl}/readyz`).catch(() => undefined)
    if (probe?.ok === true) return service
    if (!processes.isAlive(id) || performance.now() > deadline) {
      await service.stop()
      throw new Error(`${name} is not ready: ${(await probe?.text()) ?? ''}\n${tail(logFile)}`)
    }
    await sleep(50)
  }
}

/** Creates tables, topics and schemas with the command line, as an operator would. */
export async function prepare(env: NodeJS.ProcessEnv, partitions: number): Promise<void> {
  await cli(env, 'migrate')
  await Promise.all([cli(env, 'topics', 'create', '--partitions', String(partitions)), cli(env, 'schemas', 'register')])
}

/** Runs `paidonce …` and returns what it prints. @throws Error with its complaint */
export async function cli(env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<string> {
  try {
    return (await run(process.execPath, [join(ROOT, 'src/cli/main.ts'), ...args], { env })).stdout
  } catch (error) {
    const { stderr } = error as { stderr?: string }
    throw new Error(`paidonce ${args.join(' ')} failed: ${stderr ?? String(error)}`, { cause: error })
  }
}

/** A metric of a process, summed over its labels. */
export async function metric(service: Service, name: string): Promise<number> {
  let sum = 0
  for (const [, value] of await metricLines(service, name)) sum += value
  return sum
}

/** A metric of a process by the value of one label. */
export async function metricBy(service: Service, name: string, label: string): Promise<Map<string, number>> {
  const byLabel = new Map<string, number>()
  for (const [labels, value] of await metricLines(service, name)) {
    const key = new RegExp(`${label}="([^"]*)"`).exec(labels)?.[1] ?? ''
    byLabel.set(key, (byLabel.get(key) ?? 0) + value)
  }
  return byLabel
}

async function metricLines(service: Service, name: string): Promise<[labels: string, value: number][]> {
  const text = await (await fetch(`${service.metricsUrl}/metrics`)).text()
  return text.split('\n').flatMap((line) => {
    const match = /^([a-z_]+)(\{.*\})? ([^ ]+)$/.exec(line)
    return match?.[1] === name ? [[match[2] ?? '', Number(match[3])] as [string, number]] : []
  })
}

function tail(file: string): string {
  try {
    return readFileSync(file, 'utf8').split('\n').slice(-15).join('\n')
  } catch {
    return ''
  }
}
