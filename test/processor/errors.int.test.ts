import { afterAll, beforeAll, expect, test } from 'vitest'
import { CRASH_POINTS, type CrashPoint } from '../../src/processor/crash-points.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { releaseBrake } from '../../src/store/release-brake.ts'
import { setBrake } from '../../src/store/set-brake.ts'
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

const ofBrake = (point: CrashPoint) => /^(release|brake)_/.test(point)
const isHeld = async (order: string) => {
  const { rows } = await installation.database.pool.query(
    `select from facts join orders on id = order_id where out_trade_no = $1 and outcome = 'held'`,
    [order],
  )
  return rows.length === 1
}

/** Puts a payment behind a brake, and arms when the lane is about to number it. */
async function release(point: CrashPoint, order: string) {
  const { pool } = installation.database
  const brake = await setBrake(pool, ...brakeAt(), { ...NO_SCOPE, eventType: 'ship', actor: 'ann', reason: 'r' })
  if (brake.kind === 'too_many') throw new Error('too many')
  if (point === 'brake_changed') armed = point
  await installation.send([payment(order)])
  await until('its events wait', async () => (await pool.query('select from waiting_events')).rows.length === 3)
  if (point !== 'brake_changed') armed = point
  await releaseBrake(pool, ...brakeAt(), { id: brake.id, merchant: null, actor: 'ann', reason: 'r' })
}
const NO_SCOPE = { merchant: null, outTradeNo: null, eventType: null }
const brakeAt = () => [installation.topics.appId, installation.topics.name(INPUT_TOPIC)] as const

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
  } else if (ofBrake(point)) await release(point, orders[0] ?? '')
  else {
    armed = point
    if (point.startsWith('fence'))
      await installation.database.pool.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where application_name like $1',
        [`${installation.topics.appId}-lane-0-%`],
      )
  }
  await until('the point is reached', async () => {
    if (!/^(wake|fence|release|brake)_/.test(point) && armed !== undefined)
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
