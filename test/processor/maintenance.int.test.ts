import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock, type Clock } from '../../src/runtime/clock.ts'
import { dayAfter, dayOf } from '../../src/runtime/days.ts'
import { createInstallation, payment, type Installation } from '../helpers/installation.ts'
import { daysOf, rowsIn } from '../helpers/maintained.ts'
import { metricOf, probe, startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

let it: Installation
beforeAll(async () => {
  it = await createInstallation({ partitions: 2 })
})
afterAll(() => it.drop())

test('a processor makes the days ahead before its first record, keeps at it, and shows what there is', async () => {
  await it.createOrders(['A'])
  await it.send([payment('A')])
  const today = dayOf(Date.now())
  const processor = await startTestProcessor(it, { MAINTENANCE_INTERVAL_SEC: '1', PARTITIONS_AHEAD_DAYS: '3' })
  try {
    await untilSettled([processor], 2)
    const { pool } = it.database
    await until('the payment is applied', async () => (await rowsIn(pool, 'events')) === 3)
    expect(await rowsIn(pool, 'events_default')).toBe(0)
    expect(await rowsIn(pool, 'deliveries_default')).toBe(0)
    expect(await daysOf(pool, 'events')).toEqual([0, 1, 2, 3].map((n) => dayAfter(today, n)))
    await pool.query(`drop table events_${dayAfter(today, 3).replaceAll('-', '')}`)
    await until('it is made again', async () => (await daysOf(pool, 'events')).length === 4)
    await until('the metrics say so', async () => {
      const { text } = await probe(processor, '/metrics')
      return (
        metricOf(text, 'paidonce_partitions', 'table="events"') === 4 &&
        metricOf(text, 'paidonce_partitions_ahead_seconds', 'table="events"') > 2 * 86_400 &&
        metricOf(text, 'paidonce_table_bytes', 'table="facts"') > 0 &&
        metricOf(text, 'paidonce_maintenance_runs_total', 'done') > 1
      )
    })
  } finally {
    await processor.stop()
  }
})

test('a machine whose clock is two years ahead drops no day, archives no order, and says so', async () => {
  const { pool } = it.database
  const days = await daysOf(pool, 'events')
  const ahead: Clock = { ...systemClock, now: () => new Date(Date.now() + 730 * 86_400_000) }
  const processor = await startTestProcessor(it, { MAINTENANCE_INTERVAL_SEC: '1' }, { clock: ahead })
  try {
    await untilSettled([processor], 2)
    await until('it has tried', async () => {
      const { text } = await probe(processor, '/metrics')
      return metricOf(text, 'paidonce_maintenance_runs_total') > 0
    })
    const { text } = await probe(processor, '/metrics')
    expect(metricOf(text, 'paidonce_maintenance_runs_total', 'outcome="done"')).toBe(0)
    expect(metricOf(text, 'paidonce_maintenance_runs_total', 'outcome="failed"')).toBeGreaterThan(0)
    expect(await daysOf(pool, 'events')).toEqual(days)
    expect(await rowsIn(pool, 'tombstones')).toBe(0)
  } finally {
    await processor.stop()
  }
})

test('a lane without traffic says after a minute that all its events are settled', async () => {
  const { pool } = it.database
  await pool.query(`update lanes set updated_at = now() - interval '2 minutes'`)
  const unsettled = async () => (await pool.query('select from lanes where settled_seq < next_seq')).rowCount
  expect(await unsettled()).toBe(1)
  const processor = await startTestProcessor(it, { WAKE_INTERVAL_MS: '50' })
  try {
    await untilSettled([processor], 2)
    await pool.query(`update lanes set updated_at = now() - interval '2 minutes'`)
    await until('it is settled', async () => (await unsettled()) === 0)
  } finally {
    await processor.stop()
  }
})
