import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { billFormatOf } from '../../../src/providers/bill-formats.ts'
import { createBillWriter } from '../../../src/providers/wechatpay/compose-bill.ts'
import { chinaDayOf } from '../../../src/reconcile/bill/china-day.ts'
import { BILL_CRASH_POINTS } from '../../../src/reconcile/bill/crash-points.ts'
import { startSettling } from '../../../src/reconcile/bill/settle/start.ts'
import { importBill } from '../../../src/reconcile/bill/start.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { createOrders } from '../../../src/store/create-orders.ts'
import { findOrder } from '../../../src/store/find-order.ts'
import { createInstallation, type Installation } from '../../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { createQueryWorld, type QueryWorld } from '../../helpers/query-world.ts'
import { printedRandom } from '../../helpers/seed.ts'
import { until } from '../../helpers/until.ts'

let [it, world, dir]: [Installation, QueryWorld, string] = [
  ...([undefined, undefined, ''] as unknown as [Installation, QueryWorld, string]),
]
beforeAll(async () => {
  world = await createQueryWorld({ seed: printedRandom('killed while it publishes').seed, orders: 60 })
  it = await createInstallation({ partitions: 3 })
  dir = mkdtempSync(join(tmpdir(), 'paidonce-bills-'))
}, 120_000)
afterAll(async () => {
  await it.drop()
  await world.close()
  rmSync(dir, { recursive: true })
})

test('an import that ends at any point between the question and the result: each missing payment is paid, and once', async () => {
  const payments = world.told('wechatpay', 'payment').filter(({ merchant }) => merchant === 'shop')
  const transactions = payments.map(({ callback }) => callback.transaction).slice(0, 4)
  expect(transactions.length).toBeGreaterThan(1)
  const keys = world.keys.find(({ merchant }) => merchant === 'shop')
  const writer = createBillWriter({ mchid: keys?.wechatpay.mchid ?? '', appid: keys?.wechatpay.appid ?? '' })
  const rows = transactions.map(({ outTradeNo, transactionId, amountMinor, atMs }) =>
    writer.payment({ outTradeNo, transactionId, totalFen: amountMinor, paidAt: world.dateOf(atMs) }),
  )
  // Nobody has paid that: a person must look.
  const paidAt = world.dateOf(transactions[0]?.atMs ?? 0)
  rows.push(writer.payment({ outTradeNo: 'forged', transactionId: '4200009999', totalFen: 1, paidAt }))
  const path = join(dir, 'bill.csv')
  writeFileSync(path, [writer.head(), ...rows, writer.foot()].join(''))
  const { pool, url } = it.database
  const expiresAtMs = Date.now() + 3_600_000
  await createOrders(
    pool,
    it.topics.appId,
    [...transactions, { outTradeNo: 'forged', amountMinor: 1, currency: 'CNY' }].map(
      ({ outTradeNo, amountMinor, currency }) => ({
        body: { merchant: 'shop', outTradeNo, amountMinor, currency, expiresAtMs, groupKey: null, payload: null },
        lane: it.laneOf(outTradeNo),
      }),
    ),
  )
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], 3, 120_000)
    const format = billFormatOf(join(world.directory, 'merchants'), 'shop', 'wechatpay')
    const day = chinaDayOf(world.dateOf(transactions[0]?.atMs ?? 0).getTime())
    const request = {
      provider: 'wechatpay',
      merchant: 'shop',
      day,
      paths: [path],
      actor: 'test',
      format,
      dryRun: false,
    }
    const clients = new Map([['wechatpay', world.client('wechatpay', 'shop', await world.serve())]])
    const imported = async (point: string | undefined) => {
      const reach = (at: string) => {
        if (at === point) throw new Error(`crash at ${at}`)
      }
      const options = {
        provider: 'wechatpay',
        merchant: 'shop',
        day,
        asked: format.asked,
        pool,
        clock: world.clock,
        clients,
        reach,
      }
      const settling = await startSettling(it.env(), { ...options, log: createLog('test', 'error') })
      try {
        const deps = { databaseUrl: url, pool, clock: world.clock, reach, settle: settling.settle }
        return await importBill({ ...request, archiveAfterDays: 400 }, deps)
      } finally {
        await settling.close()
      }
    }
    for (const point of BILL_CRASH_POINTS) await expect(imported(point)).rejects.toThrow(`crash at ${point}`)
    const statusOf = async (outTradeNo: string) => (await findOrder(pool, 'shop', outTradeNo))?.order.status
    for (const { outTradeNo } of transactions)
      await until(`${outTradeNo} is paid`, async () => (await statusOf(outTradeNo)) === 'paid', 120_000)
    // What was published again and again, and once more perhaps, is a duplicate.
    const end = await imported(undefined)
    if (end.kind !== 'done') throw new Error(end.kind)
    const anomaly = 'bill_differs/wechatpay:4200009999/bill/missing_here'
    const { result, findings } = end.report
    expect(result).toBe('findings')
    expect(findings).toMatchObject([{ outTradeNo: 'forged', state: 'denied', anomaly }])
    for (const { outTradeNo } of transactions) {
      const { rows: events } = await pool.query(`select kind from events where key = $1 order by kind`, [outTradeNo])
      expect(events).toEqual([{ kind: 'deduct' }, { kind: 'grant' }, { kind: 'ship' }])
    }
    const deliveries = async () =>
      (
        await pool.query<{
          outcome: string
        }>(`select d.outcome::text from deliveries d join orders o on o.id = d.order_id
        where o.out_trade_no = 'forged' order by kafka_offset`)
      ).rows.map(({ outcome }) => outcome)
    await until('all that the imports said has been decided', async () => (await deliveries()).length >= 5, 120_000)
    expect(new Set((await deliveries()).slice(1))).toEqual(new Set(['duplicate']))
    const { rows: anomalies } = await pool.query('select kind, cause from anomalies')
    expect(anomalies).toEqual([{ kind: 'bill_differs', cause: anomaly }])
    const { rows: notices } = await pool.query(`select kind from events where key = 'forged'`)
    expect(notices).toEqual([{ kind: 'anomaly_opened' }])
  } finally {
    await processor.stop()
  }
}, 600_000)
