import { expect, test } from 'vitest'
import { createLog } from '../../src/runtime/log.ts'
import { createOffsetReader } from '../../src/runtime/kafka/offset-reader.ts'
import { INPUT_TOPIC, INVENTORY_TOPIC } from '../../src/schemas/topics.ts'
import { readLaneStatuses } from '../../src/store/lane-status.ts'
import { readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment } from '../helpers/installation.ts'
import { startTestProcessor } from '../helpers/processor.ts'
import { stackEnv } from '../helpers/stack.ts'

test('an order that expires is closed, but not while its payment may still lie in the log', async () => {
  const installation = await createInstallation({ partitions: 1 })
  const { pool } = installation.database
  await installation.createOrders(['X1', 'X2'])
  await pool.query(`update orders set expires_at = now() - interval '1 minute'`)
  await pool.query(`update timers set due_at = now() - interval '1 minute'`)
  // Nobody reads yet: the timers are due before the payment is applied.
  await installation.send([payment('X1')])
  const processor = await startTestProcessor(installation, { EXPIRY_GRACE_SEC: '0' })
  const offsets = await createOffsetReader(
    { brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false },
    createLog('test', 'silent'),
  )
  try {
    const events = await readEvents(installation.topics, { atLeast: 4 })
    expect(events.map(({ key, kind }) => `${key} ${kind}`).sort()).toEqual([
      ...['X1 deduct', 'X1 grant', 'X1 ship', 'X2 unreserve'],
    ])
    expect(events.find(({ kind }) => kind === 'unreserve')?.topic).toBe(INVENTORY_TOPIC)

    const topic = installation.topics.name(INPUT_TOPIC)
    const [status] = await readLaneStatuses(pool, offsets, { appId: installation.topics.appId, topic })
    expect(status).toMatchObject({ lane: 0, lag: 0, unemitted: 0, ledger: 4, hasMark: true, halted: undefined })
  } finally {
    await offsets.close()
    await processor.stop()
    await installation.drop()
  }
})
