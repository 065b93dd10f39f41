import pg from 'pg'
import { aliveBrokers } from '../../dev/parts/kafka-ready.ts'
import type { KafkaNode } from '../../dev/parts/kafka.ts'
import { javaMoveLeaders } from '../../dev/parts/java-topics.ts'
import type { Part } from '../../dev/parts/part.ts'
import type { World } from '../system/world.ts'
import { between, pick, type Fault } from './fault.ts'

const portOf = (world: World, node: KafkaNode) =>
  Number((world.kafka.brokers.split(',')[world.kafka.nodes.indexOf(node)] ?? '').split(':')[1])

/** Until all brokers know one another again. */
async function untilWhole(world: World) {
  const deadline = performance.now() + 60_000
  for (;;) {
    const alive = await Promise.all(
      world.kafka.nodes.map((node) => aliveBrokers(portOf(world, node), 2_000).catch(() => 0)),
    )
    if (alive.every((count) => count === world.kafka.nodes.length)) return
    if (performance.now() > deadline) throw new Error(`the brokers do not find one another: ${alive.join(' ')}`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

const killBrokers = (kind: string, count: number): Fault => ({
  ...{ kind, group: 'kafka' },
  inject: async (world, random) => {
    const { nodes } = world.kafka
    const from = random.below(nodes.length)
    const victims = [...nodes.slice(from), ...nodes.slice(0, from)].slice(0, count)
    await Promise.all(victims.map((node) => node.kill()))
    return {
      ...{ target: victims.map(({ name }) => name).join(' and '), holdMs: between(random, 2_000, 8_000) },
      observe: () =>
        Promise.resolve(victims.every((node) => !node.isAlive()) ? `${count} of 3 brokers gone` : undefined),
      heal: async () => {
        await Promise.all(victims.map((node) => node.restart()))
        await untilWhole(world)
      },
    }
  },
})

const freeze = (
  kind: string,
  group: string,
  of: (world: World) => readonly Part[],
  answers: (world: World, part: Part) => Promise<unknown>,
): Fault => ({
  ...{ kind, group },
  inject: (world, random) => {
    const part = pick(random, of(world))
    part.freeze()
    return Promise.resolve({
      ...{ target: part.name, holdMs: between(random, 2_000, 9_000) },
      observe: () =>
        answers(world, part).then(
          () => undefined,
          (error: unknown) => `no answer: ${String(error).slice(0, 80)}`,
        ),
      heal: async () => {
        part.thaw()
        if (group === 'kafka') await untilWhole(world)
      },
    })
  },
})

/** Asks Postgres past the proxies. @throws what it says */
async function ask(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000, query_timeout: 2_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(sql)
  } finally {
    client.end().catch(() => undefined)
  }
}

const killPostgres: Fault = {
  ...{ kind: 'kill_postgres', group: 'postgres' },
  inject: async (world, random) => {
    await world.postgres.kill()
    return {
      ...{ target: 'postmaster and backends', holdMs: between(random, 500, 4_000) },
      observe: () =>
        ask(world.databaseUrl, 'select 1').then(
          () => undefined,
          (error: unknown) => String(error).slice(0, 80),
        ),
      heal: () => world.postgres.restart(),
    }
  },
}

const diskFull: Fault = {
  ...{ kind: 'disk_full', group: 'postgres' },
  missing: ({ disk }) => ('refused' in disk ? disk.refused : undefined),
  inject: async (world, random) => {
    const { disk } = world
    if ('refused' in disk) throw new Error(disk.refused)
    await disk.fill()
    const probe = `create table disk_probe as select repeat(md5(n::text), 100) as x from generate_series(1, 20000) n`
    return {
      ...{ target: "Postgres's file system", holdMs: between(random, 3_000, 8_000) },
      observe: async () => {
        const said = await ask(world.databaseUrl, probe).then(
          () => undefined,
          (error: unknown) => error,
        )
        const { code, message } = (said ?? {}) as { code?: string; message?: string }
        return code === '53100' ? `53100: ${(message ?? '').slice(0, 60)}` : undefined
      },
      heal: async () => {
        disk.free()
        // On a full disk it may have ended by a PANIC, and stays down: its supervisor starts it again.
        await ask(world.databaseUrl, 'select 1').catch(() => world.postgres.restart())
        await ask(world.databaseUrl, 'drop table if exists disk_probe').catch(() => undefined)
      },
    }
  },
}

const killRegistry: Fault = {
  ...{ kind: 'kill_registry', group: 'registry' },
  inject: async (world, random) => {
    await world.registry.kill()
    return {
      ...{ target: 'registry', holdMs: between(random, 1_000, 5_000) },
      observe: () => Promise.resolve(world.registry.isAlive() ? undefined : 'it is gone'),
      heal: () => world.registry.restart(),
    }
  },
}

const moveLeaders: Fault = {
  ...{ kind: 'move_leaders', group: 'kafka' },
  inject: async (world) => {
    const moved = await javaMoveLeaders(world.kafka.brokers, world.topics)
    return {
      ...{ target: 'every partition', holdMs: 500 },
      observe: () => Promise.resolve(moved > 0 ? `${moved} leaders moved` : undefined),
      heal: () => Promise.resolve(),
    }
  },
}

export const STORE_FAULTS: readonly Fault[] = [
  ...[killBrokers('kill_broker', 1), killBrokers('kill_two_brokers', 2)],
  freeze(
    'stop_broker',
    'kafka',
    (world) => world.kafka.nodes,
    (world, part) => aliveBrokers(portOf(world, part as KafkaNode), 1_000),
  ),
  freeze(
    'stop_postgres',
    'postgres',
    (world) => [world.postgres],
    (world) => ask(world.databaseUrl, 'select 1'),
  ),
  ...[killPostgres, diskFull, killRegistry, moveLeaders],
]
