import { expect, test } from 'vitest'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { resumeLane } from '../../src/store/resume-lane.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment } from '../helpers/installation.ts'
import { detachDeliveries } from '../helpers/partitions.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

test('records that only Postgres refuses are found in their batch, and the others go through in order', async () => {
  const installation = await createInstallation({ partitions: 1 })
  const { pool } = installation.database
  const orders = Array.from({ length: 40 }, (_, index) => `B${index}`)
  const poisoned = new Set(['B7', 'B8', 'B33'])
  const paid = orders.filter((order) => !poisoned.has(order))
  await installation.createOrders(orders)
  await pool.query('alter table facts drop constraint facts_provider_ref_check')
  await pool.query(`alter table facts add constraint facts_provider_ref_check check (provider_ref not like '%poison%')`)
  await installation.send(
    orders.map((order) => payment(order, poisoned.has(order) ? { providerRef: `poison:${order}` } : {})),
  )
  const processor = await startTestProcessor(installation)
  try {
    const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
    expect(checkExactlyOnce(paid, events)).toEqual(nothingWrong(paid))
    const { rows } = await pool.query<{ reason: string; key: string }>(
      `select reason, convert_from(key, 'UTF8') as key from dead_letters order by kafka_offset`,
    )
    expect(rows).toEqual([...poisoned].map((key) => ({ reason: 'unprocessable', key })))
  } finally {
    await processor.stop()
    await installation.drop()
  }
})

test('a missing partition is no fault of a record: the lane halts, and goes on where it was once that is mended', async () => {
  const installation = await createInstallation({ partitions: 1 })
  const { pool } = installation.database
  await installation.createOrders(['M1', 'M2'])
  const processor = await startTestProcessor(installation)
  try {
    await untilSettled([processor], 1)
    const mend = await detachDeliveries(pool)
    await installation.send(['M1', 'M2'].map((order) => payment(order)))
    await until('the lane halts', () => processor.lanes()[0]?.haltReason === 'unexpected_error')
    const { rows } = await pool.query(`select halted_detail from lanes where halted_detail like '23514%partition%'`)
    expect(rows).toHaveLength(1)
    await mend()
    const topic = installation.topics.name(INPUT_TOPIC)
    const resumed = await resumeLane(pool, installation.topics.appId, {
      ...{ topic, lane: 0, actor: 'test', reason: 'partition attached' },
    })
    expect(resumed).toEqual({ kind: 'resumed', reason: 'unexpected_error' })
    const events = await readEvents(installation.topics, { atLeast: 6 })
    expect(checkExactlyOnce(['M1', 'M2'], events)).toEqual(nothingWrong(['M1', 'M2']))
  } finally {
    await processor.stop()
    await installation.drop()
  }
})
