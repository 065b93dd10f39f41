import { simulatedConnections } from '../postgres/connection.ts'
import { dumpSimulated } from '../postgres/dump.ts'
import { failure } from '../postgres/database.ts'
import { createServer, type Session } from '../postgres/server.ts'
import { createNetwork } from '../world/network.ts'
import type { Host } from '../world/queue.ts'
import { createRandom } from '../world/random.ts'
import { createScheduler } from '../world/scheduler.ts'
import type { SessionsSide } from './play-sessions.ts'

const nothing = () => undefined
/** Of the event loop, where nothing is left to happen in the world. */
const TURNS_MAX = 100
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** @param seed who is first of those that wait for the same row */
export function simulatedSide(seed: number) {
  const random = createRandom(seed, 9)
  const scheduler = createScheduler(nothing)
  const network = createNetwork(scheduler, random)
  const circles: string[] = []
  const events = { beforeCommit: nothing, onDeadlock: (where: string) => void circles.push(where), onNotify: nothing }
  const server = createServer(scheduler, random, events)
  const hosts = new Map<string, Host>()
  const hostOf = (actor: string): Host => {
    const host = hosts.get(actor) ?? scheduler.host(actor)
    hosts.set(actor, host)
    return host
  }
  const wire = { cut: 0, hang: 0, linger: 0 }
  const waiting = (actor: string) => server.sessionsOf(hostOf(actor)).find((one) => server.waitsFor(one) !== undefined)
  const rootsOf = (session: Session, path: readonly Session[] = []): readonly string[] => {
    const owner = server.waitsFor(session)
    if (owner === undefined) return [session.host.name]
    return path.includes(owner) ? ['a circle'] : rootsOf(owner, [...path, session])
  }
  const side: SessionsSide = {
    url: 'simulated',
    createConnection: (actor) => simulatedConnections(hostOf(actor), { scheduler, random, network, server, wire }),
    settle: async (gates) => {
      const isQuiet = () =>
        [...gates].every(([actor, { state, isImpatient, connections }]) => {
          if (server.sessionsOf(hostOf(actor)).length !== connections.size) return false
          if (state === 'sent') return waiting(actor) !== undefined && !isImpatient()
          return state !== 'busy'
        })
      for (let turns = 0; turns < TURNS_MAX; turns++) {
        await turn()
        await scheduler.run(isQuiet, { steps: scheduler.steps() + 20_000, ms: scheduler.nowMs() + 60_000 })
        if (isQuiet()) return
      }
      throw new Error(`it goes on: ${[...gates].map(([name, { state }]) => `${name} ${state}`).join()}`)
    },
    waitsFor: (actor) => {
      const session = waiting(actor)
      return session === undefined ? [] : rootsOf(session)
    },
    kill: (_, actor) => {
      const [session] = server.sessionsOf(hostOf(actor)).toReversed()
      if (session !== undefined) server.end(session, failure('57P01', 'terminating connection'))
      return Promise.resolve()
    },
  }
  return { side, circles, tables: () => dumpSimulated(server.database.tables) }
}
