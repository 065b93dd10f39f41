import { setTimeout as delay } from 'node:timers/promises'
import type { Redis } from '../../dev/parts/redis.ts'
import { repeatAll, storm } from './storm.ts'
import { MOMENTS, WORKERS, type System } from './system.ts'

export interface Leak {
  readonly orders: number
  /** Shipments beyond the first of an order. */
  readonly doubled: number
  /** Orders that were answered with success and never shipped. */
  readonly lost: number
}
export interface Played {
  readonly name: string
  readonly concurrency: Leak & { readonly callbacksPerSec: number }
  readonly crash: Leak & { readonly kills: number }
  readonly failover: Leak & { readonly failovers: number }
}
export interface PlayOptions {
  readonly orders: number
  readonly kills: number
  readonly failovers: number
  /** 0 to 1, from a seed. */
  readonly random: () => number
}

/** The three tests, one after the other on one system. What a test ships has its own order numbers. */
export async function play(
  system: System,
  redis: Redis,
  flush: () => Promise<void>,
  options: PlayOptions,
): Promise<Played> {
  const { orders, random } = options
  await storm(system, { prefix: 'W', width: 8, goesOn: (begun) => begun < 20 })

  const startedMs = performance.now()
  const together = await storm(system, { prefix: 'C', width: 16, goesOn: (begun) => begun < orders })
  const concurrency = await leakOf(system, together)
  const callbacksPerSec = Math.round((together.length * 5_000) / (performance.now() - startedMs))

  let kills = 0
  const killing = (async () => {
    for (; kills < options.kills; kills++) {
      await delay(100 + random() * 400)
      await system.killOne(kills % WORKERS, MOMENTS[kills % MOMENTS.length] ?? 'any')
    }
  })()
  const crashed = await storm(system, { prefix: 'K', width: 16, pauseMs: 50, goesOn: () => kills < options.kills })
  await killing
  await repeatAll(system, crashed)
  const crash = await leakOf(system, crashed)

  let failovers = 0
  const failing = (async () => {
    for (; failovers < options.failovers; failovers++) {
      await delay(100 + random() * 200)
      // The last one is a restart; the others are over before a client notices, as if a replica without the last writes
      // had taken over.
      if (failovers === options.failovers - 1) await redis.kill().then(redis.restart)
      else await flush()
    }
  })()
  const moved = await storm(system, {
    prefix: 'F',
    width: 16,
    pauseMs: 50,
    goesOn: () => failovers < options.failovers,
  })
  await failing
  await repeatAll(system, moved)
  const failover = await leakOf(system, moved)

  return {
    name: system.name,
    concurrency: { ...concurrency, callbacksPerSec },
    crash: { ...crash, kills },
    failover: { ...failover, failovers },
  }
}

/** Counted once nothing more comes: when all is there a repeat may still be on its way to ship again. */
export async function leakOf(system: Pick<System, 'settled' | 'shipped'>, orders: readonly string[]): Promise<Leak> {
  await system.settled()
  const shipped = await system.shipped()
  const times = orders.map((order) => shipped.get(order) ?? 0)
  const doubled = times.reduce((sum, n) => sum + Math.max(0, n - 1), 0)
  return { orders: orders.length, doubled, lost: times.filter((n) => n === 0).length }
}
