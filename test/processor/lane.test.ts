import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { Fenced } from '../../src/processor/fence.ts'
import { createLane, type Lane } from '../../src/processor/lane.ts'
import type { LaneSession } from '../../src/processor/lane-session.ts'
import type { OwnershipOptions } from '../../src/processor/ownership.ts'
import type { Survived } from '../../src/store/lane-row.ts'
import type { Applied, LaneRecord, MustFence } from '../../src/processor/lane-types.ts'
import { createSuspectTurn } from '../../src/processor/run-alone.ts'
import { createMetrics } from '../../src/processor/metrics.ts'
import type {
  BatchControl,
  CommittedOffset,
  OffsetsToCommit,
  InputBatch,
  InputRecord,
} from '../../src/runtime/kafka/port.ts'
import { createLog } from '../../src/runtime/log.ts'
import type { EventRow } from '../../src/store/event-row.ts'

/** A world in memory: what Postgres and Kafka would answer, and what the lane did. */
function createWorld() {
  const did: string[] = []
  const world = {
    did,
    joins: 1,
    nowMs: 0,
    /** What the next fence reads. */
    next: 0,
    ledger: 0,
    nextSeq: 0,
    halt: undefined as { reason: string; detail: string } | undefined,
    fenceFails: 0,
    /** A fence waits for it. */
    fenceGate: Promise.resolve(),
    wakeGate: Promise.resolve(),
    commitGate: Promise.resolve(),
    isPaused: false,
    /** Answers of step 1, in order; by default the batch is applied with one event per record. */
    answers: [] as (Error | MustFence)[],
    commitFails: 0,
    wakes: [] as number[],
    /** The broker does not answer. */
    isCommitStuck: false,
    closed: 0,
    fences: 0,
    /** What each fence was told of the one before. */
    befores: [] as (Survived | undefined)[],
    /** What the session says once it is closed. */
    isLetGo: true,
    letsGoWhenItFails: false,
    outlived: [] as (readonly [incarnation: number, aloneOffset: number | null])[],
    sessionLost: undefined as Error | undefined,
    /** Ends the last incarnation's connection, as a successor does. */
    lose: (): void => undefined,
    committed: [] as (readonly CommittedOffset[])[],
    /** How many rows one reading gives. */
    chunk: Infinity,
  }
  return world
}
type World = ReturnType<typeof createWorld>

const row = (laneSeq: number): EventRow => ({
  ...{ laneSeq, topic: 'fulfillment.shipment.v1', eventId: String(laneSeq), kind: 'ship', orderId: 1, merchant: 'm' },
  ...{ key: 'T1', sequence: 1, cause: 'c', amountMinor: 1, currency: 'CNY', paymentRef: null, occurredAtMs: 0 },
  ...{ receivedAtMs: null, attrs: null, traceparent: null, payload: null },
})
const record = (offset: number): LaneRecord => ({
  ...{ offset, timestampMs: 0, key: null, value: null, headers: {}, traceparent: null },
  content: { kind: 'skipped' },
})

function laneIn(world: World): Lane {
  const fence: OwnershipOptions['fence'] = async (joins, { onLost, onCounted, onLetGo }, before): Promise<Fenced> => {
    world.did.push('fence')
    world.befores.push(before)
    await world.fenceGate
    const incarnation = ++world.fences
    onCounted(incarnation)
    if (world.fenceFails-- > 0) {
      if (world.letsGoWhenItFails) onLetGo()
      throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    }
    if (world.halt !== undefined) return { kind: 'halted', ...world.halt, isNew: true }
    let isDead = false
    let lost: Error | undefined
    const session = {
      ...{ appId: 'app', incarnation, lost: () => lost ?? world.sessionLost },
      close: () => {
        if (world.isLetGo) onLetGo()
        return Promise.resolve()
      },
    } as unknown as LaneSession
    world.lose = () => {
      lost = Object.assign(new Error('terminating connection'), { severity: 'FATAL', code: '57P01' })
      onLost(lost)
    }
    const producer = {
      isDead: () => isDead,
      prove: () => Promise.resolve(),
      close: () => {
        world.closed++
        return Promise.resolve()
      },
      commit: async (_: unknown, given: OffsetsToCommit) => {
        await (world.isCommitStuck ? new Promise(() => undefined) : world.commitGate)
        if (world.commitFails-- > 0) {
          isDead = true
          throw new Error('INVALID_PRODUCER_EPOCH')
        }
        const offsets = typeof given === 'function' ? given([]) : given
        const [group, ledger] = offsets
        world.did.push(`commit ${group?.offset} ${ledger?.offset}/${ledger?.metadata}`)
        world.committed.push(offsets)
        world.next = group?.offset ?? 0
        world.ledger = ledger?.offset ?? 0
      },
    }
    const position = { topic: 'in', lane: 3, next: world.next, ledger: world.ledger, brakeVersion: 0 }
    return {
      kind: 'running',
      incarnation: { joins, producer, session, position, outputs: new Map() },
      nextSeq: world.nextSeq,
    }
  }
  const applied = (next: number, count: number): Applied => {
    const baseSeq = world.nextSeq
    world.nextSeq += count
    return {
      ...{ kind: 'applied', next, brakeVersion: 0, baseSeq, nextSeq: world.nextSeq, events: [], payloadOrders: [] },
      ...{ outcomes: {}, newDeadLetters: [], hintsLeftOut: 0, flooded: false, reruns: 0 },
    }
  }
  return createLane({
    lane: 3,
    lingerMs: 0,
    suspects: createSuspectTurn(),
    joins: () => world.joins,
    fence,
    isHalted: () => Promise.resolve(world.halt !== undefined),
    outlive: (...last) => {
      world.outlived.push(last)
      return Promise.resolve()
    },
    consumer: {
      pause: () => {
        world.did.push('pause')
        world.isPaused = true
      },
      resume: () => (world.isPaused = false),
      seek: (_, offset) => world.did.push(`seek ${offset}`),
    },
    steps: {
      applyBatch: (_, __, records, end) => {
        world.did.push(`apply ${records.map(({ offset }) => offset).join(',')} to ${end}`)
        const answer = world.answers.shift()
        if (answer instanceof Error) return Promise.reject(answer)
        return Promise.resolve(answer ?? applied(end, records.length))
      },
      applyWake: async (_, position) => {
        world.did.push('wake')
        await world.wakeGate
        const count = world.wakes.shift()
        const nothing = { kind: 'nothing', nextSeq: world.nextSeq } as const
        return count === undefined ? nothing : applied(position.next, count)
      },
      eventsToEmit: (_, { ledger }) =>
        Promise.resolve(
          Array.from({ length: Math.min(world.nextSeq - ledger, world.chunk) }, (__, index) => row(ledger + index)),
        ),
      haltLane: (_, __, reason, detail) => {
        world.halt = { reason, detail }
        return Promise.resolve()
      },
    },
    identity: { lane: 3, laneOf: () => 3 },
    decode: (records: readonly InputRecord[]) =>
      Promise.resolve({ records: records.map(({ offset }) => record(offset)), waitingFor: undefined }),
    emit: { appId: 'app', topicPrefix: '', source: '/', encode: () => Buffer.alloc(1), reach: () => undefined },
    clock: { now: () => new Date(world.nowMs), elapsedMs: () => world.nowMs },
    metrics: createMetrics(),
    log: createLog('test', 'silent'),
    reach: () => undefined,
  })
}

let world: World
let lane: Lane
const control: BatchControl = {
  resolve: (offset) => world.did.push(`resolve ${offset}`),
  pause: () => world.did.push('wait'),
  isCurrent: () => true,
}
const batch = (fetchedOffset: number, ...offsets: number[]): InputBatch => ({
  ...{ partition: 3, fetchedOffset, endOffset: (offsets.at(-1) ?? fetchedOffset - 1) + 1, highWatermark: 0 },
  records: offsets.map((offset) => ({ offset, timestampMs: 0, key: null, value: null, headers: {} })),
})
/** What happened since the last look. */
const done = () => world.did.splice(0)
const settled = () => lane.wake().then(() => world.did.splice(0))

beforeEach(() => {
  vi.useFakeTimers()
  world = createWorld()
  lane = laneIn(world)
  return () => {
    vi.useRealTimers()
  }
})

describe('a batch', () => {
  test('is applied, emitted with offset and ledger, then resolved; the fence came first, once', async () => {
    lane.assigned()
    await lane.onBatch(batch(0, 0, 1, 2), control)
    await lane.onBatch(batch(3, 3), control)
    expect(done()).toEqual([
      ...['fence', 'seek 0', 'wake', 'apply 0,1,2 to 3', 'commit 3 3/3', 'resolve 3'],
      ...['apply 3 to 4', 'commit 4 4/4', 'resolve 4'],
    ])
  })

  test('of records that are applied already is resolved and nothing else; of some, the rest is applied', async () => {
    world.next = 5
    lane.assigned()
    await lane.onBatch(batch(2, 2, 3), control)
    await lane.onBatch(batch(4, 4, 5, 6), control)
    expect(done()).toEqual(['fence', 'seek 5', 'wake', 'resolve 5', 'apply 5,6 to 7', 'commit 7 2/2', 'resolve 7'])
  })

  test('that begins behind the position is dropped and sought; the second time the lane fences', async () => {
    lane.assigned()
    await lane.onBatch(batch(9, 9), control)
    expect(done()).toEqual(['fence', 'seek 0', 'wake', 'seek 0'])
    await lane.onBatch(batch(9, 9), control)
    expect(done()).toEqual(['fence', 'seek 0'])
    await lane.onBatch(batch(0, 0), control)
    expect(done()).toContain('apply 0 to 1')
  })

  test('of a lane that is no longer ours is left alone', async () => {
    await lane.onBatch(batch(0, 0), control)
    expect(done()).toEqual([])
  })

  test('after another join waits for another fence', async () => {
    lane.assigned()
    await lane.onBatch(batch(0, 0), control)
    world.joins++
    lane.assigned()
    done()
    await lane.onBatch(batch(1, 1), control)
    expect(done()).toEqual(['fence', 'seek 1', 'wake', 'apply 1 to 2', 'commit 2 2/2', 'resolve 2'])
  })
})

describe('a batch whose lane is not ready', () => {
  let release: () => void
  let isDone: boolean
  beforeEach(() => {
    const gate = Promise.withResolvers<undefined>()
    world.fenceGate = gate.promise.then(() => undefined)
    release = () => gate.resolve(undefined)
    isDone = false
    lane.assigned()
    void lane.onBatch(batch(0, 0), control).then(() => (isDone = true))
  })
  const leave = async () => {
    await vi.advanceTimersByTimeAsync(299)
    expect([isDone, world.isPaused]).toEqual([false, false])
    await vi.advanceTimersByTimeAsync(1)
    expect([isDone, world.isPaused]).toEqual([true, true])
    expect(done()).toEqual(['fence', 'pause'])
  }

  test('is left after 0.3 s, so that others are fetched for; its records come again after the fence', async () => {
    await leave()
    release()
    expect(await settled()).toEqual(['seek 0', 'wake'])
    expect(world.isPaused).toBe(false)
    await lane.onBatch(batch(0, 0), control)
    expect(done()).toEqual(['apply 0 to 1', 'commit 1 1/1', 'resolve 1'])
  })

  test('comes again when a later fence succeeds', async () => {
    world.fenceFails = 1
    await leave()
    release()
    await settled()
    expect(world.isPaused).toBe(true)
    world.nowMs += 60_000
    await vi.advanceTimersByTimeAsync(60_000)
    expect(done().slice(-2)).toEqual(['fence', 'seek 0'])
    expect(world.isPaused).toBe(false)
  })

  test('stays paused when the fence halts the lane', async () => {
    world.halt = { reason: 'flood', detail: '' }
    await leave()
    release()
    await settled()
    expect(world.isPaused).toBe(true)
  })

  test('waits no longer for a wake, and comes again after it', async () => {
    release()
    await vi.advanceTimersByTimeAsync(0)
    done()
    const gate = Promise.withResolvers<undefined>()
    world.wakeGate = gate.promise.then(() => undefined)
    void lane.wake()
    void lane.onBatch(batch(1, 1), control)
    await vi.advanceTimersByTimeAsync(300)
    expect(done()).toEqual(['wake', 'pause'])
    gate.resolve(undefined)
    await vi.advanceTimersByTimeAsync(0)
    expect(world.isPaused).toBe(false)
    expect(done()).toEqual([])
  })

  test('is done when it gets ready in time, however long its work takes then', async () => {
    world.isCommitStuck = true
    release()
    await vi.advanceTimersByTimeAsync(60_000)
    expect([isDone, world.isPaused]).toEqual([false, false])
    expect(done()).toEqual(['fence', 'seek 0', 'wake', 'apply 0 to 1'])
  })
})

describe('an error', () => {
  const coded = (code: string) => Object.assign(new Error('x'), { severity: 'ERROR', code })

  test.each([
    ['of Postgres that passes', () => world.answers.push(coded('40P01'))],
    ['of the guard', () => world.answers.push({ kind: 'fence', reason: 'guard' })],
    ['of Kafka, whose outcome is unknown', () => (world.commitFails = 1)],
  ])('%s ends the incarnation, waits, fences and does the batch again', async (_, arrange) => {
    lane.assigned()
    await settled()
    arrange()
    await lane.onBatch(batch(0, 0), control)
    expect(done().at(-1)).toBe('wait')
    await lane.onBatch(batch(0, 0), control)
    expect(done()).toEqual(['wait'])
    world.nowMs += 60_000
    await lane.onBatch(batch(0, 0), control)
    const again = done()
    expect(again[0]).toBe('fence')
    expect(again).toContain('resolve 1')
    expect(world.committed.at(-1)?.map(({ offset }) => offset)).toEqual([1, world.nextSeq])
  })

  test('of one record makes that record a dead letter and lets the others through', async () => {
    lane.assigned()
    await settled()
    world.answers.push(coded('22003'), coded('22003'))
    await lane.onBatch(batch(0, 0, 1), control)
    expect(done()).toEqual([
      ...['apply 0,1 to 2', 'apply 0 to 1', 'apply 0 to 1', 'commit 1 1/1', 'resolve 1'],
      ...['apply 1 to 2', 'commit 2 2/2', 'resolve 2'],
    ])
  })

  test.each([
    ['another SQLSTATE', () => coded('42P01')],
    ['a programming error', () => new TypeError('undefined is not a function')],
  ])('%s halts the lane, which stands until its row is cleared', async (_, error) => {
    lane.assigned()
    await settled()
    world.answers.push(error())
    await lane.onBatch(batch(0, 0), control)
    expect(done()).toEqual(['apply 0 to 1', 'pause'])
    expect(lane.view()).toMatchObject({ state: 'halted', haltReason: 'unexpected_error' })
    await lane.onBatch(batch(0, 0), control)
    expect(await settled()).toEqual(['pause'])
    world.halt = undefined
    await lane.wake()
    await lane.onBatch(batch(0, 0), control)
    expect(done()).toContain('resolve 1')
  })

  test('at the fence is tried again by itself', async () => {
    world.fenceFails = 1
    lane.assigned()
    await settled()
    expect(lane.view().state).toBe('fencing')
    world.nowMs += 60_000
    await vi.advanceTimersByTimeAsync(60_000)
    expect(lane.view().state).toBe('running')
  })
})

describe('a lane whose connection is ended again and again, as by another process that fences it', () => {
  const pass = async (ms: number) => {
    world.nowMs += ms
    await vi.advanceTimersByTimeAsync(ms)
  }
  /** How long after a loss it fences anew, in milliseconds, to 50 ms. */
  const fencesAfter = async () => {
    done()
    world.lose()
    await pass(0)
    for (let waitedMs = 0; waitedMs <= 20_000; waitedMs += 50) {
      if (world.did.includes('fence')) return waitedMs
      await pass(50)
    }
    return Infinity
  }
  beforeEach(async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999)
    lane.assigned()
    await settled()
    return () => vi.restoreAllMocks()
  })

  test('waits longer each time, whatever wakes it: each loss is a failure', async () => {
    const waits: number[] = []
    for (let losses = 0; losses < 9; losses++) {
      waits.push(await fencesAfter())
      await settled()
    }
    expect(waits).toEqual([150, 250, 450, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
  })

  test('begins anew when it has got on, or after a minute without a failure', async () => {
    for (let losses = 0; losses < 4; losses++) await fencesAfter()
    await lane.onBatch(batch(0, 0), control)
    expect(await fencesAfter()).toBe(150)
    for (let losses = 0; losses < 4; losses++) await fencesAfter()
    world.wakes = [1]
    await settled()
    expect(await fencesAfter()).toBe(150)
    for (let losses = 0; losses < 4; losses++) await fencesAfter()
    await pass(60_000)
    expect(await fencesAfter()).toBe(150)
  })

  test('counts a loss in the middle of a batch once', async () => {
    world.answers.push(Object.assign(new Error('terminating connection'), { severity: 'FATAL', code: '57P01' }))
    const handled = lane.onBatch(batch(0, 0), control)
    while (!world.did.includes('apply 0 to 1')) await Promise.resolve()
    world.lose()
    await handled
    expect(await settled()).toEqual(['apply 0 to 1', 'wait'])
    await pass(150)
    expect(done()).toEqual(['fence'])
    expect(await fencesAfter()).toBe(250)
  })

  test('fences no more once a stop has begun, while the batch in work is finished', async () => {
    await fencesAfter()
    done()
    const handled = lane.onBatch(batch(0, 0), control)
    lane.retire()
    await handled
    expect(done()).toEqual(['apply 0 to 1', 'commit 1 1/1', 'resolve 1'])
    expect(await fencesAfter()).toBe(Infinity)
    await lane.onBatch(batch(1, 1), control)
    expect(await settled()).toEqual([])
  })

  test('nor when it was waiting to fence, and what a fence in work gets is let go', async () => {
    world.lose()
    await settled()
    lane.retire()
    await pass(60_000)
    expect(done()).toEqual([])

    lane = laneIn((world = createWorld()))
    const gate = Promise.withResolvers<undefined>()
    world.fenceGate = gate.promise.then(() => undefined)
    lane.assigned()
    await pass(0)
    lane.retire()
    gate.resolve(undefined)
    expect(await settled()).toEqual(['fence'])
    expect([world.closed, lane.view().state]).toEqual([1, 'fencing'])
  })
})

describe('a lane that stands still shows where it stood, and how much waits', () => {
  const waiting = (fetchedOffset: number, highWatermark: number) => ({
    ...batch(fetchedOffset, fetchedOffset),
    highWatermark,
  })
  const stood = { next: 3, ledger: 3 }

  beforeEach(async () => {
    lane.assigned()
    await lane.onBatch({ ...batch(0, 0, 1, 2), highWatermark: 10 }, control)
    expect(lane.view()).toMatchObject({ state: 'running', ...stood, lag: 7 })
  })

  test('while it waits for another try', async () => {
    world.answers.push(Object.assign(new Error('x'), { severity: 'ERROR', code: '57P01' }))
    await lane.onBatch(waiting(3, 20), control)
    expect(lane.view()).toMatchObject({ state: 'fencing', ...stood, lag: 17 })
    await lane.onBatch(waiting(3, 40), control)
    expect(done().at(-1)).toBe('wait')
    expect(lane.view()).toMatchObject({ state: 'fencing', ...stood, lag: 37 })
  })

  test('while it is halted', async () => {
    world.answers.push(new TypeError('x'))
    await lane.onBatch(waiting(3, 20), control)
    await lane.onBatch(waiting(3, 30), control)
    expect(lane.view()).toMatchObject({ state: 'halted', ...stood, lag: 27 })
  })
})

describe('an orderly stop', () => {
  test('waits for what is going on', async () => {
    lane.assigned()
    void lane.onBatch(batch(0, 0), control)
    while (!world.did.includes('apply 0 to 1')) await Promise.resolve()
    await lane.stop()
    expect(done().slice(-2)).toEqual(['commit 1 1/1', 'resolve 1'])
    expect(world.closed).toBe(1)
  })

  test('waits two seconds at most for a broker that is away, then closes the connections', async () => {
    lane.assigned()
    await settled()
    world.isCommitStuck = true
    void lane.onBatch(batch(0, 0), control)
    await vi.advanceTimersByTimeAsync(0)
    expect(done()).toEqual(['apply 0 to 1'])
    let isStopped = false
    void lane.stop().then(() => (isStopped = true))
    await vi.advanceTimersByTimeAsync(1_999)
    expect([isStopped, world.closed]).toEqual([false, 0])
    await vi.advanceTimersByTimeAsync(1)
    expect([isStopped, world.closed]).toEqual([true, 1])
  })
})

describe('without input', () => {
  test('a join is doubt enough, also where a batch of before resolves after it', async () => {
    lane.assigned()
    await settled()
    await lane.onBatch(batch(0, 0), control)
    world.joins++
    lane.assigned()
    expect(await settled()).toContain('seek 1')
    await lane.onBatch(batch(1, 1), control)
    world.lose()
    expect(await settled()).not.toContain('seek 2')
  })

  test('nor does a batch that is in work when the join comes say where the consumer stands since then', async () => {
    lane.assigned()
    await settled()
    const gate = Promise.withResolvers<undefined>()
    world.commitGate = gate.promise.then(() => undefined)
    void lane.onBatch(batch(0, 0), control)
    await vi.advanceTimersByTimeAsync(0)
    expect(done()).toEqual(['apply 0 to 1'])
    world.joins++
    lane.assigned()
    gate.resolve(undefined)
    expect(await settled()).toEqual(['commit 1 1/1', 'resolve 1', 'fence', 'seek 1', 'wake'])
  })

  test('nor a fence that a join has overtaken: it moves the consumer itself', async () => {
    const gate = Promise.withResolvers<undefined>()
    world.fenceGate = gate.promise.then(() => undefined)
    world.next = 3
    lane.assigned()
    await vi.advanceTimersByTimeAsync(0)
    expect(done()).toEqual(['fence'])
    world.joins++
    lane.assigned()
    gate.resolve(undefined)
    expect(await settled()).toEqual(['seek 3', 'fence', 'wake'])
  })

  test('the fence moves the consumer, which no batch may tell that its group stood elsewhere', async () => {
    world.next = 40
    lane.assigned()
    expect(await settled()).toEqual(['fence', 'seek 40', 'wake'])
  })

  test('what an earlier owner left is emitted right after the fence', async () => {
    world.nextSeq = 2
    lane.assigned()
    expect(await settled()).toEqual(['fence', 'commit 0 2/2', 'seek 0', 'wake'])
  })

  test('more than one transaction carries goes out in several, before anything else', async () => {
    world.nextSeq = 5
    world.chunk = 2
    lane.assigned()
    expect(await settled()).toEqual(['fence', 'commit 0 2/2', 'commit 0 4/4', 'commit 0 5/5', 'seek 0', 'wake'])
  })

  test('events that are numbered but not there halt the lane: the ledger never passes them', async () => {
    world.nextSeq = 5
    world.chunk = 0
    lane.assigned()
    expect(await settled()).toEqual(['fence', 'pause'])
    expect(lane.view()).toMatchObject({ state: 'halted', haltReason: 'unexpected_error' })
    expect(world.committed).toEqual([])
  })

  test('a wake does what there is to do, then emits what others inserted, and asks once for many wakes', async () => {
    lane.assigned()
    await settled()
    world.wakes = [2, 1]
    await Promise.all([lane.wake(), lane.wake(), lane.wake()])
    expect(done()).toEqual(['wake', 'commit 0 2/2', 'wake', 'commit 0 3/3', 'wake'])
    world.nextSeq = 5
    expect(await settled()).toEqual(['wake', 'commit 0 5/5'])
  })

  test('offset and ledger are committed again twice a day', async () => {
    lane.assigned()
    await settled()
    world.nowMs += 11 * 3_600_000
    expect(await settled()).toEqual(['wake'])
    world.nowMs += 3_600_000
    expect(await settled()).toEqual(['wake', 'commit 0 0/0'])
    expect(await settled()).toEqual(['wake'])
  })

  test('a halted lane fences twice a day, which keeps its offsets', async () => {
    world.halt = { reason: 'flood', detail: '' }
    lane.assigned()
    expect(await settled()).toEqual(['fence', 'pause'])
    expect(await settled()).toEqual([])
    world.nowMs += 12 * 3_600_000
    expect(await settled()).toEqual(['fence', 'pause'])
  })

  test('a lane that was taken away does nothing', async () => {
    lane.assigned()
    await settled()
    lane.revoked()
    world.wakes = [1]
    expect(await settled()).toEqual([])
    expect(lane.view().next).toBeUndefined()
  })

  test.each([
    ['says that it lives, where its successor was faster', false, [null]],
    ['has nothing to say, where it has let go', true, []],
  ])('a lane that was taken away, or is stopped, %s', async (_, isLetGo, said) => {
    world.isLetGo = isLetGo
    for (const end of ['revoked', 'stop'] as const) {
      lane.assigned()
      await settled()
      await lane[end]()
      await settled()
      expect(world.outlived.splice(0)).toEqual(said.map((aloneOffset) => [world.fences, aloneOffset]))
      lane = laneIn(world)
    }
  })

  test('a fence that fails when it is counted is not taken for an owner that died', async () => {
    world.fenceFails = 2
    lane.assigned()
    for (let tries = 0; world.befores.length < 3 && tries < 10; tries++) {
      await settled()
      world.nowMs += 5_000
      await vi.advanceTimersByTimeAsync(5_000)
    }
    const of = (incarnation: number) => ({ incarnation, wasAlone: false })
    expect(world.befores).toEqual([undefined, of(1), of(2)])
    // Nor where it is the last that the process does with the lane.
    world.fenceFails = 1
    world.joins++
    lane.assigned()
    await settled()
    lane.revoked()
    await settled()
    expect(world.outlived).toEqual([[4, null]])
  })

  test('a fence that fails and lets go has counted nothing that is to be taken back', async () => {
    world.fenceFails = 1
    world.letsGoWhenItFails = true
    lane.assigned()
    await settled()
    lane.revoked()
    await settled()
    expect([world.fences, world.outlived]).toEqual([1, []])
  })

  test('a lane is taken away while its fence is in work: what that has counted is taken back', async () => {
    world.isLetGo = false
    const gate = Promise.withResolvers<undefined>()
    world.fenceGate = gate.promise
    lane.assigned()
    await vi.advanceTimersByTimeAsync(0)
    expect(world.did).toEqual(['fence'])
    lane.revoked()
    gate.resolve(undefined)
    await vi.advanceTimersByTimeAsync(0)
    await settled()
    expect(world.outlived).toEqual([[1, null]])
  })

  test('no record where the consumer reads: fence, then seek whatever is believed', async () => {
    lane.assigned()
    await settled()
    lane.onOutOfRange()
    expect(await settled()).toEqual(['fence', 'seek 0', 'wake'])
  })
})
