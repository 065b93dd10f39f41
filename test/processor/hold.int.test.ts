import { expect, test } from 'vitest'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

test('a callback that comes before its order is held, and released within a second of the order', async () => {
  const installation = await createInstallation({ partitions: 2 })
  // A slow timer: it is NOTIFY that wakes the lane.
  const processor = await startTestProcessor(installation, { WAKE_INTERVAL_MS: '60000' })
  try {
    await untilSettled([processor], 2)
    await installation.send([payment('H1'), payment('H1')])
    const { pool } = installation.database
    await until('the fact is held', async () => {
      const { rows } = await pool.query(`select from facts where outcome = 'held'`)
      return rows.length === 1
    })
    const startedMs = performance.now()
    await installation.createOrders(['H1'])
    await until('its events are emitted', () => processor.lanes().some(({ ledger }) => ledger === 3))
    expect(performance.now() - startedMs).toBeLessThan(1_000)
    const events = await readEvents(installation.topics, { atLeast: 3 })
    expect(checkExactlyOnce(['H1'], events)).toEqual(nothingWrong(['H1']))
  } finally {
    await processor.stop()
    await installation.drop()
  }
})

test('orders created at the same instants as their callbacks arrive are all paid once', async () => {
  const installation = await createInstallation({ partitions: 3 })
  const processor = await startTestProcessor(installation)
  const paid = Array.from({ length: 150 }, (_, index) => `I${index}`)
  try {
    await untilSettled([processor], 3)
    for (let from = 0; from < paid.length; from += 10) {
      const some = paid.slice(from, from + 10)
      await Promise.all([
        installation.send(some.flatMap((order) => [payment(order), payment(order)])),
        ...some.map((order) => installation.createOrders([order])),
      ])
    }
    const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
    expect(checkExactlyOnce(paid, events, { inOrder: false })).toEqual(nothingWrong(paid))
    const { rows } = await installation.database.pool.query(`select from facts where outcome = 'held'`)
    expect(rows).toEqual([])
  } finally {
    await processor.stop()
    await installation.drop()
  }
})
