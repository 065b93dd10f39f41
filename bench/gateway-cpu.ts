import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createMerchant, type SignedCallback } from '../test/helpers/merchant.ts'
import { processEnv } from '../test/helpers/stack.ts'
import { createTopics } from '../test/helpers/topics.ts'
import { until } from '../test/helpers/until.ts'
import type { LoadResult } from './http-load.ts'

// Question: how much CPU does the gateway take for a callback that it accepts (HTTP, RSA, decryption, Avro, Kafka with
// acks=all), as a multiple of what cannot be left out, the RSA-2048 verification? Each round measures both.

export interface GatewayCpu {
  readonly rounds: readonly {
    readonly rsaMicros: number
    readonly gatewayMicros: number
    readonly ratio: number
    readonly perSecond: number
    readonly p50Ms: number
    readonly p99Ms: number
  }[]
  /** The median of the rounds. */
  readonly ratio: number
}

export interface GatewayCpuOptions {
  readonly rounds?: number
  readonly seconds?: number
  readonly connections?: number
  readonly partitions?: number
  readonly env?: Readonly<Record<string, string>>
  /** Options for the gateway's Node, such as `--cpu-prof`. */
  readonly execArgv?: readonly string[]
}

const run = promisify(execFile)
const script = (name: string) => join(import.meta.dirname, name)
const UNIQUE = 2_000

/** Runs it on the local stack; gateway, load and yardstick are processes of their own. */
export async function gatewayCpu(options: GatewayCpuOptions = {}): Promise<GatewayCpu> {
  const { rounds = 3, seconds = 6, connections = 256, partitions = 12 } = options
  const merchant = createMerchant()
  const topics = await createTopics({ partitions })
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-bench-'))
  const [port, metricsPort] = [await freePort(), await freePort()]
  const gateway = spawn(
    process.execPath,
    [...(options.execArgv ?? []), join(import.meta.dirname, '../src/gateway/main.ts')],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: processEnv({
        ...{ MERCHANTS_DIR: merchant.dir, TOPIC_PREFIX: topics.prefix, LOG_LEVEL: 'warn' },
        ...{ PORT: String(port), METRICS_PORT: String(metricsPort), ...options.env },
      }),
    },
  )
  const pid = gateway.pid ?? 0
  try {
    await until('the gateway is ready', async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).ok)
    const file = join(dir, 'requests')
    const load = async (forSeconds: number) => {
      const args = [script('http-load.ts'), file, String(port), String(connections), String(forSeconds)]
      return JSON.parse((await run(process.execPath, args)).stdout) as LoadResult
    }
    const measured = []
    for (let round = 0; round < rounds; round++) {
      // Signed anew, as a signature is good for five minutes.
      const callbacks = Array.from({ length: UNIQUE }, (_, i) => merchant.wechatpay(`B${round}-${i}`))
      writeFileSync(file, Buffer.concat(callbacks.map(onTheWire)))
      await load(2)
      const rsaBefore = await rsaMicros()
      const cpuBefore = cpuMicros(pid)
      const result = await load(seconds)
      const gatewayMicros = (cpuMicros(pid) - cpuBefore) / result.success
      const rsa = (rsaBefore + (await rsaMicros())) / 2
      if (result.success !== result.answers)
        throw new Error(`${result.answers - result.success} answers were no success`)
      measured.push({
        rsaMicros: round1(rsa),
        gatewayMicros: round1(gatewayMicros),
        ratio: Math.round((gatewayMicros / rsa) * 100) / 100,
        perSecond: Math.round(result.success / result.seconds),
        ...{ p50Ms: result.p50Ms, p99Ms: result.p99Ms },
      })
    }
    const ratios = measured.map(({ ratio }) => ratio).sort((a, b) => a - b)
    return { rounds: measured, ratio: ratios[Math.floor(ratios.length / 2)] ?? NaN }
  } finally {
    const ended = new Promise((resolve) => gateway.once('exit', resolve))
    gateway.kill('SIGTERM')
    await ended
    await topics.drop()
    merchant.remove()
    rmSync(dir, { recursive: true, force: true })
  }
}

const rsaMicros = async () => Number((await run(process.execPath, [script('rsa-cpu.ts'), '1.5'])).stdout)
const round1 = (value: number) => Math.round(value * 10) / 10

function onTheWire({ path, headers, rawBody }: SignedCallback): Buffer {
  const lines = Object.entries({ host: 'localhost', 'content-length': rawBody.length, accept: '*/*', ...headers })
  const head = Buffer.from(
    `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  )
  const length = Buffer.alloc(4)
  length.writeUInt32BE(head.length + rawBody.length)
  return Buffer.concat([length, head, rawBody])
}

/** CPU of all threads of a process so far, from the scheduler's own clock. */
function cpuMicros(pid: number): number {
  let nanos = 0
  for (const thread of readdirSync(`/proc/${pid}/task`))
    nanos += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
  return nanos / 1_000
}

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net')
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

if (import.meta.main) {
  const number = (name: string) =>
    process.env[name] === undefined ? {} : { [name.toLowerCase()]: Number(process.env[name]) }
  const result = await gatewayCpu({
    ...number('ROUNDS'),
    ...number('SECONDS'),
    ...number('CONNECTIONS'),
    ...number('PARTITIONS'),
  })
  console.table(result.rounds)
  console.log(JSON.stringify({ gatewayCpuRatio: result.ratio }))
}
