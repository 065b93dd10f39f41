import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { billFormatOf } from '../../../src/providers/bill-formats.ts'
import { createBillWriter } from '../../../src/providers/wechatpay/compose-bill.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { chinaDayOf } from '../../../src/reconcile/bill/china-day.ts'
import { startSettling } from '../../../src/reconcile/bill/settle/start.ts'
import type { BillFinding } from '../../../src/reconcile/bill/finding.ts'
import { importBill } from '../../../src/reconcile/bill/start.ts'
import { createOrders } from '../../../src/store/create-orders.ts'
import { fileCommand } from '../../../src/store/file-command.ts'
import { findOrder } from '../../../src/store/find-order.ts'
import { listAnomalies } from '../../../src/store/list-anomalies.ts'
import { resolveCommand } from '../../../src/store/resolve-command.ts'
import { callbackOf, createInstallation, type Installation } from '../../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { createQueryWorld, type QueryWorld } from '../../helpers/query-world.ts'
import { printedRandom } from '../../helpers/seed.ts'
import { until } from '../../helpers/until.ts'

let [it, world, dir]: [Installation, QueryWorld, string] = [
  ...([undefined, undefined, ''] as unknown as [Installation, QueryWorld, string]),
]
beforeAll(async () => {
  world = await createQueryWorld({ seed: printedRandom('lost callbacks').seed, orders: 60 })
  it = await createInstallation({ partitions: 3 })
  dir = mkdtempSync(join(tmpdir(), 'paidonce-bills-'))
}, 120_000)
afterAll(async () => {
  await it.drop()
  await world.close()
  rmSync(dir, { recursive: true })
})

test('a payment whose callbacks were all lost: the bill has it, the provider confirms it, the order is paid once', async () => {
  const told = world.told('wechatpay', 'payment').find(({ merchant }) => merchant === 'shop')
  if (told === undefined) throw new Error('another seed')
  const { transactionId, outTradeNo, amountMinor, currency, atMs } = told.callback.transaction
  const paidAt = world.dateOf(atMs)
  const keys = world.keys.find(({ merchant }) => merchant === 'shop')
  const writer = createBillWriter({ mchid: keys?.wechatpay.mchid ?? '', appid: keys?.wechatpay.appid ?? '' })
  const rows = [
    writer.payment({ outTradeNo, transactionId, totalFen: amountMinor, paidAt }),
    // Nobody has paid that: somebody wrote it into the bill, and its totals with it.
    writer.payment({ outTradeNo: 'forged', transactionId: '4200009999', totalFen: 1, paidAt }),
  ]
  const path = join(dir, 'bill.csv')
  writeFileSync(path, [writer.head(), ...rows, writer.foot()].join(''))
  const { pool, url } = it.database
  const expiresAtMs = Date.now() + 3_600_000
  const body = { merchant: 'shop', outTradeNo, amountMinor, currency, expiresAtMs, groupKey: null, payload: null }
  const forged = { ...body, outTradeNo: 'forged', amountMinor: 1 }
  await createOrders(
    pool,
    it.topics.appId,
    [body, forged].map((one) => ({ body: one, lane: it.laneOf(one.outTradeNo) })),
  )
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], 3, 120_000)
    const format = billFormatOf(join(world.directory, 'merchants'), 'shop', 'wechatpay')
    const about = { provider: 'wechatpay', merchant: 'shop', day: chinaDayOf(paidAt.getTime()) }
    const request = { ...about, paths: [path], actor: 'test', format, dryRun: false, archiveAfterDays: 400 }
    const deps = { databaseUrl: url, pool, clock: world.clock }
    const log = createLog('test', 'error')
    const outcomes = async (order: string) =>
      (
        await pool.query<{ source: string; outcome: string }>(
          `select d.source, d.outcome::text from deliveries d join orders o on o.id = d.order_id
           where o.out_trade_no = $1 order by d.kafka_offset`,
          [order],
        )
      ).rows.map(({ source, outcome }) => `${source} ${outcome}`)
    const readFindings = async () =>
      (await pool.query<{ document: unknown }>('select document from bill_findings')).rows.map(
        ({ document }) => document,
      )
    const imported = async (clients: Parameters<typeof startSettling>[1]['clients']) => {
      const options = { ...about, asked: format.asked, pool, clock: world.clock, log }
      const settling = await startSettling(it.env(), clients === undefined ? options : { ...options, clients })
      try {
        const end = await importBill(request, { ...deps, settle: settling.settle })
        if (end.kind !== 'done') throw new Error(end.kind)
        return new Map(
          end.report.findings.map(({ outTradeNo: order, finding, state }) => [order, `${finding} ${state}`]),
        )
      } finally {
        await settling.close()
      }
    }
    expect(await imported(new Map())).toEqual(
      new Map([
        [outTradeNo, 'missing_here unconfirmed'],
        ['forged', 'missing_here unconfirmed'],
      ]),
    )
    expect((await findOrder(pool, 'shop', outTradeNo))?.order.status).toBe('pending')

    const clients = new Map([['wechatpay', world.client('wechatpay', 'shop', await world.serve())]])
    expect(await imported(clients)).toEqual(
      new Map([
        [outTradeNo, 'missing_here published'],
        ['forged', 'missing_here denied'],
      ]),
    )
    const status = async () => (await findOrder(pool, 'shop', outTradeNo))?.order.status
    await until('the order is paid', async () => (await status()) === 'paid', 120_000)
    expect((await findOrder(pool, 'shop', 'forged'))?.order.status).toBe('pending')

    // What the provider does not know is for a person: once, however often it is imported.
    const anomalies = async () => listAnomalies(pool, { state: 'all' }, { limit: 10 })
    await until('a person is asked to look', async () => (await anomalies()).length === 1, 120_000)

    // It is known now: the same bill has nothing of it.
    expect(await imported(clients)).toEqual(new Map([['forged', 'missing_here denied']]))
    const settlings = await Promise.all(
      [1, 2].map(() =>
        startSettling(it.env(), { ...about, asked: format.asked, pool, clock: world.clock, log, clients }),
      ),
    )
    const [denied] = (await readFindings()) as BillFinding[]
    if (denied === undefined) throw new Error('the finding is not kept')
    await Promise.all(settlings.map(({ settle }) => settle([denied])))
    await Promise.all(settlings.map(({ close }) => close()))
    const ofForged = () => outcomes('forged')
    await until('all four have been decided', async () => (await ofForged()).length === 4, 120_000)
    expect(await ofForged()).toEqual(['bill anomaly', ...Array.from({ length: 3 }, () => 'bill duplicate')])
    const [anomaly, ...others] = await anomalies()
    if (anomaly === undefined) throw new Error('there is none')
    expect(others).toEqual([])
    const cause = 'bill_differs/wechatpay:4200009999/bill/missing_here'
    expect(anomaly).toMatchObject({ merchant: 'shop', outTradeNo: 'forged', kind: 'bill_differs', cause })
    expect(denied.anomaly).toBe(cause)
    // Its answer is a command like any other's, and the next import does not ask again.
    const answer = { resolution: 'ignore', reason: 'it was altered', actor: 'ann', idempotencyKey: 'k' } as const
    await fileCommand(pool, it.topics.appId, resolveCommand(anomaly, answer))
    const resolution = async () => (await anomalies()).map((one) => one.resolution)
    await until('it is answered', async () => (await resolution())[0] === 'ignore', 120_000)
    await imported(clients)
    await until('the next import has been decided', async () => (await ofForged()).length === 5, 120_000)
    expect(await resolution()).toEqual(['ignore'])

    await it.send([
      callbackOf(outTradeNo, {
        ...{ eventType: 'payment_succeeded', providerRef: `wechatpay:${transactionId}`, paymentRef: null, amountMinor },
        ...{ currency, amountKind: 'none', eventTimeMs: paidAt.getTime(), detail: null },
      }),
    ])
    await until('the callback came after all', async () => (await outcomes(outTradeNo)).length === 2, 120_000)
    expect(await outcomes(outTradeNo)).toEqual(['bill applied', 'callback duplicate'])
    const { rows: events } = await pool.query(`select kind from events where key = $1 order by kind`, [outTradeNo])
    expect(events).toEqual([{ kind: 'deduct' }, { kind: 'grant' }, { kind: 'ship' }])
  } finally {
    await processor.stop()
  }
}, 600_000)
