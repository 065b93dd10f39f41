import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Stack } from '../../dev/parts/stack.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { baseBackup, keepLog } from '../helpers/base-backup.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment, type Installation } from '../helpers/installation.ts'
import { ownStack } from '../helpers/own-stack.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { commandOf, expectAudit, follow } from '../helpers/remedy.ts'
import { until } from '../helpers/until.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'

const LANES = 2
const RESTORED = 'Postgres was restored from a backup'
let stack: Stack
beforeAll(async () => void (stack = await ownStack({ registryInMemory: true })))
afterAll(() => stack.stop())

interface Load {
  readonly orders: readonly string[]
  readonly stop: () => Promise<void>
}
/** Orders and their payments, without a pause. */
function load(it: Installation): Load {
  const orders: string[] = []
  let isStopped = false
  const running = (async () => {
    while (!isStopped) {
      const some = Array.from({ length: 20 }, (_, n) => `L${orders.length + n}`)
      await it.createOrders(some)
      await it.send(some.flatMap((order) => [payment(order), payment(order)]))
      orders.push(...some)
    }
  })()
  return {
    orders,
    stop: async () => {
      isStopped = true
      await running
    },
  }
}

/** A base backup is made in the middle of it. @returns the orders that were paid by the end */
async function workWithBackup(it: Installation, processor: RunningProcessor): Promise<readonly string[]> {
  const { orders, stop } = load(it)
  await until('there is work', () => orders.length > 200, 30_000)
  await baseBackup(stack.postgres)
  const atBackup = orders.length
  await until('there is work after the backup', () => orders.length > atBackup + 200, 30_000)
  await stop()
  await untilOut(processor, orders.length)
  return orders
}
const untilOut = (processor: RunningProcessor, orders: number) =>
  until(
    'all events are out',
    () => processor.lanes().reduce((sum, { ledger = 0 }) => sum + ledger, 0) === 3 * orders,
    60_000,
  )
const haltsOf = async (it: Installation) => {
  const { rows } = await it.database.pool.query<{ lane: number; halted_reason: string }>(
    'select lane, halted_reason from lanes where halted_reason is not null and topic = $1 order by lane',
    [it.topics.name(INPUT_TOPIC)],
  )
  return rows
}
async function expectExact(it: Installation, orders: readonly string[]) {
  await expectAudit(RESTORED, it.env(), orders.length)
  const seen = await readEvents(it.topics, { atLeast: 3 * orders.length, brokers: stack.env.KAFKA_BROKERS })
  expect(checkExactlyOnce(orders, seen, { inOrder: false })).toEqual(nothingWrong(orders))
}

test('a base backup made under load, without what was committed since: halted; the remedy ends exact', async () => {
  const it = await createInstallation({ partitions: LANES, stack: stack.env })
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], LANES)
    const orders = await workWithBackup(it, processor)
    await stack.postgres.restore()
    const halted = await until(
      'both lanes halt',
      async () => {
        const halts = await haltsOf(it)
        return halts.length === LANES && halts
      },
      60_000,
    )
    expect(new Set(halted.map(({ halted_reason: reason }) => reason))).toEqual(new Set(['ledger_above_counter']))
    for (const { lane } of halted) {
      const done = await follow(commandOf(RESTORED, 'lane rebuild'), { lane }, it.env())
      expect([done.code, done.stderr, done.stdout]).toEqual([
        0,
        '',
        expect.stringContaining('none of them goes out again'),
      ])
    }
    // The order service sends again what it has created since.
    const { pool } = it.database
    const kept = await pool.query<{ id: string }>(`select out_trade_no as id from orders where status <> 'awaited'`)
    const known = new Set(kept.rows.map(({ id }) => id))
    const lost = orders.filter((order) => !known.has(order))
    expect(lost.length).toBeGreaterThan(100)
    await it.createOrders(lost)
    await until(
      'all is derived again',
      async () => {
        const { rows } = await pool.query<{ n: string; left: string }>(
          `select (select count(*) from events) as n, (select count(*) from imported_events) as left`,
        )
        return Number(rows[0]?.n) === 3 * orders.length && Number(rows[0]?.left) === 0
      },
      60_000,
    )
    // And they go on.
    await it.createOrders(['after-1', 'after-2', 'after-3'])
    const after = ['after-1', 'after-2', 'after-3']
    await it.send(after.map((order) => payment(order)))
    await untilOut(processor, orders.length + after.length)
    await expectExact(it, [...orders, ...after])
    const events = await pool.query(`select count(*) filter (where action = 'lane_rebuild') as n from operator_actions`)
    expect(events.rows).toEqual([{ n: '2' }])
  } finally {
    await processor.stop()
    await it.drop()
  }
})

test('the same with all that was committed since, from the kept log: the lanes go on by themselves, exactly', async () => {
  const it = await createInstallation({ partitions: LANES, stack: stack.env })
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], LANES)
    const orders = await workWithBackup(it, processor)
    await stack.postgres.stop()
    await keepLog(stack.postgres)
    await stack.postgres.restore()
    await it.createOrders(['after-1'])
    await it.send([payment('after-1')])
    await untilOut(processor, orders.length + 1)
    expect(await haltsOf(it)).toEqual([])
    await expectExact(it, [...orders, 'after-1'])
  } finally {
    await processor.stop()
    await it.drop()
  }
})
