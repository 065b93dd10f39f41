import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CRASH_POINTS, type CrashPoint } from '../../../src/processor/crash-points.ts'
import { checkExactlyOnce, nothingWrong, readEvents, type Findings } from '../../helpers/check-exactly-once.ts'
import { startProcessorChild, type Child } from '../../helpers/child.ts'
import { createCrashChain, type CrashChain } from '../../helpers/crash-chain.ts'
import { createMarkers, writeTable, type Cell } from '../../helpers/crash-matrix.ts'
import { payment } from '../../helpers/installation.ts'
import { until } from '../../helpers/until.ts'

/**
 * Every point of the processor: killed there; stopped there until another one has its lanes, and going on; held up there
 * past the request timeout. In each chain a processor takes over from the one before it and meets the next point itself.
 * The chains have nothing in common but the machine, and mostly wait: so they run side by side, and the tests look at
 * what came of them.
 */
const LANES = 2
/** A lane is fresh once only, so this one comes first. */
const FIRST: CrashPoint = 'fence_before_first_ledger'
const POINTS = [FIRST, ...CRASH_POINTS.filter((point) => point !== FIRST)]
const ENV = { SESSION_TIMEOUT_MS: '1000', LOG_LEVEL: 'info' }
/** The lanes' requests to Kafka have 10 s, and Postgres ends a transaction that idles for 15. */
const DELAY_MS = 11_000

/** What happened at a point: undefined, what it should. */
type Met = Map<CrashPoint, unknown>
interface Outcome {
  readonly met: Met
  readonly findings: readonly Findings[]
  readonly expected: readonly Findings[]
}

/** What is left is done by a processor that meets no point: nothing may be lost or there twice. */
async function conclude({ installation, paid, letGo }: CrashChain): Promise<{ found: Findings; expected: Findings }> {
  const child = startProcessorChild(installation.env(ENV))
  try {
    await letGo()
    const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
    return { found: checkExactlyOnce(paid, events, { inOrder: false }), expected: nothingWrong(paid) }
  } finally {
    await child.stop()
  }
}

async function playKills(): Promise<Outcome> {
  const chain = await createCrashChain(LANES)
  const met: Met = new Map()
  try {
    for (const point of POINTS) {
      const seen = await chain.bringTo(point, 'kill').then(
        (child) => (child.exit()?.signal === 'SIGKILL' ? undefined : child.exit()),
        (error: unknown) => error,
      )
      met.set(point, seen)
      await chain.letGo()
    }
    const { found, expected } = await conclude(chain)
    return { met, findings: [found], expected: [expected] }
  } finally {
    await chain.installation.drop()
  }
}

async function playStops(): Promise<Outcome> {
  const chain = await createCrashChain(LANES)
  const met: Met = new Map()
  let frozen: { child: Child; point: CrashPoint } | undefined
  /** It wakes up while the next one stands at its own point, and says what has become of it. */
  const wake = async () => {
    if (frozen === undefined) return
    const { child, point } = frozen
    frozen = undefined
    const before = child.lines.length
    const isWord = ({ msg, step, client }: Readonly<Record<string, unknown>>) =>
      msg === 'the lane is fenced' || step !== undefined || client !== undefined
    child.signal('SIGCONT')
    const seen = await until(
      `what was stopped at ${point} says something`,
      () => child.lines.slice(before).some(isWord),
      30_000,
    ).then(
      () => undefined,
      (error: unknown) => error,
    )
    met.set(point, seen)
    await child.kill()
  }
  try {
    for (const point of POINTS)
      try {
        const child = await chain.bringTo(point, 'stop')
        await wake()
        await chain.letGo()
        frozen = { child, point }
      } catch (error) {
        met.set(point, error)
      }
    const during = await conclude(chain)
    await wake()
    const after = await conclude(chain)
    return { met, findings: [during.found, after.found], expected: [during.expected, after.expected] }
  } finally {
    await wake()
    await chain.installation.drop()
  }
}

async function playDelays(): Promise<Outcome> {
  const chain = await createCrashChain(8)
  const { installation, paid } = chain
  const markers = createMarkers(DELAY_MS)
  const orders = (name: string) => Array.from({ length: 32 }, (_, index) => `${name}-${index}`)
  const send = async (names: readonly string[]) => {
    await installation.send(names.flatMap((name) => [payment(name), payment(name)]))
    paid.push(...names)
  }
  const isPast = (pattern: RegExp) => CRASH_POINTS.filter((point) => pattern.test(point)).every(markers.isMarked)
  const met: Met = new Map()
  const child = startProcessorChild(installation.env({ ...ENV, ...markers.env }))
  try {
    await installation.createOrders([...orders('first'), ...orders('kept'), ...orders('last')])
    await send([...orders('first'), ...orders('late')])
    await until('those of batches', () => isPast(/^fence_|^batch_|^emit_/), 200_000)
    await installation.createOrders(orders('late'))
    await until('those of wakes', () => isPast(/^wake_/), 150_000)
    await chain.keepBack()
    await send(orders('kept'))
    const isKept = async () => isPast(/^brake_/) && (await chain.waiting()) >= orders('kept').length
    await until('that of a brake, and what it keeps back', isKept, 100_000)
    await chain.letGo()
    await until('those of a release', () => isPast(/^release_/), 150_000)
    await send(orders('last'))
  } catch (error) {
    for (const point of CRASH_POINTS) if (!markers.isMarked(point)) met.set(point, error)
  }
  try {
    for (const point of CRASH_POINTS) if (markers.isMarked(point)) met.set(point, undefined)
    await chain.letGo()
    const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
    const found = checkExactlyOnce(paid, events, { inOrder: false })
    return { met, findings: [found], expected: [nothingWrong(paid)] }
  } finally {
    await child.kill()
    await installation.drop()
  }
}

const PLAYS = { kill: playKills, stop: playStops, delay: playDelays }
const SAYS = {
  kill: 'kill -9 at',
  stop: 'stopped until its lanes have another owner, at',
  delay: 'held up at',
} as const
const actions = ['kill', 'stop', 'delay'] as const
const outcomes = new Map<(typeof actions)[number], Promise<Outcome>>()
const cells: Cell[] = []

beforeAll(async () => {
  for (const action of actions) outcomes.set(action, PLAYS[action]())
  await Promise.allSettled(outcomes.values())
}, 900_000)
afterAll(() => writeTable('processor', CRASH_POINTS, cells))

describe.each(actions)('%s', (action) => {
  test.each(POINTS)(`${SAYS[action]} %s`, async (point) => {
    const { met } = (await outcomes.get(action)) ?? { met: new Map<CrashPoint, unknown>() }
    expect([...met.keys()]).toContain(point)
    expect(met.get(point)).toBeUndefined()
    cells.push({ point, action, says: '✓' })
  })

  test('after all of them nothing is lost and nothing is there twice', async () => {
    const outcome = await outcomes.get(action)
    expect(outcome?.findings).toEqual(outcome?.expected)
    expect(outcome?.findings.length).toBeGreaterThan(0)
  })
})
