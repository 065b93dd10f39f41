import { afterAll, beforeAll, expect, test } from 'vitest'
import { INPUT_TOPIC } from '../../../src/schemas/topics.ts'
import { requestReplay } from '../../../src/store/request-replay.ts'
import { REPLAY_POINTS, sendReplays } from '../../../src/store/send-replays.ts'
import { readReplayRun, settleReplays } from '../../../src/store/settle-replays.ts'
import { createPlainProducer } from '../../../src/runtime/kafka/plain-producer.ts'
import type { PlainProducer } from '../../../src/runtime/kafka/port.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { startChild } from '../../helpers/child.ts'
import { createInstallation, payment, type Installation } from '../../helpers/installation.ts'
import { startTestProcessor } from '../../helpers/processor.ts'
import { until } from '../../helpers/until.ts'

const CHILD = new URL('../../helpers/replay-child.ts', import.meta.url).pathname
const LETTERS = 6
let it: Installation
let topic: string
let producer: PlainProducer
const runs: { runId: number; orders: string[] }[] = []

beforeAll(async () => {
  it = await createInstallation({ partitions: 2 })
  topic = it.topics.name(INPUT_TOPIC)
  const brokers = it.env()['KAFKA_BROKERS']?.split(',') ?? []
  producer = await createPlainProducer({ brokers, ssl: false }, [topic], createLog('test', 'error'))
})
afterAll(async () => {
  await producer.close()
  await it.drop()
})

/** Dead letters of sound payments, as an unknown schema leaves them. */
async function givenRun(name: string) {
  const names = Array.from({ length: 100 }, (_, index) => `${name}-${index}`)
  const orders = [0, 1].flatMap((lane) => names.filter((order) => it.laneOf(order) === lane).slice(0, LETTERS / 2))
  await it.createOrders(orders)
  const { pool } = it.database
  for (const [index, order] of orders.entries())
    await pool.query(
      `insert into dead_letters (topic, lane, kafka_offset, key, value, reason, record_time)
       values ($1, $2, $3, $4, $5, 'unknown_schema', now())`,
      [topic, it.laneOf(order), 1_000_000 + runs.length * 100 + index, order, it.encode(payment(order).callback)],
    )
  const filter = { topic, reasons: ['unknown_schema'] as const }
  const asked = await requestReplay(pool, {
    ...{ filter, actor: 'test', reason: 'a schema appeared', partitions: 2, quarantined: false, dryRun: false },
  })
  if (asked.kind !== 'requested' || asked.runId === undefined) throw new Error('nothing to replay')
  const { runId } = asked
  runs.push({ runId, orders })
  return runId
}

// Each passage: the first lane's and the second lane's call.
const DEATHS = REPLAY_POINTS.flatMap((point) =>
  (point === 'replay_requested' ? ['1'] : ['1', '2']).map((passage) => ({ point, passage })),
)

test.each(DEATHS)(
  'kill -9 at $point, passage $passage, and again: nothing of the run is left to send',
  async (death) => {
    const runId = await givenRun(`${death.point}-${death.passage}`)
    const { pool } = it.database
    for (let again = 0; again < 2; again++) {
      const env = it.env({ CRASH_AT: death.point, CRASH_PASSAGE: death.passage, RUN_ID: String(runId) })
      // The second time there may be nothing left to die at.
      const exit = await startChild(CHILD, env).exited
      if (again === 0) expect(exit).toEqual({ code: null, signal: 'SIGKILL' })
    }
    expect(await sendReplays(pool, producer, { topic, runId })).toMatchObject({ kind: 'sent' })
    const run = await readReplayRun(pool, runId)
    expect(run?.replays.map(({ isSent, result }) => [isSent, result])).toEqual(
      Array.from({ length: LETTERS }, () => [true, null]),
    )
  },
)

test('then the lanes meet them: each applied once, and reported so, however often it was sent', async () => {
  const { pool } = it.database
  const orders = runs.flatMap((run) => run.orders)
  const processor = await startTestProcessor(it)
  try {
    await until('every replay has its result', async () => {
      const pending = await Promise.all(runs.map(({ runId }) => settleReplays(pool, runId)))
      return pending.every((count) => count === 0)
    })
    for (const { runId } of runs) {
      const run = await readReplayRun(pool, runId)
      expect(new Set(run?.replays.map(({ result }) => result))).toEqual(new Set(['applied']))
    }
    const events = await readEvents(it.topics, { atLeast: 3 * orders.length })
    expect(checkExactlyOnce(orders, events, { inOrder: false })).toEqual(nothingWrong(orders))
    // Some were in the topic more than once, or this would show nothing.
    const { rows } = await pool.query<{ outcome: string; n: number }>(
      `select outcome::text, count(*)::int as n from deliveries group by outcome order by 1`,
    )
    expect(rows).toMatchObject([{ outcome: 'applied', n: orders.length }, { outcome: 'duplicate' }])
    expect((await pool.query(`select from dead_letters where status <> 'replayed'`)).rowCount).toBe(0)
  } finally {
    await processor.stop()
  }
})

test('two that send one run at once: one sends, the other is told', async () => {
  const runId = await givenRun('twice')
  const { pool } = it.database
  const other: { sent?: unknown } = {}
  const sent = await sendReplays(pool, producer, {
    ...{ topic, runId },
    reach: async (point) => {
      if (point === 'replay_requested') other.sent = await sendReplays(pool, producer, { topic, runId })
    },
  })
  expect([sent, other.sent]).toEqual([{ kind: 'sent', count: LETTERS }, { kind: 'busy' }])
})

test('a sender that is frozen loses its turn after its lease: another one sends, and what it sends late is a duplicate', async () => {
  const runId = await givenRun('frozen')
  const { pool } = it.database
  const other: { sent?: unknown } = {}
  const frozen = sendReplays(pool, producer, {
    ...{ topic, runId, leaseMs: 500 },
    reach: async (point) => {
      if (point !== 'replay_after_send' || other.sent !== undefined) return
      other.sent = await until('the turn is free', async () => {
        const sent = await sendReplays(pool, producer, { topic, runId })
        return sent.kind === 'sent' && sent
      })
    },
  })
  await expect(frozen).rejects.toThrow()
  expect(other.sent).toEqual({ kind: 'sent', count: LETTERS })
  const run = await readReplayRun(pool, runId)
  expect(run?.replays.every(({ isSent }) => isSent)).toBe(true)
})
