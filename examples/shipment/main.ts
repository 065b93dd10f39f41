// Outside this repository the import is 'paidonce/consumer'.
import { runConsumer } from '../../src/consumer/consumer.ts'
import { shipmentEffects, TABLES } from './effects.ts'

const { CARRIER_URL = 'http://127.0.0.1:8090', CARRIER_CALL_MS = '10000', CARRIER_LATE_MS = '60000' } = process.env

await runConsumer(
  {
    topic: 'fulfillment.shipment.v1',
    prepare: (pool) => pool.query(TABLES),
    effects: shipmentEffects({
      url: CARRIER_URL,
      callMs: Number(CARRIER_CALL_MS),
      lateMs: Number(CARRIER_LATE_MS),
    }),
  },
  { CONSUMER_NAME: 'shipment', ...process.env },
)
