import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBillWriter } from '../../../src/providers/alipay/compose-bill.ts'
import { encodeText } from '../../../src/providers/alipay/encode-text.ts'
import { createBillDesk, namedIn, type BillDesk } from '../../helpers/bill-desk.ts'
import { keepBooks, type BookedFact } from '../../helpers/books.ts'
import type { TestDatabase } from '../../helpers/database.ts'
import { APP_ID, SELLER_ID, type TestMerchant } from '../../helpers/merchant.ts'
import { zipOf } from '../../../src/simulator/compose-zip.ts'
import { paidonce } from '../../cli/paidonce.ts'

const DAY = '2026-11-11'
const OTHER_SELLER = '2088000000000002'
const at = (time: string, day = DAY) => new Date(`${day}T${time}+08:00`)
let [desk, database, merchant]: [BillDesk, TestDatabase, TestMerchant] = [
  ...([undefined, undefined, undefined] as unknown as [BillDesk, TestDatabase, TestMerchant]),
]
beforeAll(async () => {
  desk = await createBillDesk()
  ;({ database, merchant } = desk)
  const alipay = { appIds: [APP_ID], sellerIds: [SELLER_ID, OTHER_SELLER], publicKeyFiles: ['alipay.pem'] }
  writeFileSync(join(merchant.dir, 'two.json'), JSON.stringify({ alipay }))
})
afterAll(() => desk.close())

interface Row {
  readonly order: string
  readonly at: Date
  readonly fen?: number
  /** A refund with this request number. */
  readonly refund?: string
  /** What somebody did to the line. */
  readonly change?: (line: string) => string
}
const gbk = new TextDecoder('gbk')
function billOf(rows: readonly Row[], day = DAY, seller = SELLER_ID): Buffer {
  const writer = createBillWriter(seller, at('00:00:00', day))
  const lines = rows.map(({ order: outTradeNo, at: time, fen = 100, refund, change }) => {
    const trade = { tradeNo: `t-${outTradeNo}`, outTradeNo, createdAt: time }
    const line =
      refund === undefined
        ? writer.trade({ ...trade, totalFen: fen, paidAt: time }, '-0.01')
        : writer.refund({ ...trade, outRequestNo: refund, refundFen: fen, refundedAt: time })
    return change === undefined ? line : encodeText(change(gbk.decode(line)), 'gbk')
  })
  return Buffer.concat([writer.head(), ...lines, writer.foot(at('10:00:00', day))])
}
/** As Alipay packs it: beside a summary, both under names in GBK. */
const zipped = (bill: Buffer, seller = SELLER_ID) =>
  zipOf([
    { name: encodeText(`${seller}_业务明细(汇总).csv`, 'gbk'), content: encodeText('#支付宝业务汇总查询\r\n', 'gbk') },
    { name: encodeText(`${seller}_业务明细.csv`, 'gbk'), content: bill },
  ])
const saved = (name: string, content: Buffer) => desk.save(name, content)
function run(contents: readonly Buffer[], day = DAY, of = 'shop') {
  const paths = contents.map((content, n) => saved(`${n}.zip`, content))
  return desk.match(paths, { provider: 'alipay', day, fileOf: of })
}

const NOON = at('12:00:00').getTime()
const EARLY = NOON - 3 * 86_400_000
const paid = (order: string, more: Partial<BookedFact> = {}): BookedFact => ({
  ...{ order, ref: `alipay:t-${order}`, atMs: NOON },
  ...more,
})
const refunded = (order: string, request: string, more: Partial<BookedFact> = {}): BookedFact => ({
  ...{ order, ref: `alipay:t-${order}/refund/${request}`, paymentRef: `alipay:t-${order}`, atMs: NOON, minor: 30 },
  ...more,
})
/** What was refunded so far, as Alipay's notices say it. */
const soFar = (order: string, minor: number, atMs = NOON): BookedFact => ({
  ...{ order, ref: `alipay:t-${order}/refunded/${minor}`, paymentRef: `alipay:t-${order}`, atMs, minor },
  cumulative: true,
})

const SAME = Array.from({ length: 20 }, (_, n) => `same-${n}`)
const BOOKS: readonly BookedFact[] = [
  ...SAME.map((order) => paid(order)),
  refunded('same-0', 'R1'),
  // Two refunds of which only the last figure came, and a figure of today of which a part went back yesterday.
  soFar('same-1', 70, at('13:00:05').getTime()),
  paid('over-days', { atMs: EARLY }),
  soFar('over-days', 30, at('12:00:00', '2026-11-10').getTime()),
  soFar('over-days', 70),
  paid('refund-missing', { atMs: EARLY }),
  paid('refund-part', { atMs: EARLY }),
  soFar('refund-part', 20, at('13:00:05').getTime()),
  paid('not-there'),
  paid('refund-not-there', { atMs: EARLY }),
  refunded('refund-not-there', 'R1'),
  paid('figure-not-there', { atMs: EARLY }),
  soFar('figure-not-there', 50),
  paid('dearer'),
  paid('refund-dearer', { atMs: EARLY }),
  refunded('refund-dearer', 'R1'),
  paid('hongkong', { currency: 'HKD' }),
  paid('held', { status: 'awaited', outcome: 'held' }),
  paid('refund-held', { atMs: EARLY }),
  refunded('refund-held', 'R1', { outcome: 'held' }),
  paid('twice'),
  paid('odd'),
  paid('edge-before', { atMs: at('23:59:59', '2026-11-10').getTime() }),
  paid('edge-early', { atMs: at('00:00:05').getTime() }),
  paid('edge-lost', { atMs: at('00:00:06').getTime() }),
  paid('edge-late', { atMs: at('23:59:58').getTime() }),
  paid('same-0', { merchant: 'books' }),
  paid('by-wechatpay', { ref: 'wechatpay:1' }),
  paid('yesterday', { atMs: EARLY }),
]
const ROWS: readonly Row[] = [
  ...SAME.map((order) => ({ order, at: at('12:00:00') })),
  { order: 'same-0', at: at('13:00:00'), fen: 30, refund: 'R1' },
  { order: 'same-1', at: at('12:30:00'), fen: 30, refund: 'R1' },
  { order: 'same-1', at: at('13:00:00'), fen: 40, refund: 'R2' },
  { order: 'over-days', at: at('12:00:00'), fen: 40, refund: 'R2' },
  { order: 'missing', at: at('09:00:00') },
  { order: 'refund-missing', at: at('10:00:00'), fen: 20, refund: 'R1' },
  { order: 'refund-part', at: at('13:00:00'), fen: 20, refund: 'R1' },
  { order: 'refund-part', at: at('14:00:00'), fen: 20, refund: 'R2' },
  { order: 'dearer', at: at('12:00:00'), fen: 101 },
  { order: 'refund-dearer', at: at('12:00:00'), fen: 31, refund: 'R1' },
  { order: 'hongkong', at: at('12:00:00') },
  { order: 'held', at: at('12:00:00') },
  { order: 'refund-held', at: at('12:00:00'), fen: 30, refund: 'R1' },
  { order: 'twice', at: at('12:00:00') },
  { order: 'twice', at: at('12:00:00') },
  { order: 'odd', at: at('12:00:00'), change: (line) => line.replace('\r\n', ',more\r\n') },
  // A name of goods in quotes, as spreadsheets write one with commas.
  { order: 'quoted', at: at('12:00:00'), change: (line) => line.replace('合成商品', '"合成, ""商品"""') },
  // Another kind of business is none of ours, and in no total.
  { order: 'other', at: at('12:00:00'), fen: 0, change: (line) => line.replace('交易', '提现') },
  { order: 'edge-before', at: at('00:00:01') },
]
const EXPECTED = [
  'amount_differs dearer alipay:t-dearer',
  'amount_differs refund-dearer alipay:t-refund-dearer/refund/R1',
  'currency_differs hongkong alipay:t-hongkong',
  'missing_here missing alipay:t-missing',
  'missing_here quoted alipay:t-quoted',
  'missing_here refund-missing alipay:t-refund-missing/refund/R1',
  'missing_here refund-part alipay:t-refund-part/refund/R2',
  'not_there edge-lost alipay:t-edge-lost',
  'not_there figure-not-there alipay:t-figure-not-there/refunded/50',
  'not_there not-there alipay:t-not-there',
  'not_there refund-not-there alipay:t-refund-not-there/refund/R1',
  'status_differs held alipay:t-held',
  'status_differs refund-held alipay:t-refund-held/refund/R1',
  'twice_there twice alipay:t-twice',
  'unreadable',
]
/** The count of the trades would have the row of another kind. */
const today = () => {
  const text = gbk.decode(billOf(ROWS))
  const trades = ROWS.filter(({ refund }) => refund === undefined).length
  return encodeText(text.replace(`#交易合计：${trades}笔`, `#交易合计：${trades - 1}笔`), 'gbk')
}

test("a bill of Alipay's with each kind of difference: exactly those are named", async () => {
  await keepBooks(database.pool, BOOKS)
  const before: Row[] = [
    { order: 'before', at: at('12:00:00', '2026-11-10') },
    { order: 'edge-early', at: at('23:59:55', '2026-11-10') },
  ]
  await run([zipped(billOf(before, '2026-11-10'))], '2026-11-10')
  const report = await run([zipped(today())])
  expect(namedIn(report)).toEqual(EXPECTED)
  expect(report).toMatchObject({ result: 'findings', notJudged: 0, undecided: [] })
  expect(report.sums).toMatchObject({ rows: 39, payments: 28, refunds: 9, others: 1, fees: '0.29' })
  expect(report.findings.find(({ ref }) => ref === 'alipay:t-refund-dearer/refund/R1')).toMatchObject({
    ...{ there: { amountMinor: 31 }, here: { amountMinor: 30 }, askRef: 'refund:R1' },
  })
})

test('the same bill again, and then a corrected one: each stands in the place of the one before', async () => {
  const again = await run([today()])
  expect(namedIn(again)).toEqual(EXPECTED)
  const corrected = ROWS.filter(({ order }) => order !== 'missing' && order !== 'other')
  const report = await run([zipped(billOf(corrected))])
  expect(namedIn(report)).toEqual(EXPECTED.filter((one) => !one.includes(' missing ')))
  const { rows } = await database.pool.query(
    `select distinct run_id::int as id from bill_findings f join bill_runs r on r.id = f.run_id where r.day = $1`,
    [DAY],
  )
  expect(rows).toEqual([{ id: report.run }])
})

test('the bill of one of two accounts decides nothing about the day, and takes nothing from the whole one', async () => {
  const two = (order: string, time: string, day = DAY) => ({
    ...paid(order, { merchant: 'two', atMs: at(time, day).getTime() }),
  })
  await keepBooks(database.pool, [two('one-1', '12:00:00'), two('two-1', '12:00:00'), two('two-late', '23:59:58')])
  const first = zipped(billOf([{ order: 'one-1', at: at('12:00:00'), fen: 101 }]))
  const second = zipped(
    billOf(
      [
        { order: 'two-1', at: at('12:00:00') },
        { order: 'two-late', at: at('23:59:59') },
      ],
      DAY,
      OTHER_SELLER,
    ),
    OTHER_SELLER,
  )
  const part = await run([first], DAY, 'two')
  expect(namedIn(part)).toEqual(['amount_differs one-1 alipay:t-one-1'])
  expect(part).toMatchObject({ result: 'undecided', undecided: [{ reason: 'accounts_missing' }] })
  // Its day is not here, so that nobody can say of what was paid at its end that no bill has it.
  const next = [
    zipped(billOf([{ order: 'n', at: at('12:00:00', '2026-11-12') }], '2026-11-12')),
    zipped(billOf([], '2026-11-12', OTHER_SELLER), OTHER_SELLER),
  ]
  const early = await run(next, '2026-11-12', 'two')
  expect(namedIn(early)).toEqual(['missing_here n alipay:t-n'])
  expect(early.notJudged).toBe(1)

  const whole = await run([first, second], DAY, 'two')
  expect(namedIn(whole)).toEqual(['amount_differs one-1 alipay:t-one-1'])
  expect(whole.result).toBe('findings')
  const findings = () => database.pool.query('select state from bill_findings where run_id = $1', [whole.run])
  expect((await findings()).rowCount).toBe(1)
  const partAgain = await run([first], DAY, 'two')
  expect(partAgain.result).toBe('undecided')
  expect((await findings()).rowCount).toBe(1)
  expect(namedIn(await run(next, '2026-11-12', 'two'))).toEqual(['missing_here n alipay:t-n'])
})

test('on the command line a part of the day is exit 3, and the report is of the whole one', async () => {
  const env = { DATABASE_URL: database.url, MERCHANTS_DIR: merchant.dir }
  const path = saved('part.zip', zipped(billOf([{ order: 'one-1', at: at('12:00:00'), fen: 101 }])))
  const of = ['--provider', 'alipay', '--merchant', 'two', '--date', DAY, '--output', 'json']
  const part = await paidonce(['bill', 'import', path, ...of], env)
  expect(part.code).toBe(3)
  expect(JSON.parse(part.stdout)).toMatchObject({ result: 'undecided', counts: { amount_differs: 1 } })
  const report = await paidonce(['bill', 'report', ...of], env)
  expect(report.code).toBe(1)
  expect(JSON.parse(report.stdout)).toMatchObject({ result: 'findings', findings: [{ out_trade_no: 'one-1' }] })
}, 240_000)
