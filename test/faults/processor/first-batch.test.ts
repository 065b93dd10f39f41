import { expect, test } from 'vitest'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { startCrashing } from '../../helpers/crash.ts'
import { createInstallation, payment } from '../../helpers/installation.ts'
import { metricOf, probe, startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { startProcessorChild } from '../../helpers/child.ts'
import { until } from '../../helpers/until.ts'

const ENV = { SESSION_TIMEOUT_MS: '1000' }
const orders = ['V1', 'V2', 'V3', 'V4', 'V5', 'V6']

/** The very first batch of its lane is in Postgres and not in Kafka when its owner dies. */
async function givenFirstBatchCutInHalf() {
  const installation = await createInstallation({ partitions: 1 })
  await installation.createOrders(orders)
  await installation.send(orders.slice(0, 3).map((order) => payment(order)))
  const child = startCrashing(installation, 'batch_after_commit', 'kill', ENV)
  await child.reached()
  await child.exited
  expect(await readEvents(installation.topics)).toEqual([])
  return installation
}

test('the very first batch, killed between Postgres and Kafka, is emitted by the next owner, without more input', async () => {
  const installation = await givenFirstBatchCutInHalf()
  const processor = await startTestProcessor(installation, ENV)
  try {
    await untilSettled([processor], 1)
    const events = await readEvents(installation.topics, { atLeast: 9 })
    expect(checkExactlyOnce(orders.slice(0, 3), events)).toEqual(nothingWrong(orders.slice(0, 3)))
    const { text } = await probe(processor, '/metrics')
    expect(metricOf(text, 'paidonce_takeovers_total')).toBe(1)
    await installation.send(orders.map((order) => payment(order)))
    const all = await readEvents(installation.topics, { atLeast: 18 })
    expect(checkExactlyOnce(orders, all)).toEqual(nothingWrong(orders))
  } finally {
    await processor.stop()
    await installation.drop()
  }
})

test('negative control: an owner that emits only the rows that it inserted loses that batch', async () => {
  const installation = await givenFirstBatchCutInHalf()
  const mutant = startProcessorChild(installation.env({ ...ENV, MUTANT: 'only_own_rows' }))
  try {
    await installation.send(orders.map((order) => payment(order)))
    await until('the later batch is emitted', async () => (await readEvents(installation.topics)).length >= 9, 40_000)
    const { lost } = checkExactlyOnce(orders, await readEvents(installation.topics))
    expect(lost).toHaveLength(9)
  } finally {
    await mutant.kill()
    await installation.drop()
  }
})
