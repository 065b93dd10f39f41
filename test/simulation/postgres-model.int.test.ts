import type pg from 'pg'
import { expect, test } from 'vitest'
import { createConnection, type CreateConnection } from '../../src/runtime/postgres.ts'
import { withDatabase } from '../helpers/database.ts'
import { dumpReal, dumpSimulated } from './postgres/dump.ts'
import { planCommands } from './postgres/plan-commands.ts'
import { playCommands, type DatabaseSide } from './postgres/play-commands.ts'
import { simulatedConnections } from './postgres/connection.ts'
import { simulatedPool } from './postgres/pool.ts'
import { createServer } from './postgres/server.ts'
import { createNetwork } from './world/network.ts'
import { createRandom } from './world/random.ts'
import { createScheduler } from './world/scheduler.ts'

const nothing = () => undefined
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8]

/** Plays the commands on a simulated Postgres; every step of it runs within the scheduler. */
async function playSimulated(seed: number): Promise<{ said: string[]; tables: unknown }> {
  const random = createRandom(seed, 9)
  const scheduler = createScheduler(nothing)
  const network = createNetwork(scheduler, random)
  const server = createServer(scheduler, random, {
    beforeCommit: nothing,
    onDeadlock: nothing,
    onNotify: nothing,
  })
  const host = scheduler.host('client')
  const wire = { cut: 0, hang: 0, linger: 0 }
  const connect: CreateConnection = simulatedConnections(host, { scheduler, random, network, server, wire })
  const side: DatabaseSide = { url: 'simulated', createConnection: connect, pool: simulatedPool(connect, 'api') }
  let said: string[] | undefined
  let failed: unknown
  scheduler.at(0, host, 'commands', () => {
    playCommands(planCommands(seed), side).then(
      (lines) => (said = lines),
      (error: unknown) => (failed = error),
    )
  })
  await scheduler.run(() => said !== undefined || failed !== undefined, { steps: 1_000_000, ms: 3_600_000 })
  if (said === undefined) throw new Error('the commands did not end', { cause: failed })
  return { said, tables: dumpSimulated(server.database.tables) }
}

const playReal = (seed: number) =>
  withDatabase(async (url, pool: pg.Pool) => {
    const said = await playCommands(planCommands(seed), { url, createConnection, pool })
    return { said, tables: await dumpReal(pool) }
  })

test.each(SEEDS)(
  'the same commands do the same in the simulated Postgres and in the real one: seed %i',
  async (seed) => {
    const [simulated, real] = [await playSimulated(seed), await playReal(seed)]
    expect(simulated.said.length).toBeGreaterThan(100)
    expect(simulated.said).toEqual(real.said)
    expect(simulated.tables).toEqual(real.tables)
  },
)
