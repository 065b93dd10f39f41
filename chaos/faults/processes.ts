import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Random } from '../../src/simulator/random.ts'
import type { Managed } from '../system/managed.ts'
import { SESSION_MS, type World } from '../system/world.ts'
import { between, pick, type Fault, type Injected } from './fault.ts'

type Of = (world: World) => readonly Managed[]
const gateways: Of = (world) => world.gateways
const processors: Of = (world) => world.processors
const api: Of = (world) => [world.api]
const worker: Of = (world) => [world.worker]
const reconciler: Of = (world) => [world.reconciler]

/** Where senders reach it; empty unless it is a gateway. */
const urlOf = (world: World, one: Managed) => {
  const url = world.gatewayUrls[world.gateways.indexOf(one)]
  return url === undefined ? [] : [url]
}

const kill = (kind: string, group: string, of: Of): Fault => ({
  ...{ kind, group },
  inject: async (world, random) => {
    const one = pick(random, of(world))
    const pid = one.pid()
    await one.end('SIGKILL')
    return {
      ...{ target: one.name, holdMs: between(random, 500, 4_000), hinders: urlOf(world, one) },
      observe: () => Promise.resolve(pid !== undefined && one.pid() === undefined ? `pid ${pid} is gone` : undefined),
      heal: async () => {
        await one.start()
        await one.untilReady()
      },
    }
  },
})

const stop = (kind: string, group: string, of: Of, [fromMs, toMs]: readonly [number, number]): Fault => ({
  ...{ kind, group },
  inject: (world, random) => {
    const one = pick(random, of(world))
    const pid = one.pid()
    one.signal('SIGSTOP')
    const holdMs = between(random, fromMs, toMs)
    return Promise.resolve<Injected>({
      ...{ target: `${one.name} for ${holdMs} ms`, holdMs, hinders: urlOf(world, one) },
      observe: async () => {
        const isSilent = one.state() === 'T' && !(await one.isReady())
        return isSilent ? `pid ${pid ?? 0} is stopped and does not answer` : undefined
      },
      heal: async () => {
        one.signal('SIGCONT')
        await one.untilReady()
      },
    })
  },
})

/** The clock of one process, there and back. */
const stepClock = (kind: string, group: string, of: Of, offsetMs: (random: Random) => number): Fault => ({
  ...{ kind, group },
  inject: (world, random) => {
    const one = pick(random, of(world))
    const offset = offsetMs(random)
    const seen = `${one.clockFile}.seen`
    rmSync(seen, { force: true })
    writeFileSync(one.clockFile, String(offset))
    return Promise.resolve<Injected>({
      ...{ target: `${one.name} by ${offset / 1_000} s`, holdMs: between(random, 4_000, 10_000) },
      observe: () => {
        const off = offSec(seen)
        const isStepped = off !== undefined && Math.abs(off - offset / 1_000) < 5
        return Promise.resolve(isStepped ? `its Date is off by ${Math.round(off)} s` : undefined)
      },
      heal: () => {
        writeFileSync(one.clockFile, '0')
        return Promise.resolve()
      },
    })
  },
})

function offSec(file: string): number | undefined {
  try {
    return (Number(readFileSync(file, 'utf8')) - Date.now()) / 1_000
  } catch {
    return undefined
  }
}

/** Each in turn: asked to end, and started again. */
const roll = (kind: string, group: string, of: Of): Fault => ({
  ...{ kind, group, isAlone: true },
  inject: async (world) => {
    const codes: string[] = []
    for (const one of of(world)) {
      codes.push(`${one.name} exited ${await one.end('SIGTERM')}`)
      await one.start()
      await one.untilReady()
    }
    return {
      ...{ target: kind, holdMs: 0, hinders: of(world).flatMap((one) => urlOf(world, one)) },
      observe: () => Promise.resolve(codes.every((code) => code.endsWith('exited 0')) ? codes.join(', ') : undefined),
      heal: () => Promise.resolve(),
    }
  },
})

const killAll: Fault = {
  ...{ kind: 'kill_all_processors', group: 'processor', isAlone: true },
  inject: async (world, random) => {
    const pids = world.processors.map((one) => one.pid())
    await Promise.all(world.processors.map((one) => one.end('SIGKILL')))
    return {
      ...{ target: 'all three', holdMs: between(random, 500, 3_000) },
      observe: () =>
        Promise.resolve(
          world.processors.every((one) => one.pid() === undefined) ? `pids ${pids.join(' ')} are gone` : undefined,
        ),
      heal: async () => {
        await Promise.all(world.processors.map((one) => one.start()))
        await Promise.all(world.processors.map((one) => one.untilReady()))
      },
    }
  },
}

const ROUNDS = 3
const REBALANCES = /^paidonce_rebalances_total (\d+)$/m
const rebalancesOf = async ({ metricsUrl }: Managed) => {
  const answer = await fetch(`${metricsUrl}/metrics`, { signal: AbortSignal.timeout(2_000) })
  return Number(REBALANCES.exec(await answer.text())?.[1] ?? 0)
}

/** One more processor comes and goes, and comes and goes: each time the group deals its lanes out anew. */
const burst: Fault = {
  ...{ kind: 'rebalance_burst', group: 'processor', isAlone: true },
  inject: async ({ processors: members, spare }) => {
    const before = await Promise.all(members.map(rebalancesOf))
    for (let round = 1; round <= ROUNDS; round++) {
      await spare.start()
      await spare.untilReady()
      await spare.end('SIGTERM')
    }
    return {
      ...{ target: `${spare.name} ${ROUNDS} times`, holdMs: 2_000 },
      observe: async () => {
        const now = await Promise.all(members.map(rebalancesOf))
        const fewest = Math.min(...now.map((count, n) => count - (before[n] ?? count)))
        return fewest >= ROUNDS ? `the lanes dealt out ${fewest} times` : undefined
      },
      heal: () => Promise.resolve(),
    }
  },
}

const sign = (random: Random) => (random.chance(0.5) ? 1 : -1)
const MINUTE_MS = 60_000

export const PROCESS_FAULTS: readonly Fault[] = [
  kill('kill_gateway', 'gateway', gateways),
  kill('kill_processor', 'processor', processors),
  kill('kill_api', 'api', api),
  kill('kill_worker', 'worker', worker),
  kill('kill_reconciler', 'reconciler', reconciler),
  killAll,
  burst,
  stop('stop_gateway', 'gateway', gateways, [1_000, 8_000]),
  stop('stop_processor', 'processor', processors, [1_000, SESSION_MS - 1_000]),
  stop('stop_processor_past_session', 'processor', processors, [SESSION_MS + 2_000, 2 * SESSION_MS]),
  stop('stop_worker', 'worker', worker, [1_000, 2 * SESSION_MS]),
  stop('stop_reconciler', 'reconciler', reconciler, [1_000, 2 * SESSION_MS]),
  stepClock('step_clock_gateway', 'gateway', gateways, (random) => sign(random) * 10 * MINUTE_MS),
  stepClock('step_clock_processor', 'processor', processors, (random) => sign(random) * 60 * MINUTE_MS),
  roll('roll_gateways', 'gateway', gateways),
  roll('roll_processors', 'processor', processors),
]
