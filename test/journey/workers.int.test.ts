import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startCarrier } from '../../examples/carrier/carrier.ts'
import { inventoryEffects, TABLES as STOCK } from '../../examples/inventory/effects.ts'
import { shipmentEffects, TABLES as PARCELS } from '../../examples/shipment/effects.ts'
import { readConsumerConfig } from '../../src/consumer/config.ts'
import { startConsumer } from '../../src/consumer/start.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INVENTORY_TOPIC, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { createDatabase } from '../helpers/database.ts'
import { gatewayOf, ready } from '../helpers/gateway.ts'
import { createInstallation } from '../helpers/installation.ts'
import { createMerchant } from '../helpers/merchant.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

const items = (sku: string) => JSON.stringify({ items: [{ sku, quantity: 1 }] })

test(
  'from the callback to the parcel and back: shipped; out of stock and a carrier that cannot say are anomalies',
  { timeout: 120_000 },
  async () => {
    const stops: (() => unknown)[] = []
    try {
      const installation = await createInstallation({ partitions: 1 })
      stops.push(() => installation.drop())
      const warehouse = await createDatabase()
      stops.push(() => warehouse.drop())
      const merchant = createMerchant('shop')
      stops.push(() => merchant.remove())
      const keysDir = mkdtempSync(join(tmpdir(), 'paidonce-worker-keys-'))
      stops.push(() => rmSync(keysDir, { recursive: true }))
      cpSync(join(merchant.dir, 'worker.key'), join(keysDir, 'shop.key'))
      const gateway = await gatewayOf(merchant, installation.topics.prefix)
      stops.push(() => gateway.stop())
      const processor = await startTestProcessor(installation)
      stops.push(() => processor.stop())
      await Promise.all([ready(gateway), untilSettled([processor], 1)])
      const carrier = await startCarrier()
      stops.push(() => carrier.close())

      const config = (name: string) =>
        readConsumerConfig(
          installation.env({
            ...{ CONSUMER_NAME: `${installation.topics.appId}-${name}`, DATABASE_URL: warehouse.url },
            ...{ GATEWAY_URL: `http://127.0.0.1:${gateway.port}`, WORKER_KEYS_DIR: keysDir, RETRY_FROM_MS: '20' },
          }),
        )
      const log = createLog('test', 'silent')
      const terms = { url: carrier.url, callMs: 1_000, lateMs: 0, settleMsMax: 4_000 }
      const shipment = await startConsumer(config('shipment'), {
        ...{ topic: SHIPMENT_TOPIC, log, effects: shipmentEffects(terms) },
        prepare: (pool) => pool.query(PARCELS),
      })
      stops.push(() => shipment.stop())
      const inventory = await startConsumer(config('inventory'), {
        ...{ topic: INVENTORY_TOPIC, log, effects: inventoryEffects },
        prepare: async (pool) => {
          await pool.query(STOCK)
          await pool.query(`insert into stock values ('rose', 10) on conflict do nothing`)
        },
      })
      stops.push(() => inventory.stop())

      const pay = async (outTradeNo: string, sku: string) => {
        await installation.createOrders([outTradeNo], items(sku))
        const { path, headers, rawBody } = merchant.wechatpay(outTradeNo)
        const url = `http://127.0.0.1:${gateway.port}${path}`
        for (let n = 0; n < 3; n++) expect((await fetch(url, { method: 'POST', headers, body: rawBody })).ok).toBe(true)
      }
      const orders = async () => {
        const { rows } = await installation.database.pool.query<{
          out_trade_no: string
          status: string
          kinds: string
        }>(
          `select o.out_trade_no, o.status, coalesce(string_agg(a.kind, ','), '') as kinds
           from orders o left join anomalies a on a.order_id = o.id group by o.id order by o.out_trade_no`,
        )
        return rows.map(({ out_trade_no, status, kinds }) => `${out_trade_no} ${status} ${kinds}`.trim())
      }
      await pay('A-good', 'rose')
      await until('it is shipped', async () => (await orders()).join() === 'A-good shipped', 40_000)
      await pay('B-out-of-stock', 'tulip')
      await until('it is shipped too', async () =>
        (await orders()).some((one) => one.startsWith('B-out-of-stock shipped')),
      )
      carrier.behave({ loseAnswers: 1, blind: true })
      await pay('C-who-knows', 'rose')
      await until(
        'nobody knows, and a person is asked',
        async () => {
          expect(await orders()).toEqual([
            'A-good shipped',
            'B-out-of-stock shipped fulfillment_failed',
            'C-who-knows paid fulfillment_failed',
          ])
          return true
        },
        40_000,
      )
      const parcels = carrier.done.map(({ eventId }) => eventId)
      expect(parcels).toHaveLength(3)
      expect(new Set(parcels).size).toBe(3)
      const { rows } = await warehouse.pool.query<{ quantity: number }>('select quantity from stock')
      expect(rows).toEqual([{ quantity: 8 }])
    } finally {
      for (const stop of stops.reverse()) await stop()
    }
  },
)
