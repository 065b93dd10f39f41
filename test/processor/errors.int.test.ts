import { afterAll, beforeAll, expect, test } from 'vitest'
import { CRASH_POINTS, type CrashPoint } from '../../src/processor/crash-points.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

/** One processor meets an error at every point and gets over it by itself. */
let installation: Installation
let processor: RunningProcessor
let armed: CrashPoint | undefined = 'fence_before_first_ledger'
const paid: string[] = []

const reach = (point: CrashPoint) => {
  if (point !== armed) return
  armed = undefined
  throw Object.assign(new Error(`broken at ${point}`), { code: 'ECONNRESET' })
}

beforeAll(async () => {
  installation = await createInstallation({ partitions: 1 })
  processor = await startTestProcessor(installation, { LOG_LEVEL: 'silent' }, { reach })
  await untilSettled([processor], 1)
  expect(armed).toBeUndefined()
})
afterAll(async () => {
  await processor.stop()
  await installation.drop()
})

const isHeld = async (order: string) => {
  const { rows } = await installation.database.pool.query(
    `select from facts join orders on id = order_id where out_trade_no = $1 and outcome = 'held'`,
    [order],
  )
  return rows.length === 1
}

test.each(CRASH_POINTS.filter((point) => point !== 'fence_before_first_ledger'))('an error at %s', async (point) => {
  const orders = [`${point}-1`, `${point}-2`]
  await installation.createOrders(orders)
  if (point.startsWith('wake')) {
    const late = `${point}-late`
    await installation.send([payment(late)])
    await until('the callback that came too early is held', () => isHeld(late))
    armed = point
    await installation.createOrders([late])
    paid.push(late)
  } else {
    armed = point
    if (point.startsWith('fence'))
      await installation.database.pool.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where application_name like $1',
        [`${installation.topics.appId}-lane-0-%`],
      )
  }
  await until('the point is reached', async () => {
    if (!point.startsWith('wake') && !point.startsWith('fence') && armed !== undefined)
      await installation.send([payment(orders[0] ?? '')])
    return armed === undefined
  })
  await installation.send(orders.map((order) => payment(order)))
  paid.push(...orders)
  await until('the lane has emitted everything', () => processor.lanes()[0]?.ledger === 3 * paid.length)
})

test('nothing is lost and nothing is there twice', async () => {
  const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
  expect(checkExactlyOnce(paid, events, { inOrder: false })).toEqual(nothingWrong(paid))
})
