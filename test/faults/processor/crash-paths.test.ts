import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CrashPoint } from '../../../src/processor/crash-points.ts'
import type { RunningProcessor } from '../../../src/processor/start.ts'
import { ANOMALY_TOPIC, FULFILLMENT_TOPICS } from '../../../src/schemas/topics.ts'
import { startProcessorChild, type Child } from '../../helpers/child.ts'
import { CRASH_ACTIONS, type CrashAction } from '../../helpers/crash-here.ts'
import { writeTable, type Cell } from '../../helpers/crash-matrix.ts'
import { PATHS, type Path, type PathName } from '../../helpers/crash-paths.ts'
import { createHolds, type Holds } from '../../helpers/holds.ts'
import { javaConsume } from '../../helpers/java-consumer.ts'
import { laneStates } from '../../helpers/lane-states.ts'
import { createPathWorld, type PathWorld } from '../../helpers/path-world.ts'
import { startTestProcessor } from '../../helpers/processor.ts'
import { until } from '../../helpers/until.ts'

/**
 * What a lane does without a record: timers, commands, and what an emission that failed has left. As many lanes as points
 * have the same work, and one processor whose lanes stand at all of them at once: each lane stays at the first that is
 * free. There it is killed; stopped until another has the lanes and is done, and going on; or held up.
 */
const ENV = { SESSION_TIMEOUT_MS: '1000', EXPIRY_GRACE_SEC: '0', LOG_LEVEL: 'info' }
/** The lanes' requests to Kafka have 10 s, and Postgres ends a transaction that idles for 15. */
const DELAY_MS = 11_000
const PATIENCE_MS = 120_000
const BRAKE: CrashPoint = 'brake_changed'
/** Where a lane that is to be refused waits for its brakes to change. */
const BEFORE_BRAKE: CrashPoint = 'wake_before_lane_row'
const isCommitted = (point: CrashPoint) => /^(wake_commit_sent|wake_after_commit|emit_)/.test(point)

interface Outcome {
  /** The points at which a lane stood. */
  met: readonly CrashPoint[]
  /** What went wrong, there or afterwards. */
  failure: unknown
}

/** Until each lane stands at a point of its own; all points of the path are met then. */
async function untilTheyStand(world: PathWorld, child: Child, holds: Holds, places: readonly CrashPoint[]) {
  const stands = (place: number) =>
    until(
      `it stands at ${places[place] ?? ''}`,
      () => {
        const end = child.exit()
        if (end !== undefined) throw new Error(`it ended: ${JSON.stringify(child.lines.slice(-5))}`)
        return holds.isHeld(place)
      },
      PATIENCE_MS,
    )
  await Promise.all(world.lanes.map(stands))
  const last = places.indexOf(BRAKE)
  if (last < 0) return
  // As `brake set` raises it, after what waits here has read its brakes.
  await world.it.database.pool.query(`update lanes set brake_version = brake_version + 1
    where (topic, lane) in (select topic, lane from lanes for update skip locked)`)
  holds.letGo(last - 1)
  await stands(last)
}

/** How many lanes' work is committed: all of it, as the other lanes' is not at all. */
async function committed(world: PathWorld, path: Path, round: string): Promise<number> {
  const states = await laneStates(world.it.database.pool, round)
  const [before, after] = [JSON.stringify(path.before), JSON.stringify(path.after)]
  let count = 0
  for (const [lane, state] of states) {
    const is = JSON.stringify({ ...path.after, ...state })
    if (is === after) count += 1
    else if (is !== before) throw new Error(`lane ${lane} has done a part: ${is}`)
  }
  return count
}
const untilAllIsDone = (world: PathWorld, path: Path, round: string) =>
  until(
    'all is done and out',
    async () => {
      const [done, out] = [await committed(world, path, round), await world.lanesOut()]
      if (done + out < 2 * world.lanes.length) throw new Error(`${done} done, ${out} out`)
      return true
    },
    PATIENCE_MS,
  )

/** What was stopped goes on, and every lane of it says what has become of it. */
async function goOn(world: PathWorld, child: Child, holds: Holds) {
  const before = child.lines.length
  child.signal('SIGCONT')
  holds.letAllGo()
  const isWord = (line: Readonly<Record<string, unknown>>) =>
    line['step'] !== undefined || line['msg'] === 'the lane is fenced'
  await until(
    'every lane of what was stopped has said something',
    () => {
      const said = new Set(
        child.lines
          .slice(before)
          .filter(isWord)
          .map((line) => line['lane']),
      )
      if (said.size < world.lanes.length) throw new Error(`only ${[...said].join()} have`)
      return true
    },
    PATIENCE_MS,
  )
}

async function play(world: PathWorld, path: Path, action: CrashAction): Promise<Outcome> {
  const outcome: Outcome = { met: [], failure: undefined }
  const places = path.points.includes(BRAKE)
    ? [...path.points.filter((point) => point !== BRAKE), BEFORE_BRAKE, BRAKE]
    : path.points
  const holds = createHolds(places, action === 'delay' ? DELAY_MS : 0)
  let child: Child | undefined
  let next: RunningProcessor | undefined
  try {
    await path.file(world, action)
    child = startProcessorChild(world.it.env({ ...ENV, ...holds.env }))
    try {
      await untilTheyStand(world, child, holds, places)
    } finally {
      outcome.met = path.points.filter((point) => holds.isHeld(places.indexOf(point)))
    }
    // A COMMIT whose answer nobody has read is done all the same.
    const behind = path.points.filter(isCommitted).length
    await until(`${behind} are committed`, async () => (await committed(world, path, action)) === behind, PATIENCE_MS)
    expect(await world.lanesOut()).toBe(world.lanes.length - behind + 1)

    if (action === 'kill') await child.kill()
    if (action === 'stop') child.signal('SIGSTOP')
    if (action === 'delay') holds.letAllGo()
    else next = await startTestProcessor(world.it, { ...ENV, LOG_LEVEL: 'silent' })
    await untilAllIsDone(world, path, action)
    if (action === 'stop') await goOn(world, child, holds)
    await untilAllIsDone(world, path, action)
    await path.again?.(world, action)
  } catch (error) {
    outcome.failure = error
  } finally {
    await child?.kill()
    await next?.stop()
  }
  return outcome
}

const names = Object.keys(PATHS) as PathName[]
const outcomes = new Map<string, Outcome>()
/** What workers and operators heard, and what they should have, by path. */
const heard = new Map<PathName, { readonly is: readonly string[]; readonly should: readonly string[] }>()
const cells: Cell[] = []

async function playAll(name: PathName) {
  const path: Path = PATHS[name]
  const world = await createPathWorld(path.points.length)
  try {
    await path.prepare(world, CRASH_ACTIONS)
    for (const action of CRASH_ACTIONS) outcomes.set(`${name} ${action}`, await play(world, path, action))
    const should = CRASH_ACTIONS.flatMap((action) =>
      path.heard.flatMap((one) => {
        const [what = '', kind = ''] = one.split(' ')
        return world.namesOf(action, what).map((order) => `${kind} ${order}`)
      }),
    ).sort()
    const topics = ([...FULFILLMENT_TOPICS, ANOMALY_TOPIC] as const).map((topic) => world.it.topics.name(topic))
    const records = await javaConsume({ topics, atLeast: should.length })
    const is = records.map(({ headers, key }) => `${headers['ce_type']?.replace('paidonce.', '') ?? ''} ${key ?? ''}`)
    heard.set(name, { is: is.sort(), should })
  } finally {
    await world.it.drop()
  }
}

beforeAll(async () => {
  for (const played of await Promise.allSettled(names.map(playAll)))
    if (played.status === 'rejected') throw played.reason
}, 900_000)
afterAll(() => {
  const rows = names.flatMap((name) => {
    const { points, meaningless }: Path = PATHS[name]
    for (const [point, says] of Object.entries(meaningless))
      cells.push(...CRASH_ACTIONS.map((action) => ({ point: `${name}: ${point}`, action, says })))
    return [...points, ...Object.keys(meaningless)].map((point) => `${name}: ${point}`)
  })
  writeTable('paths', rows, cells)
})

describe.each(names)('%s', (name) => {
  describe.each(CRASH_ACTIONS)('%s', (action) => {
    test.each(PATHS[name].points)('at %s', (point) => {
      const outcome = outcomes.get(`${name} ${action}`)
      expect(outcome?.met).toContain(point)
      expect(outcome?.failure).toBeUndefined()
      cells.push({ point: `${name}: ${point}`, action, says: '✓' })
    })
  })

  test('after all of them workers and operators have heard of each once', () => {
    expect(heard.get(name)?.is).toEqual(heard.get(name)?.should)
    expect(heard.get(name)?.should.length).toBeGreaterThan(0)
  })
})
