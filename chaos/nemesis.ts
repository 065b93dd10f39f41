import { setTimeout as sleep } from 'node:timers/promises'
import { randomOf, type Random } from '../src/simulator/random.ts'
import { say } from '../dev/parts/progress.ts'
import type { FaultLine } from './checker/capture.ts'
import { drawFaults, FAULTS } from './faults/catalogue.ts'
import { between, type Fault, type Injected } from './faults/fault.ts'
import { untilCaughtUp } from './system/until-caught-up.ts'
import type { World } from './system/world.ts'

/** After that a heal counts as one that never came to rest; it is waited for no longer. */
const RECOVERY_MS_MAX = 90_000
const LOOK_MS = 100
/** What stands on something that another fault has taken away comes back after that. */
const HEAL_MS_MAX = 90_000

type Line = FaultLine & { readonly error?: string }

/** Makes faults until the time is over: one or two at once, then heals, then waits until the lanes have caught up. */
export async function runNemesis(world: World, random: Random, untilMs: number): Promise<Line[]> {
  const possible = FAULTS.filter(({ missing }) => missing?.(world) === undefined)
  const draw = drawFaults(random, possible)
  const lines: Line[] = []
  while (performance.now() < untilMs) {
    const faults = draw()
    // Each has numbers of its own: which of two asks first is up to the machine.
    const done = await Promise.all(faults.map((fault) => once(world, randomOf(1 + random.below(2 ** 31)), fault)))
    const isCaughtUp = (await untilCaughtUp(world.lanes, RECOVERY_MS_MAX)) !== undefined
    // Two at once heal at different times: what is measured begins when the later one is undone, and so has in it how
    // long a broker or a process takes to start.
    const last = Math.max(...done.map((line) => line.healMs))
    const recoveryMs = isCaughtUp ? Date.now() - last : null
    for (const { healMs, ...line } of done) {
      lines.push(healMs === last && line.observed !== null ? { ...line, recoveryMs } : line)
      const took = recoveryMs === null ? 'never caught up' : `caught up after ${(recoveryMs / 1_000).toFixed(1)} s`
      say(`  ${line.kind}: ${line.target}: ${line.observed ?? `no effect seen ${line.error ?? ''}`}; ${took}`)
    }
    await sleep(between(random, 300, 1_500))
  }
  return lines
}

async function once(world: World, random: Random, fault: Fault): Promise<Line & { readonly healMs: number }> {
  const fromMs = Date.now()
  let injected: Injected
  try {
    injected = await fault.inject(world, random)
  } catch (error) {
    const nowMs = Date.now()
    return { kind: fault.kind, target: '', fromMs, untilMs: nowMs, healMs: nowMs, observed: null, error: String(error) }
  }
  const { target, holdMs, hinders, poison, actions } = injected
  const end = performance.now() + holdMs
  let observed: string | undefined
  // At least once, also of what is over as soon as it is there.
  do {
    observed ??= await injected.observe().catch(() => undefined)
    await sleep(Math.min(LOOK_MS, Math.max(0, end - performance.now())))
  } while (performance.now() < end)
  observed ??= await injected.observe().catch(() => undefined)
  const healMs = Date.now()
  await healed(injected)
  return {
    healMs,
    ...{ kind: fault.kind, target, fromMs, untilMs: Date.now(), observed: observed ?? null },
    ...(hinders === undefined ? {} : { hinders }),
    ...(poison === undefined ? {} : { poison }),
    ...(actions === undefined ? {} : { actions }),
  }
}

async function healed({ heal, target }: Injected): Promise<void> {
  const deadline = performance.now() + HEAL_MS_MAX
  for (;;)
    try {
      await heal()
      return
    } catch (error) {
      say(`  healing ${target}: ${String(error).slice(0, 300)}`)
      if (performance.now() > deadline) throw error
      await sleep(1_000)
    }
}
