import { afterAll, beforeAll, expect, test } from 'vitest'
import { CRASH_POINTS, type CrashPoint } from '../../../src/processor/crash-points.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { startProcessorChild } from '../../helpers/child.ts'
import { startCrashing } from '../../helpers/crash.ts'
import { createInstallation, payment, type Installation } from '../../helpers/installation.ts'
import { until } from '../../helpers/until.ts'

/**
 * One installation for all points: each processor takes over from the one that died before it and dies at the next
 * point. Orders carry the name of the point at which they were in flight, so that a finding says where it comes from.
 */
const LANES = 2
const ENV = { SESSION_TIMEOUT_MS: '1000' }
/** A lane is fresh once only, so this one comes first. */
const FIRST: CrashPoint = 'fence_before_first_ledger'
/** Those of a brake are in brake.test.ts. */
const POINTS = [FIRST, ...CRASH_POINTS.filter((point) => point !== FIRST && !/^release_|^brake_/.test(point))]

let installation: Installation
const paid: string[] = []

beforeAll(async () => {
  installation = await createInstallation({ partitions: LANES })
})
afterAll(() => installation.drop())

async function pay(orders: readonly string[]) {
  await installation.send(orders.flatMap((order) => [payment(order), payment(order)]))
  paid.push(...orders)
}
const isHeld = async (order: string) => {
  const { rows } = await installation.database.pool.query(
    `select from facts join orders on id = order_id where out_trade_no = $1 and outcome = 'held'`,
    [order],
  )
  return rows.length === 1
}

test.each(POINTS)('kill -9 at %s', async (point) => {
  // All die at the same record, and it is not to blame: else it would become a dead letter.
  await installation.database.pool.query('update lanes set owner_deaths = 0, suspect_deaths = 0, suspect_offset = null')
  const orders = Array.from({ length: 6 }, (_, index) => `${point}-${index}`)
  const late = `${point}-late`
  await installation.createOrders(orders, '{"sku":"A-1"}')
  await pay([...orders, ...(point.startsWith('wake') ? [late] : [])])
  const child = startCrashing(installation, point, 'kill', ENV)
  try {
    if (point.startsWith('wake')) {
      // The one before may have died with its work undone: then that is what is done first, and dies too.
      const isOver = async () => child.exit() !== undefined || (await isHeld(late))
      await until('the callback that came too early is held', isOver)
      await installation.createOrders([late])
    }
    await child.reached()
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
  } finally {
    await child.kill()
  }
})

test('after all of them nothing is lost and nothing is there twice', async () => {
  const child = startProcessorChild(installation.env(ENV))
  try {
    const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
    expect(checkExactlyOnce(paid, events, { inOrder: false })).toEqual(nothingWrong(paid))
    const onTime = paid.filter((order) => !order.endsWith('-late'))
    const timely = events.filter(({ key }) => key?.endsWith('-late') === false)
    expect(checkExactlyOnce(onTime, timely).disordered).toEqual([])
  } finally {
    expect(await child.stop()).toEqual({ code: 0, signal: null })
  }
})
