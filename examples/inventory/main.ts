// Outside this repository the import is 'paidonce/consumer'.
import { runConsumer } from '../../src/consumer/consumer.ts'
import { inventoryEffects, TABLES } from './effects.ts'

await runConsumer(
  {
    topic: 'fulfillment.inventory.v1',
    prepare: (pool) => pool.query(TABLES),
    effects: inventoryEffects,
  },
  { CONSUMER_NAME: 'inventory', ...process.env },
)
