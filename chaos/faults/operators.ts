import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cli } from '../../dev/demo/system.ts'
import { javaWrite } from '../../dev/parts/java-topics.ts'
import { CONSUMER_GROUPS, kafkaTool } from '../system/kafka-tool.ts'
import { PARTITIONS, type World } from '../system/world.ts'
import { between, type Fault } from './fault.ts'

/** With Kafka's own tool, while nobody is in the group: everything is read again, or nothing that is there. */
const resetOffsets = (to: 'earliest' | 'latest'): Fault => ({
  ...{ kind: `reset_offsets_to_${to}`, group: 'processor', isAlone: true },
  inject: async (world) => {
    for (const one of world.processors) await one.end('SIGTERM')
    const file = join(world.dir, 'resets', `${Date.now()}.txt`)
    const place = ['--bootstrap-server', world.kafka.brokers, '--group', world.appId]
    const args = [...place, '--topic', world.inputTopic, '--reset-offsets', `--to-${to}`, '--execute']
    await retried(() => kafkaTool(CONSUMER_GROUPS, args, file))
    const set = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.includes(world.inputTopic)).length
    return {
      ...{ target: world.appId, holdMs: 0 },
      observe: () => Promise.resolve(set >= PARTITIONS ? `the tool set ${set} offsets` : undefined),
      heal: async () => {
        for (const one of world.processors) await one.start()
        for (const one of world.processors) await one.untilReady()
      },
    }
  },
})

/** Who was killed before counts as a member until its session ends. */
async function retried(work: () => Promise<void>) {
  for (let tries = 1; ; tries++)
    try {
      await work()
      return
    } catch (error) {
      if (tries >= 8) throw error
      await new Promise((resolve) => setTimeout(resolve, 1_500))
    }
}

const poison: Fault = {
  ...{ kind: 'poison', group: 'operator' },
  inject: async (world, random) => {
    // One a lane: more than 20 in a thousand records would halt it, rightly.
    const lane = random.below(PARTITIONS)
    const records = [0, 1].map((n) => ({
      ...{ topic: world.inputTopic, partition: (lane + n) % PARTITIONS, key: `poison-${random.hex(8)}` },
      // Something else altogether, and a record that was cut off. Not the id of a schema that nobody knows: for that the
      // lane waits 30 s by design, as its registry may be late.
      value: n === 0 ? Buffer.from(`not avro ${random.hex(40)}`) : Buffer.from([0, 0, 0, 0, 1, 6]),
    }))
    const places = await javaWrite(world.kafka.brokers, records)
    return {
      ...{
        target: places.map(({ partition, offset }) => `${partition}@${offset}`).join(' '),
        holdMs: 500,
        poison: places,
      },
      observe: () =>
        Promise.resolve(places.length === records.length ? `${places.length} records that nobody can read` : undefined),
      heal: () => Promise.resolve(),
    }
  },
}

/** An operator keeps shipments back for some seconds. */
const brake: Fault = {
  ...{ kind: 'brake', group: 'operator', isAlone: true },
  inject: async (world, random) => {
    const reason = ['--reason', 'chaos', '--output', 'json']
    const set = JSON.parse(await brakeCli(world, 'set', '--event-type', 'ship', ...reason)) as {
      id: number
      result: string
    }
    return {
      ...{ target: 'ship', holdMs: between(random, 2_000, 6_000), actions: ['brake_set', 'brake_release'] },
      observe: async () => {
        const list = await brakeCli(world, 'list', '--output', 'json').catch(() => '')
        const waiting = /"waiting":\s*(\d+)/.exec(list)?.[1]
        return waiting === undefined || waiting === '0' ? undefined : `${waiting} events wait`
      },
      heal: async () => {
        await brakeCli(world, 'release', String(set.id), ...reason, '--yes')
      },
    }
  },
}

const UNDECIDED = 3

/** An exit code of 3 says that a busy lane has not been told yet, which a processor does. */
async function brakeCli(world: World, ...args: readonly string[]): Promise<string> {
  try {
    return await cli(world.env, 'brake', ...args)
  } catch (error) {
    const { code, stdout } = ((error as Error).cause ?? {}) as { code?: number; stdout?: string }
    if (code === UNDECIDED && stdout !== undefined) return stdout
    throw error
  }
}

export const OPERATOR_FAULTS: readonly Fault[] = [resetOffsets('earliest'), resetOffsets('latest'), poison, brake]
