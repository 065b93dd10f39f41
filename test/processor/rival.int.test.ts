import { pino } from 'pino'
import { expect, test } from 'vitest'
import { reachNothing, type CrashPoint } from '../../src/processor/crash-points.ts'
import { openLaneSession } from '../../src/processor/lane-session.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment, type Installation } from '../helpers/installation.ts'
import { metricOf, probe, startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

/** As another process that takes the lane to be its own: it ends the owner's connection. */
async function fenceOnce(installation: Installation) {
  const { session } = await fenceNow(installation)
  await session.close()
}
function fenceNow({ topics, database }: Installation) {
  return openLaneSession(
    {
      ...{ databaseUrl: database.url, appId: topics.appId, topic: topics.name(INPUT_TOPIC), lane: 0, startOffset: 0 },
      ...{ onLost: () => undefined, log: createLog('rival', 'silent') },
    },
    reachNothing,
  )
}

test('a lane that another process fences again and again counts each as a failure, until it gets on', async () => {
  const installation = await createInstallation({ partitions: 1 })
  const failures: number[] = []
  const counted = (length: number) => Array.from({ length }, (_, index) => index + 1)
  let fences = 0
  const write = (line: string) => {
    const said = JSON.parse(line) as { msg: string; failures?: number }
    if (said.msg === 'the lane is fenced') fences++
    if (said.failures !== undefined) failures.push(said.failures)
  }
  const processor = await startTestProcessor(
    installation,
    { WAKE_INTERVAL_MS: '50' },
    { log: pino({ level: 'info' }, { write }) },
  )
  /** Not each round gives one: a rival may be ended by the owner's fence before it has ended anybody. */
  const fight = async (failuresMin: number) => {
    for (let round = 0; failures.length < failuresMin && round < 3 * failuresMin; round++) {
      const before = fences
      await fenceOnce(installation).catch(() => undefined) // The owner may already have fenced and ended this one.
      await until('it has fenced anew', () => fences > before && processor.lanes()[0]?.state === 'running')
    }
  }
  try {
    await untilSettled([processor], 1)
    await installation.createOrders(['R1'])
    await fight(5)
    expect(failures.length).toBeGreaterThanOrEqual(5)
    expect(failures).toEqual(counted(failures.length))
    await installation.send([payment('R1')])
    expect(checkExactlyOnce(['R1'], await readEvents(installation.topics, { atLeast: 3 }))).toEqual(
      nothingWrong(['R1']),
    )
    failures.length = 0
    await fight(2)
    expect(failures.length).toBeGreaterThanOrEqual(2)
    expect(failures).toEqual(counted(failures.length))
    const { text } = await probe(processor, '/metrics')
    expect(metricOf(text, 'paidonce_lane_errors_total', 'step="connection"')).toBeGreaterThanOrEqual(5)
  } finally {
    await processor.stop()
    await installation.drop()
  }
})

test('once a stop has begun, what a successor has ended is not fenced again', async () => {
  const installation = await createInstallation({ partitions: 2 })
  const gate = Promise.withResolvers<undefined>()
  let isHeld = false
  let losses = 0
  const write = (line: string) => {
    if (line.includes('has lost its Postgres connection')) losses++
  }
  const processor = await startTestProcessor(
    installation,
    {},
    {
      log: pino({ level: 'warn' }, { write }),
      reach: async (point) => {
        if (point !== 'batch_before_begin') return
        isHeld = true
        await gate.promise
      },
    },
  )
  let isStopped = false
  try {
    await untilSettled([processor], 2)
    const order = Array.from({ length: 100 }, (_, index) => `S${index}`).find((name) => installation.laneOf(name) === 1)
    await installation.send([payment(order ?? '')])
    await until('a batch of the other lane is in work', () => isHeld)
    const stopping = processor.stop().then(() => (isStopped = true))
    await fenceOnce(installation)
    await until('the lane has lost its connection', () => losses > 0)
    const lostMs = performance.now()
    await until('it has had the time to fence', () => performance.now() - lostMs > 1_000)
    const { rows } = await installation.database.pool.query('select fences::int from lanes where lane = 0')
    expect([rows, isStopped]).toEqual([[{ fences: 2 }], false])
    gate.resolve(undefined)
    await stopping
  } finally {
    gate.resolve(undefined)
    await processor.stop()
    await installation.drop()
  }
})

test('an owner that a successor overtakes before it lets go has not died, nor has its record killed it', async () => {
  const installation = await createInstallation({ partitions: 2 })
  const { pool } = installation.database
  const gate = Promise.withResolvers<undefined>()
  let isHeld = false
  let losses = 0
  const write = (line: string) => {
    if (line.includes('has lost its Postgres connection')) losses++
  }
  const reach = async (point: CrashPoint) => {
    if (point !== 'batch_before_begin') return
    isHeld = true
    await gate.promise
  }
  const processor = await startTestProcessor(installation, {}, { log: pino({ level: 'warn' }, { write }), reach })
  try {
    await untilSettled([processor], 2)
    const order = Array.from({ length: 100 }, (_, index) => `S${index}`).find((name) => installation.laneOf(name) === 1)
    await installation.send([payment(order ?? '')])
    await until('a batch of the other lane is in work', () => isHeld)
    const stopping = processor.stop()
    const { session, row } = await fenceNow(installation)
    expect(row.ownerDeaths).toBe(1)
    await until('the lane has lost its connection', () => losses > 0)
    gate.resolve(undefined)
    await stopping
    const { rows } = await pool.query('select lane, is_owned, fences::int, owner_deaths from lanes order by lane')
    expect(rows).toEqual([
      { lane: 0, is_owned: true, fences: 2, owner_deaths: 0 },
      { lane: 1, is_owned: false, fences: 1, owner_deaths: 0 },
    ])
    await session.close()
  } finally {
    gate.resolve(undefined)
    await processor.stop()
    await installation.drop()
  }
})
