// Outside this repository the import is 'paidonce/consumer'.
import { runConsumer } from '../../src/consumer/consumer.ts'
import { pointsEffects, TABLES } from './effects.ts'

await runConsumer(
  {
    topic: 'fulfillment.points.v1',
    prepare: (pool) => pool.query(TABLES),
    effects: pointsEffects,
  },
  { CONSUMER_NAME: 'points', ...process.env },
)
