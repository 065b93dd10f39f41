import { gzipSync } from 'node:zlib'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBillWriter } from '../../../src/providers/wechatpay/compose-bill.ts'
import type { BillRequest } from '../../../src/reconcile/bill/start.ts'
import { maintainAt } from '../../helpers/maintained.ts'
import { createBillDesk, namedIn, type BillDesk } from '../../helpers/bill-desk.ts'
import { keepBooks, type BookedFact } from '../../helpers/books.ts'
import { createDatabase, type TestDatabase } from '../../helpers/database.ts'
import { APPID, MCHID, type TestMerchant } from '../../helpers/merchant.ts'
import { paidonce, paidonceJson } from '../../cli/paidonce.ts'

const DAY = '2026-11-11'
const at = (time: string, day = DAY) => new Date(`${day}T${time}+08:00`)
const dayBefore = (days: number) => `2026-11-${String(11 - days).padStart(2, '0')}`

let [desk, database, merchant, dir]: [BillDesk, TestDatabase, TestMerchant, string] = [
  ...([undefined, undefined, undefined, ''] as unknown as [BillDesk, TestDatabase, TestMerchant, string]),
]
beforeAll(async () => {
  desk = await createBillDesk()
  ;({ database, merchant, dir } = desk)
})
afterAll(() => desk.close())

interface Row {
  readonly order: string
  readonly at: Date
  readonly fen?: number
  /** A refund with this number. */
  readonly refund?: string
  readonly status?: 'SUCCESS' | 'PROCESSING'
  /** What somebody did to the line. */
  readonly change?: (line: string) => string
}

function billOf(rows: readonly Row[]): string {
  const writer = createBillWriter({ mchid: MCHID, appid: APPID })
  const lines = rows.map(({ order: outTradeNo, at: time, fen = 100, refund, status = 'SUCCESS', change }) => {
    const trade = { outTradeNo, transactionId: `tx-${outTradeNo}`, totalFen: fen }
    const line =
      refund === undefined
        ? writer.payment({ ...trade, paidAt: time }, '0.00600')
        : writer.refund({ ...trade, refundId: refund, outRefundNo: `out-${refund}`, refundFen: fen, status, at: time })
    return change?.(line) ?? line
  })
  return [writer.head(), ...lines, writer.foot()].join('')
}
const saved = (name: string, content: string | Buffer) => desk.save(name, content)
const run = (path: string, day = DAY, request: Partial<BillRequest> = {}, db = database) =>
  desk.match([path], { provider: 'wechatpay', day, request, deps: { databaseUrl: db.url, pool: db.pool } })

const NOON = at('12:00:00').getTime()
const paid = (order: string, more: Partial<BookedFact> = {}): BookedFact => ({
  ...{ order, ref: `wechatpay:tx-${order}`, atMs: NOON },
  ...more,
})
const refunded = (order: string, refund: string, more: Partial<BookedFact> = {}): BookedFact => ({
  ...{ order, ref: `wechatpay:${refund}`, paymentRef: `wechatpay:tx-${order}`, atMs: NOON },
  ...more,
})
const EARLY = NOON - 3 * 86_400_000

const SAME = Array.from({ length: 30 }, (_, n) => `same-${n}`)
const BOOKS: readonly BookedFact[] = [
  ...SAME.map((order) => paid(order)),
  ...SAME.slice(0, 3).map((order) => refunded(order, `re-${order}`, { minor: 40 })),
  paid('refund-missing', { atMs: EARLY }),
  paid('not-there'),
  paid('refund-not-there', { atMs: EARLY }),
  refunded('refund-not-there', 're-not-there', { minor: 30 }),
  paid('dearer'),
  paid('refund-dearer', { atMs: EARLY }),
  refunded('refund-dearer', 're-dearer', { minor: 30 }),
  paid('hongkong'),
  paid('undone'),
  paid('undone-and-back'),
  refunded('undone-and-back', 're-back'),
  paid('refund-failed', { atMs: EARLY }),
  refunded('refund-failed', 're-failed/closed', { kind: 'refund_failed' }),
  paid('held', { status: 'awaited', outcome: 'held' }),
  paid('unsettled', { atMs: EARLY }),
  paid('settled', { atMs: EARLY }),
  refunded('settled', 're-settled'),
  paid('twice'),
  paid('odd'),
  // Times at the day's edges.
  paid('edge-before', { atMs: at('23:59:59', dayBefore(1)).getTime() }),
  paid('edge-early', { atMs: at('00:00:05').getTime() }),
  paid('edge-lost', { atMs: at('00:00:06').getTime() }),
  paid('edge-late', { atMs: at('23:59:58').getTime() }),
  paid('edge-late-lost', { atMs: at('23:59:57').getTime() }),
  // A refund that was asked for three days before.
  refunded('refund-missing', 're-slow', { minor: 10 }),
  // Others' business.
  paid('same-0', { merchant: 'books' }),
  paid('by-alipay', { ref: 'alipay:1' }),
  paid('yesterday', { atMs: EARLY }),
]
const ROWS: readonly Row[] = [
  ...SAME.map((order) => ({ order, at: at('12:00:00') })),
  ...SAME.slice(0, 3).map((order) => ({ order, at: at('13:00:00'), fen: 40, refund: `re-${order}` })),
  { order: 'missing', at: at('09:00:00') },
  { order: 'refund-missing', at: at('10:00:00'), fen: 20, refund: 're-missing' },
  { order: 'dearer', at: at('12:00:00'), fen: 101 },
  { order: 'refund-dearer', at: at('12:00:00'), fen: 31, refund: 're-dearer' },
  { order: 'hongkong', at: at('12:00:00'), change: (line) => line.replace('CNY', 'HKD') },
  { order: 'undone', at: at('12:00:00'), change: (line) => line.replace('SUCCESS', 'REVOKED') },
  { order: 'undone-and-back', at: at('12:00:00'), change: (line) => line.replace('SUCCESS', 'REVOKED') },
  { order: 'undone-and-back', at: at('12:00:01'), refund: 're-back' },
  { order: 'refund-failed', at: at('12:00:00'), refund: 're-failed' },
  { order: 'held', at: at('12:00:00') },
  { order: 'unsettled', at: at('12:00:00'), refund: 're-unsettled', status: 'PROCESSING' },
  { order: 'settled', at: at('12:00:00'), refund: 're-settled', status: 'PROCESSING' },
  { order: 'twice', at: at('12:00:00') },
  { order: 'twice', at: at('12:00:00') },
  { order: 'odd', at: at('12:00:00'), change: (line) => line.replace('\r\n', ',`more\r\n') },
  { order: 'edge-before', at: at('00:00:01') },
]
const EXPECTED = [
  'amount_differs dearer wechatpay:tx-dearer',
  'amount_differs refund-dearer wechatpay:re-dearer',
  'currency_differs hongkong wechatpay:tx-hongkong',
  'missing_here missing wechatpay:tx-missing',
  'missing_here refund-missing wechatpay:re-missing',
  'not_there edge-lost wechatpay:tx-edge-lost',
  'not_there not-there wechatpay:tx-not-there',
  'not_there refund-not-there wechatpay:re-not-there',
  'refund_unsettled unsettled wechatpay:re-unsettled',
  'status_differs held wechatpay:tx-held',
  'status_differs refund-failed wechatpay:re-failed',
  'status_differs undone wechatpay:tx-undone',
  'twice_there twice wechatpay:tx-twice',
  'unreadable',
]

test('a bill with each kind of difference: exactly those are named', async () => {
  await keepBooks(database.pool, BOOKS)
  for (let days = 7; days >= 1; days--) {
    const rows: Row[] = [{ order: `old-${days}`, at: at('12:00:00', dayBefore(days)) }]
    if (days === 3) rows.push({ order: 'refund-missing', at: at('12:00:00', dayBefore(3)), fen: 10, refund: 're-slow' })
    if (days === 1) rows.push({ order: 'edge-early', at: at('23:59:55', dayBefore(1)) })
    await run(saved('before.csv', billOf(rows)), dayBefore(days))
  }
  const report = await run(saved('bill.csv', billOf(ROWS)))
  expect(namedIn(report)).toEqual(EXPECTED)
  expect(report).toMatchObject({ result: 'findings', notJudged: 0, undecided: [] })
  expect(report.sums).toMatchObject({ rows: 49, payments: 39, refunds: 9, others: 0, fees: '0.234' })
  const of = (order: string) => report.findings.find(({ outTradeNo }) => outTradeNo === order)
  expect(of('dearer')).toMatchObject({
    there: { amountMinor: 101 },
    here: { amountMinor: 100 },
    line: 37,
    state: 'open',
  })
  expect(report.findings.find(({ finding }) => finding === 'unreadable')).toMatchObject({
    ...{ line: 49, detail: expect.stringContaining('another number of cells') as unknown },
  })
})

test('the same bill again: the same digest, and nothing is there twice', async () => {
  const first = await run(saved('bill.csv', billOf(ROWS)))
  const second = await run(saved('bill.csv.gz', gzipSync(billOf(ROWS))))
  expect(second.digest).toBe(first.digest)
  expect(namedIn(second)).toEqual(EXPECTED)
  const { rows } = await database.pool.query<{ run_id: string; n: number }>(
    `select run_id, count(*)::int as n from bill_findings f join bill_runs r on r.id = f.run_id
     where r.day = $1 group by run_id`,
    [DAY],
  )
  expect(rows).toEqual([{ run_id: String(second.run), n: EXPECTED.length }])
})

test('what was paid in the last minutes is looked for in the bill of the next day', async () => {
  const next = [
    { order: 'edge-late', at: at('00:00:02', '2026-11-12') },
    { order: 'other', at: at('12:00:00', '2026-11-12') },
  ]
  const report = await run(saved('next.csv', billOf(next)), '2026-11-12')
  expect(namedIn(report)).toEqual([
    'missing_here other wechatpay:tx-other',
    'not_there edge-late-lost wechatpay:tx-edge-late-lost',
  ])
})

test('a refund whose earlier days are not here is not judged', async () => {
  const report = await run(saved('bill.csv', billOf(ROWS)), DAY, { merchant: 'books' })
  expect(report.counts).toMatchObject({ not_there: 0 })
  await keepBooks(database.pool, [{ ...refunded('b-1', 're-b-1'), merchant: 'books' }])
  const again = await run(saved('bill.csv', billOf(ROWS)), DAY, { merchant: 'books' })
  expect(again).toMatchObject({ notJudged: 1, counts: { not_there: 0 } })
})

test('a bill that is cut, altered, of another day or of somebody else decides nothing', async () => {
  const whole = billOf(ROWS.filter(({ order }) => order !== 'odd'))
  const kept = async (content: string | Buffer, day = DAY) => {
    const report = await run(saved('bad.csv', content), day)
    expect(report).toMatchObject({ result: 'undecided', findings: [], sums: null })
    return report.undecided[0]?.reason
  }
  expect(await kept(whole.slice(0, whole.length / 2))).toBe('incomplete')
  expect(await kept(whole.replace('`1.00', '`9.00'))).toBe('does_not_add_up')
  expect(await kept(whole.split('\r\n').toSpliced(3, 1).join('\r\n'))).toBe('does_not_add_up')
  // Where a line cannot be read, sums may lack what is in it, and nothing else.
  expect(await kept(billOf(ROWS).replace('`1.00', '`9.00'))).toBe('does_not_add_up')
  expect(await kept(whole, '2026-11-13')).toBe('other_day')
  expect(await kept(whole.replaceAll(MCHID, '1900000099'))).toBe('wrong_recipient')
  expect(await kept(gzipSync(whole).subarray(0, -20))).toBe('damaged')
  expect(await kept('{"code":"NO_STATEMENT_EXIST"}')).toBe('not_a_bill')
  // The earlier run's findings stand.
  const { rows } = await database.pool.query<{ n: number }>(
    `select count(*)::int as n from bill_findings f join bill_runs r on r.id = f.run_id where r.day = $1 and r.merchant = 'shop'`,
    [DAY],
  )
  expect(rows).toEqual([{ n: EXPECTED.length }])
})

test('an archived order is known, by its document or, when that is gone, by its fingerprints', async () => {
  const db = await createDatabase()
  try {
    const old = ['old-same', 'old-dearer', 'gone-same']
    await keepBooks(
      db.pool,
      old.map((order) => paid(order, { atMs: EARLY })),
    )
    await db.pool.query(
      `update orders set created_at = now() - interval '2 years', updated_at = now() - interval '2 years'`,
    )
    await maintainAt(db.pool, new Date().toISOString(), { archiveAfterDays: 400 })
    expect((await db.pool.query('select from tombstones')).rowCount).toBe(3)
    await db.pool.query(`delete from archived_orders where document -> 'order' ->> 'out_trade_no' = 'gone-same'`)
    const late = old.map((order) => ({
      ...{ order, at: at('12:00:00', '2026-11-20'), fen: order === 'old-dearer' ? 101 : 100 },
    }))
    const report = await run(saved('archived.csv', billOf(late)), '2026-11-20', {}, db)
    expect(namedIn(report)).toEqual(['amount_differs old-dearer wechatpay:tx-old-dearer'])
    // What was archived by then is looked at, too, for what the bill lacks.
    const lacking = saved('lacking.csv', billOf([{ order: 'old-dearer', at: at('12:00:00', '2026-11-08') }]))
    expect(namedIn(await run(lacking, '2026-11-08', { archiveAfterDays: 1 }, db))).toEqual([
      'not_there old-same wechatpay:tx-old-same',
    ])
  } finally {
    await db.drop()
  }
})

test('on the command line: JSON, CSV, table; exit codes; a dry run writes nothing', async () => {
  const env = { DATABASE_URL: database.url, MERCHANTS_DIR: merchant.dir }
  const path = saved('bill.csv', billOf(ROWS))
  const args = ['bill', 'import', path, '--provider', 'wechatpay', '--merchant', 'shop', '--date', DAY]
  const count = async () => (await database.pool.query('select from bill_runs')).rowCount
  const before = await count()
  const dry = await paidonceJson([...args, '--dry-run'], env)
  expect(dry).toMatchObject({ code: 1, json: { run: null, result: 'findings', counts: { missing_here: 2 } } })
  expect(await count()).toBe(before)
  const { code, stdout } = await paidonce([...args, '--output', 'csv'], env)
  expect(code).toBe(1)
  expect(stdout.split('\r\n')).toHaveLength(EXPECTED.length + 1)
  expect(stdout).toContain('amount_differs,open,payment,dearer,wechatpay:tx-dearer,,101,CNY,SUCCESS,')
  const report = await paidonceJson(['bill', 'report', ...args.slice(3)], env)
  expect(report).toMatchObject({ code: 1, json: { result: 'findings', counts: { unreadable: 1 } } })
  expect((report.json as { findings: unknown[] }).findings).toHaveLength(EXPECTED.length)
  const list = await paidonce(['bill', 'report', '--merchant', 'shop', '--output', 'csv'], env)
  expect(list.stdout.split('\r\n')[0]).toBe('run,started,by,provider,merchant,date,result,findings,digest')
  const cut = await paidonceJson([...args.with(2, saved('cut.csv', billOf(ROWS).slice(0, 900)))], env)
  expect(cut).toMatchObject({ code: 3, json: { undecided: [{ reason: 'incomplete' }] } })
  const usage = await paidonce([...args.with(2, join(dir, 'none.csv'))], env)
  expect(usage.code).toBe(2)
  expect((await paidonce(['audit', 'list', '--output', 'csv'], env)).code).toBe(2)
}, 240_000)
