import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Stack } from '../../../dev/parts/stack.ts'
import type { RunningProcessor } from '../../../src/processor/start.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { createInstallation, payment, type Installation } from '../../helpers/installation.ts'
import { ownStack } from '../../helpers/own-stack.ts'
import { startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { until } from '../../helpers/until.ts'

let stack: Stack
beforeAll(async () => {
  stack = await ownStack({ registryInMemory: true })
})
afterAll(() => stack.stop())

async function given(): Promise<{ installation: Installation; processor: RunningProcessor }> {
  const installation = await createInstallation({ partitions: 1, stack: stack.env })
  const processor = await startTestProcessor(installation)
  await untilSettled([processor], 1)
  return { installation, processor }
}
const seen = ({ topics }: Installation, atLeast = 0) =>
  readEvents(topics, { atLeast, brokers: stack.env.KAFKA_BROKERS })
const laneAt = (processor: RunningProcessor, next: number, ledger: number) =>
  until(
    `the lane stands at ${next}, ${ledger}`,
    () => processor.lanes().some((lane) => lane.next === next && lane.ledger === ledger),
    30_000,
  )

test('a backup without what was emitted since: the lane halts, and nothing is emitted twice', async () => {
  const { installation, processor } = await given()
  try {
    await installation.createOrders(['O1', 'O2'])
    await installation.send([payment('O1')])
    await laneAt(processor, 1, 3)
    await stack.postgres.snapshot()
    await installation.send([payment('O2')])
    await laneAt(processor, 2, 6)
    await stack.postgres.restore()
    await until('the lane halts', () => processor.lanes()[0]?.haltReason === 'ledger_above_counter', 30_000)
    await installation.send([payment('O1'), payment('O2')])
    expect(checkExactlyOnce(['O1', 'O2'], await seen(installation, 6))).toEqual(nothingWrong(['O1', 'O2']))
  } finally {
    await processor.stop()
    await installation.drop()
  }
})

test('a backup with all that was emitted: the records since are read again, though no new one comes', async () => {
  const { installation, processor } = await given()
  try {
    await installation.createOrders(['O1'])
    await installation.send([payment('O1')])
    await laneAt(processor, 1, 3)
    await stack.postgres.snapshot()
    // Held: known to Postgres alone, and gone with it.
    await installation.send([payment('O1'), payment('early')])
    await laneAt(processor, 3, 3)
    await stack.postgres.restore()
    const { pool } = installation.database
    await until(
      'the held fact is there again',
      async () => (await pool.query(`select from facts where outcome = 'held'`)).rows.length === 1,
      30_000,
    )
    await installation.createOrders(['early'])
    await laneAt(processor, 3, 6)
    expect(checkExactlyOnce(['O1', 'early'], await seen(installation, 6))).toEqual(nothingWrong(['O1', 'early']))
  } finally {
    await processor.stop()
    await installation.drop()
  }
})
