import type { Host } from '../world/queue.ts'
import type { Random } from '../world/random.ts'
import type { Action } from './plan.ts'
import type { World } from './world.ts'

export const POINT_FAULTS = ['kill', 'pause', 'late', 'lost'] as const
export type PointFault = (typeof POINT_FAULTS)[number]
export type Process = 'processor' | 'gateway' | 'api'

/** A process that stands at one of its crash points. */
export interface Standing {
  readonly process: Process
  readonly host: Host
  /** What else ends or stands still with it. */
  readonly kill: (host: Host) => boolean
  readonly pause: (host: Host, forMs: number) => boolean
}

/** Makes faults at crash points, and not at any step: so that each is met by each kind. */
export interface Aim {
  /** To be called at each; the process goes on when it has resolved. */
  readonly reach: (standing: Standing, point: string) => void | Promise<void>
  readonly heal: () => void
}

/** The rarer a point is, the more likely it is hit; so many of its kind have come about at most in a history. */
const CHANCES: readonly { readonly of: RegExp; readonly chance: number; readonly most: number }[] = [
  // Whoever is hit at one does not come to those after it.
  { of: /^processor release_(?:before_(?:spend|commit)|commit_sent|after_commit)$/, chance: 0.3, most: 3 },
  { of: /^processor release_/, chance: 0.08, most: 2 },
  { of: /^processor brake_changed$/, chance: 0.4, most: 1 },
  { of: /^processor wake_after_work$/, chance: 0.04, most: 1 },
  { of: /^processor wake_/, chance: 0.12, most: 2 },
  { of: /^api (?:brake_|command_|create_complete_)/, chance: 0.15, most: 2 },
  { of: /^processor emit_after_kafka_commit$/, chance: 0.06, most: 2 }, // Something is asked from there now and then only.
  { of: /^processor (?:batch_|emit_)/, chance: 0.015, most: 3 },
  { of: /^processor fence_before_first/, chance: 0.1, most: 1 },
  { of: /^processor fence_/, chance: 0.02, most: 2 },
  { of: /./, chance: 0.01, most: 2 },
]
const PAUSE_MS_MAX = 20_000
/** What is asked has been sent when these are reached. */
const IS_SENT = /_commit_sent$|^produce_called$/

/** So that events wait and are let go, which is rare otherwise. */
export function aimedActions(random: Random): Action[] {
  if (random.chance(0.1)) return []
  const atMs = random.next() * 4_000
  return [
    { kind: 'brake', atMs, merchant: 'm1', outTradeNo: null, eventType: random.pick([null, 'ship']) },
    { kind: 'release', atMs: atMs + 1_000 + random.next() * 5_000 },
  ]
}

export const cellOf = (process: Process, point: string, fault: PointFault) => `${process} ${point} ${fault}`

export function createAim({ scheduler, network, tally, log }: World, random: Random): Aim {
  const hits = new Map<RegExp, number>()
  let isOver = false
  const strike = ({ process, host, kill, pause }: Standing, point: string, of: RegExp): Promise<void> | undefined => {
    const fault = random.pick(POINT_FAULTS)
    const done = () => {
      hits.set(of, (hits.get(of) ?? 0) + 1)
      tally.count(cellOf(process, point, fault))
    }
    scheduler.note(`${fault} at ${point}`)
    log.info({ fault, host: host.name, point }, 'FAULT')
    if (fault === 'kill') {
      if (!kill(host)) return undefined
      done()
      return new Promise(() => undefined)
    }
    if (fault === 'pause') {
      const longMs = random.chance(0.6) ? PAUSE_MS_MAX : 1_000
      if (!pause(host, random.next() * longMs)) return undefined
      return new Promise((resolve) => {
        scheduler.at(0, host, `goes on at ${point}`, () => {
          done()
          resolve()
        })
      })
    }
    if (IS_SENT.test(point)) network.fates.ofLast(host, { kind: fault, done })
    else network.fates.ofNext(host, { kind: fault, done }, process === 'processor')
    return undefined
  }
  return {
    reach: (standing, point) => {
      if (isOver || standing.host.state !== 'up') return undefined
      const rule = CHANCES.find(({ of }) => of.test(`${standing.process} ${point}`))
      if (rule === undefined || (hits.get(rule.of) ?? 0) >= rule.most) return undefined
      return random.chance(rule.chance) ? strike(standing, point, rule.of) : undefined
    },
    heal: () => (isOver = true),
  }
}
