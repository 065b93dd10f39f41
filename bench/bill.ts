// Question: how long does matching a bill take, and how much memory?
// node bench/bill.ts [rows] [provider] [rounds]   (needs the local stack; makes its own database)
import { fork } from 'node:child_process'
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBillWriter as alipayWriter } from '../src/providers/alipay/compose-bill.ts'
import { createBillWriter as wechatpayWriter } from '../src/providers/wechatpay/compose-bill.ts'
import { billFormatOf } from '../src/providers/bill-formats.ts'
import type { BillProvider } from '../src/providers/bill.ts'
import { importBill } from '../src/reconcile/bill/start.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { createLog } from '../src/runtime/log.ts'
import { createPool } from '../src/runtime/postgres.ts'
import { createDatabase } from '../test/helpers/database.ts'
import { APPID, createMerchant, MCHID, SELLER_ID } from '../test/helpers/merchant.ts'

const DAY = '2026-11-11'
const START = new Date(`${DAY}T00:00:00+08:00`)
if (process.send !== undefined) await match()
else await prepare()

async function prepare() {
  const [rows = '1000000', provider = 'wechatpay', rounds = '2'] = process.argv.slice(2)
  const database = await createDatabase()
  const merchant = createMerchant('shop')
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-bill-'))
  const path = join(dir, 'bill.csv')
  try {
    await writeBill(path, Number(rows), provider as BillProvider)
    await fillBooks(database.pool, Number(rows), provider)
    console.log({ rows: Number(rows), provider, fileMb: Math.round(statSync(path).size / 1_048_576) })
    for (let round = 1; round <= Number(rounds); round++) {
      const env = {
        ...process.env,
        DATABASE_URL: database.url,
        MERCHANTS_DIR: merchant.dir,
        BILL: path,
        PROVIDER: provider,
      }
      const child = fork(import.meta.filename, { env })
      const [report] = (await once(child, 'message')) as [object]
      console.log({ round, ...report })
      await once(child, 'exit')
    }
  } finally {
    await database.drop()
    merchant.remove()
    rmSync(dir, { recursive: true })
  }
}

function timeOf(n: number, rows: number): Date {
  return new Date(START.getTime() + Math.floor((n / rows) * 86_400) * 1_000)
}

/** One row in a thousand is not in the books, one in a thousand of the books not in the bill. */
async function writeBill(path: string, rows: number, provider: BillProvider): Promise<void> {
  const file = createWriteStream(path)
  const alipay = alipayWriter(SELLER_ID, START)
  const wechatpay = wechatpayWriter({ mchid: MCHID, appid: APPID })
  const rowOf = (n: number) => {
    const [number, paidAt] = [`bench-${n}`, timeOf(n, rows)]
    return provider === 'alipay'
      ? alipay.trade({ tradeNo: `t${n}`, outTradeNo: number, totalFen: 100, createdAt: paidAt, paidAt }, '-0.01')
      : wechatpay.payment({ transactionId: `t${n}`, outTradeNo: number, totalFen: 100, paidAt }, '0.00600')
  }
  file.write(provider === 'alipay' ? alipay.head() : wechatpay.head())
  for (let n = 0; n < rows; n++) if (!file.write(rowOf(n))) await once(file, 'drain')
  file.end(provider === 'alipay' ? alipay.foot(new Date()) : wechatpay.foot())
  await once(file, 'close')
}

async function fillBooks(pool: Awaited<ReturnType<typeof createDatabase>>['pool'], rows: number, provider: string) {
  const extra = Math.floor(rows / 1_000)
  await pool.query(
    `insert into orders (merchant, out_trade_no, lane, status, amount_minor, currency)
     select 'shop', 'bench-' || n, 0, 'paid', 100, 'CNY' from generate_series(0, $1::int - 1) n where n % 1000 <> 7`,
    [rows + extra],
  )
  await pool.query(
    `insert into facts (order_id, event_type, provider_ref, amount_minor, currency, amount_kind, event_time, outcome, lane, kafka_offset)
     select o.id, 'payment_succeeded', $2 || ':t' || n, 100, 'CNY', 'none', $3::timestamptz + make_interval(secs => floor(case when n < $1 then n else $1 / 2 end::float8 / $1 * 86400)), 'applied', 0, 0
     from orders o cross join lateral (select substr(o.out_trade_no, 7)::int as n) x`,
    [rows, provider, START],
  )
  await pool.query('vacuum analyze orders, facts')
}

/** In a process of its own, so that its memory is the import's alone. */
async function match() {
  const { DATABASE_URL = '', MERCHANTS_DIR = '', BILL = '', PROVIDER = '' } = process.env
  const pool = createPool(DATABASE_URL, 'bench', createLog('bench', 'silent'), 2)
  const [startedMs, before] = [performance.now(), process.memoryUsage.rss()]
  const format = billFormatOf(MERCHANTS_DIR, 'shop', PROVIDER as BillProvider)
  const about = { provider: PROVIDER, merchant: 'shop', day: DAY, paths: [BILL], actor: 'bench', format }
  const end = await importBill(
    { ...about, dryRun: false, archiveAfterDays: 400 },
    { databaseUrl: DATABASE_URL, pool, clock: systemClock },
  )
  await pool.end()
  if (end.kind !== 'done') throw new Error(end.kind)
  const { result, counts, sums, notJudged, undecided, digest } = end.report
  const seconds = Math.round((performance.now() - startedMs) / 100) / 10
  const mb = { before: Math.round(before / 1_048_576), most: Math.round(process.resourceUsage().maxRSS / 1_024) }
  process.send?.({ result, digest: digest?.slice(0, 12), counts, sums, notJudged, undecided, seconds, mb })
}
