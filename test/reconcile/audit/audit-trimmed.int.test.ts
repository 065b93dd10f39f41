import { afterAll, beforeAll, expect, test } from 'vitest'
import { javaDeleteBefore } from '../../../dev/parts/java-topics.ts'
import { SHIPMENT_TOPIC } from '../../../src/schemas/topics.ts'
import { paidonce } from '../../cli/paidonce.ts'
import { createInstallation, payment, type Installation } from '../../helpers/installation.ts'
import { startTestProcessor } from '../../helpers/processor.ts'
import { stackEnv } from '../../helpers/stack.ts'
import { until } from '../../helpers/until.ts'

/** The command line on a topic whose beginning is gone, as `kafka-delete-records` or retention leaves it. */
const ORDERS = Array.from({ length: 20 }, (_, n) => `o-${n}`)
const GONE = 5

let it: Installation
beforeAll(async () => {
  it = await createInstallation({ partitions: 1 })
  await it.createOrders(ORDERS)
  await it.send(ORDERS.map((order) => payment(order)))
  const processor = await startTestProcessor(it)
  try {
    await until('all is out', () => processor.lanes()[0]?.ledger === 3 * ORDERS.length, 60_000)
  } finally {
    await processor.stop()
  }
})
afterAll(() => it.drop())

const env = () => it.env({ LOG_LEVEL: 'silent' }) as Record<string, string>
const ARGS = ['audit', 'run', '--since', '1d', '--until', new Date(Date.now() + 3_600_000).toISOString()]

test('a topic that is trimmed already: exit 3, nothing is called a finding, and it says what is gone', async () => {
  const whole = await paidonce(ARGS, env())
  expect([whole.code, whole.stderr]).toEqual([0, ''])
  expect(whole.stdout).not.toContain('Not decided')

  await javaDeleteBefore(stackEnv().KAFKA_BROKERS, it.topics.name(SHIPMENT_TOPIC), 0, GONE)
  const { code, stdout, stderr } = await paidonce(ARGS, env())
  expect([code, stderr]).toEqual([3, ''])
  expect(stdout).toMatch(/^result +undecided$/m)
  for (const finding of ['missing', 'duplicate', 'amount_mismatch', 'extra', 'late'])
    expect(stdout).toMatch(new RegExp(`^${finding} +0$`, 'm'))
  const [, why] = stdout.split('Not decided:\n')
  expect(why).toContain('topic_trimmed')
  expect(why).toContain(`${GONE} events of the window are older than what ${SHIPMENT_TOPIC} still has`)
})
