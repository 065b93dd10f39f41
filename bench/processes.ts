import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { processEnv } from '../test/helpers/stack.ts'
import { until } from '../test/helpers/until.ts'

export interface Measured {
  readonly pid: number
  readonly port: number
  readonly metricsPort: number
  readonly stop: () => Promise<void>
}

/** Starts a process of the product on free ports and waits until it is ready. */
export async function startMeasured(main: string, env: Readonly<Record<string, string>>): Promise<Measured> {
  const [port, metricsPort] = [await freePort(), await freePort()]
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', main)], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: processEnv({ ...env, PORT: String(port), METRICS_PORT: String(metricsPort) }),
  })
  const started = { pid: child.pid ?? 0, port, metricsPort, stop: () => end(child) }
  try {
    await until(
      `${main} is ready`,
      async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`).catch(() => undefined))?.ok === true,
      60_000,
    )
  } catch (error) {
    await started.stop()
    throw error
  }
  return started
}

/** Ends a child that we started and waits for it. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

/** The sum of a counter over all its labels, or of those lines that hold `label`. */
export async function counter(metricsPort: number, name: string, label = ''): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return text
    .split('\n')
    .filter((line) => line.startsWith(name) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** CPU of all threads of a process so far, from the scheduler's own clock. */
export function cpuMicros(pid: number): number {
  let nanos = 0
  for (const thread of readdirSync(`/proc/${pid}/task`))
    nanos += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
  return nanos / 1_000
}

/** Time that the machine's cores were busy or not, since it started; all cores together, in hundredths of a second. */
export function machineTicks(): { busy: number; all: number } {
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = (
    readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
  )
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number)
  const busy = user + nice + system + irq + softirq + steal
  return { busy, all: busy + idle + iowait }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
