import { expect, test } from 'vitest'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name}${index}`)
const twice = (orders: readonly string[]) => orders.flatMap((order) => [payment(order), payment(order)])

test.each([2, 3, 5])('%d processors share the lanes, and each event is there once', async (count) => {
  const installation = await createInstallation({ partitions: 5 })
  const paid = numbered(`N${count}-`, 100)
  await installation.createOrders(paid)
  const processors = await Promise.all(Array.from({ length: count }, () => startTestProcessor(installation)))
  try {
    await untilSettled(processors, 5)
    await installation.send(twice(paid))
    const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
    expect(checkExactlyOnce(paid, events)).toEqual(nothingWrong(paid))
  } finally {
    await Promise.all(processors.map((processor) => processor.stop()))
    await installation.drop()
  }
})

test('processors that come and go while callbacks arrive lose and repeat nothing', async () => {
  const installation = await createInstallation({ partitions: 4 })
  const parts = ['A', 'B', 'C', 'D'].map((name) => numbered(name, 120))
  const paid = parts.flat()
  await installation.createOrders(paid)
  const [first, second] = [await startTestProcessor(installation), await startTestProcessor(installation)]
  await untilSettled([first, second], 4)
  const feeding = (async () => {
    for (const part of parts)
      for (let from = 0; from < part.length; from += 10) await installation.send(twice(part.slice(from, from + 10)))
  })()
  const third = await startTestProcessor(installation)
  try {
    await untilSettled([first, second, third], 4)
    await first.stop()
    await untilSettled([second, third], 4)
    await second.stop()
    await feeding
    const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
    expect(checkExactlyOnce(paid, events)).toEqual(nothingWrong(paid))
  } finally {
    await Promise.all([first, second, third].map((processor) => processor.stop()))
    await installation.drop()
  }
})
