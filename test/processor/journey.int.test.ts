import { expect, test } from 'vitest'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment } from '../helpers/installation.ts'
import { metricOf, probe, startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { printedRandom } from '../helpers/seed.ts'
import { until } from '../helpers/until.ts'

test('each order that is paid rightly has its three events once, however often its callback comes', async () => {
  const random = printedRandom('journey')
  const installation = await createInstallation({ partitions: 3 })
  const paid = Array.from({ length: 40 }, (_, index) => `J${index}`)
  const others = ['unpaid', 'wrong-amount', 'wrong-currency']
  await installation.createOrders([...paid, ...others], '{"sku":"A-1"}')
  const processor = await startTestProcessor(installation)
  try {
    const first = paid.map((order) => payment(order))
    const again = random.shuffle([...first, ...first, ...first])
    const wrong = [payment('wrong-amount', { amountMinor: 1 }), payment('wrong-currency', { currency: 'USD' })]
    await installation.send([...first, ...again, ...wrong])

    const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
    expect(checkExactlyOnce(paid, events)).toEqual(nothingWrong(paid))
    expect(new Set(events.map(({ payload }) => payload))).toEqual(new Set(['{"sku":"A-1"}']))
    expect(new Set(events.map(({ ceId }) => ceId)).size).toBe(events.length)

    await until('every record is counted', async () => {
      const { text } = await probe(processor, '/metrics')
      return metricOf(text, 'paidonce_records_total') === 4 * paid.length + wrong.length
    })
    const { text } = await probe(processor, '/metrics')
    expect(metricOf(text, 'paidonce_records_total', 'outcome="applied"')).toBe(paid.length)
    expect(metricOf(text, 'paidonce_records_total', 'outcome="duplicate"')).toBe(3 * paid.length)
    expect(metricOf(text, 'paidonce_records_total', 'outcome="anomaly"')).toBe(2)
    expect(metricOf(text, 'paidonce_callback_to_event_seconds_count')).toBe(3 * paid.length + 2)
    expect(await probe(processor, '/readyz')).toEqual({ status: 200, text: 'ok\n' })
    expect((await probe(processor, '/healthz')).status).toBe(200)
  } finally {
    await processor.stop()
    await installation.drop()
  }
})

test('a stopped processor leaves nothing behind, and the next one goes on from there', async () => {
  const installation = await createInstallation({ partitions: 2 })
  const [before, after] = [
    ['S1', 'S2', 'S3'],
    ['S4', 'S5'],
  ]
  await installation.createOrders([...before, ...after])
  try {
    const first = await startTestProcessor(installation)
    await installation.send(before.map((order) => payment(order)))
    await readEvents(installation.topics, { atLeast: 3 * before.length })
    await first.stop()
    await until('its connections are gone', async () => {
      const { rows } = await installation.database.pool.query(
        `select from pg_stat_activity where application_name like $1`,
        [`${installation.topics.appId}-%`],
      )
      return rows.length === 0
    })

    const second = await startTestProcessor(installation)
    await untilSettled([second], 2)
    await installation.send([...before, ...after].map((order) => payment(order)))
    const all = [...before, ...after]
    const events = await readEvents(installation.topics, { atLeast: 3 * all.length })
    expect(checkExactlyOnce(all, events)).toEqual(nothingWrong(all))
    const { text } = await probe(second, '/metrics')
    expect(metricOf(text, 'paidonce_takeovers_total')).toBe(0)
    await second.stop()
  } finally {
    await installation.drop()
  }
})

test('a lane that nothing has happened on has its ledger before its first batch', async () => {
  const installation = await createInstallation({ partitions: 2 })
  const processor = await startTestProcessor(installation)
  try {
    await untilSettled([processor], 2)
    expect(processor.lanes()).toMatchObject([
      { lane: 0, state: 'running', next: 0, ledger: 0 },
      { lane: 1, state: 'running', next: 0, ledger: 0 },
    ])
  } finally {
    await processor.stop()
    await installation.drop()
  }
})
