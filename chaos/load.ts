import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { CLOCK_STEP } from './system/managed.ts'
import { SENDERS_CLOCK } from './system/watch-stalls.ts'
import type { World } from './system/world.ts'

export interface Load {
  /** Resolves when everything was sent and heard; the providers still answer who asks them. */
  readonly sent: Promise<void>
  /** Ends that. @returns the simulator's exit code: 1 if something was wrongly accepted */
  readonly end: () => Promise<number>
  readonly logFile: string
}

/** Of the callbacks: a fifth of all deliveries is one too many, besides what comes again for want of an answer. */
const DUPLICATE_SHARE = '0.25'
/**
 * Of the orders. 15 % hear of something before what it follows, 2 % are unknown, 1 % of another amount. An order has one
 * and a half deliveries: so of these 2 % are forged, altered, old or another's, 1 % probes, 0.5 % hostile.
 */
const STORY_SHARES = [
  ...['created_late=0.11', 'refund_first=0.04', 'unknown=0.02', 'wrong_amount=0.01', 'probed=0.016'],
  ...['forged=0.015', 'stale=0.008', 'stranger=0.008', 'hostile=0.006', 'slow_head=0.002'],
].join(',')
/** Enough for an open loop: who waits for an answer holds up nobody else. */
const IN_FLIGHT_MAX = 2_000
const AGAIN_MS = 10_000
/** Of the orders, those whose callbacks are all lost: that they are paid only the provider tells, if it is asked. */
const SILENT_SHARE = '0.04'
/** What the simulator logs then. */
const ALL_SENT = 'all is sent'

/** The senders as a process of their own: arrivals do not wait for answers. */
export function startLoad(world: World, options: { seed: number; ordersPerSec: number; seconds: number }): Load {
  const logFile = join(world.dir, 'simulation.jsonl')
  const main = join(import.meta.dirname, '..', 'src', 'simulator', 'main.ts')
  const env = {
    ...process.env,
    ...{ GATEWAY_URLS: world.gatewayUrls.join(','), API_URL: world.api.url, API_TOKEN: world.token },
    ...{ SENDERS_DIR: join(world.dir, 'senders'), SIMULATION_LOG: logFile, SEED: String(options.seed) },
    ...{ ORDERS: String(options.ordersPerSec * options.seconds), DUPLICATE_SHARE, STORY_SHARES },
    ...{ SPREAD_MS: String(options.seconds * 1_000), AGAIN_MS: String(AGAIN_MS), IN_FLIGHT_MAX: String(IN_FLIGHT_MAX) },
    ...{ REPORT_SHARE: '0.2', SLOW_SHARE: '0.005', CUT_OFF_SHARE: '0.01', TIME_SCALE: '0.01' },
    ...{ QUERY_PORT: String(world.queryPort), SILENT_SHARE, CLOCK_FILE: join(world.dir, SENDERS_CLOCK) },
  }
  const child = spawn(process.execPath, ['--import', CLOCK_STEP, main], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = createWriteStream(join(world.dir, 'simulator.log'))
  child.stdout.pipe(output)
  child.stderr.pipe(output)
  process.on('exit', () => child.kill('SIGKILL'))
  const done = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)))
  const sent = new Promise<void>((resolve) => {
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-10_000)
      if (said.includes(ALL_SENT)) resolve()
    })
    void done.then(() => resolve())
  })
  const end = () => {
    child.kill('SIGTERM')
    return done
  }
  return { logFile, sent, end }
}
