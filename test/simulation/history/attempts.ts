import type pg from 'pg'
import { noSteps, type OnStep } from '../../../src/runtime/postgres.ts'
import { simulatedConnections } from '../postgres/connection.ts'
import { simulatedPool } from '../postgres/pool.ts'
import type { Host } from '../world/queue.ts'
import type { World } from './world.ts'

/** So long whoever has asked the api waits for an answer. */
const ANSWER_MS_MAX = 5_000

/**
 * Asks the api. Where faults are made at crash points, each attempt has a process of its own, which may end or stand
 * still; whoever has asked gives up then, and may ask again while it goes on.
 */
export function createAttempts(world: World, outside: Host) {
  const { scheduler, server, aim } = world
  const plain = simulatedPool(simulatedConnections(outside, world), 'api')
  let count = 0
  return <T>(name: string, ask: (pool: pg.Pool, onStep: OnStep<string>) => Promise<T>): Promise<T> => {
    if (aim === undefined) return ask(plain, noSteps)
    const host = scheduler.host(`api${++count}`)
    const pool = simulatedPool(simulatedConnections(host, world), 'api')
    return new Promise((resolve, reject) => {
      const giveUp = () =>
        void scheduler.at(ANSWER_MS_MAX, outside, `${name} unanswered`, () => reject(new Error('no answer')))
      const kill = () => {
        for (const session of server.sessionsOf(host))
          scheduler.at(1, undefined, 'pg closed', () => server.end(session))
        scheduler.end(host)
        giveUp()
        return true
      }
      const pause = (_: Host, forMs: number) => {
        scheduler.freeze(host)
        scheduler.at(forMs, undefined, `thaw ${host.name}`, () => scheduler.thaw(host))
        giveUp()
        return true
      }
      scheduler.at(0, host, `${name} asked`, () => {
        const reach = (step: string) => aim.reach({ process: 'api', host, kill, pause }, `${name}_${step}`)
        ask(pool, reach).then(resolve, reject)
      })
    })
  }
}
