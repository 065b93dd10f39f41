import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBillWriter } from '../../../src/providers/wechatpay/compose-bill.ts'
import { BILL_CRASH_POINTS } from '../../../src/reconcile/bill/crash-points.ts'
import type { BillDeps, BillReport } from '../../../src/reconcile/bill/start.ts'
import { zipOf } from '../../../src/simulator/compose-zip.ts'
import { createBillDesk, type BillDesk } from '../../helpers/bill-desk.ts'
import { keepBooks, type BookedFact } from '../../helpers/books.ts'
import type { TestDatabase } from '../../helpers/database.ts'
import { APPID, MCHID, type TestMerchant } from '../../helpers/merchant.ts'
import { until } from '../../helpers/until.ts'

const DAY = '2026-11-11'
const NOON = new Date(`${DAY}T12:00:00+08:00`)
let [desk, database, merchant, dir]: [BillDesk, TestDatabase, TestMerchant, string] = [
  ...([undefined, undefined, undefined, ''] as unknown as [BillDesk, TestDatabase, TestMerchant, string]),
]
beforeAll(async () => {
  desk = await createBillDesk()
  ;({ database, merchant, dir } = desk)
})
afterAll(() => desk.close())

type Change = (line: string) => string
const same: Change = (line) => line
function billOf(rows: Readonly<Record<string, Change>>, more: readonly string[] = []): string {
  const writer = createBillWriter({ mchid: MCHID, appid: APPID })
  const lines = Object.entries(rows).map(([outTradeNo, change]) =>
    change(writer.payment({ outTradeNo, transactionId: `tx-${outTradeNo}`, totalFen: 100, paidAt: NOON }, '0.00600')),
  )
  return [writer.head(), ...lines, ...more, writer.foot()].join('')
}
function refundsOnly(at: Date): string {
  const writer = createBillWriter({ mchid: MCHID, appid: APPID })
  const of = { outTradeNo: 'r-1', transactionId: 'tx-r-1', refundId: 're-1', outRefundNo: 'out-1' }
  const row = writer.refund({ ...of, totalFen: 100, refundFen: 30, status: 'SUCCESS', at })
  return [writer.head(), row, writer.foot()].join('')
}
const run = (content: string | Buffer, day = DAY, deps: Partial<BillDeps> = {}) =>
  desk.match([desk.save('bill', content)], { provider: 'wechatpay', day, deps })
const named = ({ findings }: BillReport) =>
  findings.map(({ finding, ref, line, detail }) => `${finding} ${ref ?? `${line ?? 0} ${detail.split(':')[0] ?? ''}`}`)
const reasonOf = ({ undecided }: BillReport) => undecided[0]?.reason
const paid = (order: string): BookedFact => ({ order, ref: `wechatpay:tx-${order}`, atMs: NOON.getTime() })

test('a line feed in a name of goods costs its row, and not the bill', async () => {
  const broken: Change = (line) => line.replace('synthetic goods', 'two\r\nlines, `of` goods')
  const last: Change = (line) => line.replace('`\r\n', '`a remark\nof two lines\r\n')
  await keepBooks(database.pool, ['f-1', 'f-2', 'f-3'].map(paid))
  const report = await run(billOf({ 'f-1': same, 'f-2': broken, 'f-3': last, 'f-4': same }))
  expect(named(report)).toEqual([
    ...['unreadable 3 another number of cells than titles', 'unreadable 6 another number of cells than titles'],
    'missing_here wechatpay:tx-f-4',
  ])
})

test('amounts that are none of yuan are named, and the others are matched', async () => {
  const amount =
    (text: string): Change =>
    (line) =>
      line.replaceAll('`1.00', `\`${text}`)
  await keepBooks(database.pool, ['a-one', 'a-two'].map(paid))
  const odd = ['1.000', '1,00.00', '1e0', '01.00', '１.00', '']
  const rows = Object.fromEntries(odd.map((text, n) => [`odd-${n}`, amount(text)]))
  const report = await run(billOf({ 'a-one': amount('1.0'), 'a-two': amount('1'), ...rows }), '2026-11-11')
  const found = named(report).filter((one) => !one.startsWith('not_there'))
  expect(found).toEqual(odd.map((_, n) => `unreadable ${n + 4} 订单金额`))
})

test('bytes that are no UTF-8 in a number are named; elsewhere they do no harm', async () => {
  const text = billOf({ 'u-1': same, 'u-2': same, 'u-3': same })
  const bytes = Buffer.from(text, 'utf8')
  const spoil = (name: string) => bytes.writeUInt8(0xff, bytes.indexOf(name) + name.length - 1)
  spoil('tx-u-1')
  spoil('synthetic')
  const report = await run(bytes)
  expect(
    named(report)
      .filter((one) => !one.startsWith('not_there'))
      .sort(),
  ).toEqual(['unreadable 2 微信订单号', 'missing_here wechatpay:tx-u-2', 'missing_here wechatpay:tx-u-3'].sort())
})

test('a day without a row, and one with refunds alone', async () => {
  const none = await run(billOf({}), '2026-10-01')
  expect(none).toMatchObject({ result: 'ok', sums: { rows: 0, payments: 0, fees: '0.00' } })
  expect(await run(refundsOnly(new Date('2026-10-02T12:00:00+08:00')), '2026-10-02')).toMatchObject({
    ...{ result: 'findings', counts: { missing_here: 1 }, sums: { refunds: 1 } },
  })
  // It has no payment to tell its day by.
  expect(reasonOf(await run(refundsOnly(new Date('2026-10-02T12:00:00+08:00')), '2026-10-03'))).toBe('other_day')
})

test('fees that came back with a refund are taken off', async () => {
  const of = { outTradeNo: 'fee', transactionId: 'tx-fee', totalFen: 100 }
  const writer = createBillWriter({ mchid: MCHID, appid: APPID })
  const row = writer.payment({ ...of, paidAt: NOON }, '0.60000')
  const back = writer
    .refund({ ...of, refundId: 're-fee', outRefundNo: 'o-fee', refundFen: 50, status: 'SUCCESS', at: NOON })
    .replace('`0.00000', '`-0.30000')
  const foot = writer.foot().replace('`0.60,', '`0.30,')
  expect((await run([writer.head(), row, back, foot].join(''))).sums?.fees).toBe('0.30')
})

test('what unpacks to very much, or to something else, is refused at once', async () => {
  // Whoever reads on to its end finds that it is cut.
  const endless = gzipSync(Buffer.alloc(20_000_000)).subarray(0, -20)
  expect(endless.length).toBeLessThan(30_000)
  expect(reasonOf(await run(endless))).toBe('not_a_bill')
  expect(reasonOf(await run('<html>\n'.repeat(100_000)))).toBe('not_a_bill')
  const entry = (name: string, content: string | Buffer) => ({ name: Buffer.from(name), content: Buffer.from(content) })
  const bill = billOf({ 'z-1': same })
  expect(reasonOf(await run(zipOf([entry('a.zip', zipOf([entry('b.csv', bill)]))])))).toBe('not_a_bill')
  // Nothing is written under a name that somebody else chose.
  for (const name of ['../../../etc/bill.csv', '/etc/bill.csv', 'C:\\bill.csv', '\0'])
    expect((await run(zipOf([entry('folder/', ''), entry(name, bill)]))).sums).toMatchObject({ rows: 1 })
  const locked = zipOf([entry('a.csv', bill)])
  for (const at of [locked.indexOf('PK\x03\x04') + 6, locked.indexOf('PK\x01\x02') + 8]) locked.writeUInt8(1, at)
  expect(reasonOf(await run(locked))).toBe('damaged')
  // It says that it unpacks to ten bytes.
  const modest = zipOf([entry('a.csv', bill)])
  modest.writeUInt32LE(10, modest.indexOf('PK\x01\x02') + 24)
  expect(reasonOf(await run(modest))).toBe('damaged')
}, 240_000)

const CRASHED = '2026-09-01'
const crashBill = () => {
  const at = new Date(`${CRASHED}T12:00:00+08:00`)
  const writer = createBillWriter({ mchid: MCHID, appid: APPID })
  const row = (n: number) =>
    writer.payment({ outTradeNo: `c-${n}`, transactionId: `tx-c-${n}`, totalFen: 100, paidAt: at })
  const rows = Array.from({ length: 2_000 }, (_, n) => row(n))
  return [writer.head(), ...rows, writer.foot()].join('')
}
const standing = async () => {
  const { rows } = await database.pool.query<{ n: number; runs: number }>(
    `select count(f.id)::int as n, count(distinct r.id)::int as runs from bill_runs r join bill_findings f on f.run_id = r.id
     where r.day = $1 and r.superseded_by is null and r.result is not null`,
    [CRASHED],
  )
  return rows[0]
}

test('an import that ends at any point, and one after it: the same digest, each finding once', async () => {
  const whole = await run(crashBill(), CRASHED)
  for (const point of BILL_CRASH_POINTS.filter((one) => one !== 'bill_answered' && one !== 'bill_published')) {
    const reach = (at: string) => {
      if (at === point) throw new Error(`crash at ${point}`)
    }
    await expect(run(crashBill(), CRASHED, { reach })).rejects.toThrow(`crash at ${point}`)
    expect(await standing(), point).toEqual({ n: 2_000, runs: 1 })
    expect((await run(crashBill(), CRASHED)).digest, point).toBe(whole.digest)
    expect(await standing(), point).toEqual({ n: 2_000, runs: 1 })
  }
}, 240_000)

test('two imports at once: one of them waits for nobody, and each finding is there once', async () => {
  const ends = await Promise.allSettled([
    run(crashBill(), CRASHED),
    run(crashBill(), CRASHED),
    run(crashBill(), CRASHED),
  ])
  expect(ends.some(({ status }) => status === 'fulfilled')).toBe(true)
  for (const end of ends) if (end.status === 'rejected') expect(String(end.reason)).toBe('Error: busy')
  expect(await standing()).toEqual({ n: 2_000, runs: 1 })
}, 120_000)

test('Postgres lost while rows are read, matched or asked about: it fails, and the next one is whole', async () => {
  const lose = () =>
    database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'paidonce-bill'`,
    )
  for (const stage of ['read', 'matched'] as const) {
    let losing: Promise<unknown> | undefined
    const onProgress = (at: string) => {
      if (at === stage) losing ??= lose()
    }
    await expect(run(crashBill(), CRASHED, { onProgress })).rejects.toThrow(/terminat|connection|ECONNRESET/i)
    await losing
  }
  const settle: BillDeps['settle'] = async (findings) => {
    await lose()
    return [...findings]
  }
  await expect(run(crashBill(), CRASHED, { settle })).rejects.toThrow(/terminat|connection|ECONNRESET/i)
  expect((await run(crashBill(), CRASHED)).counts.missing_here).toBe(2_000)
  expect(await standing()).toEqual({ n: 2_000, runs: 1 })
}, 120_000)

test('kill -9 of the command line midway, and again', async () => {
  const path = join(dir, 'kill.csv')
  writeFileSync(path, crashBill())
  const main = join(import.meta.dirname, '../../../src/cli/main.ts')
  const of = ['--provider', 'wechatpay', '--merchant', 'shop', '--date', CRASHED]
  const env = { PATH: process.env['PATH'] ?? '', DATABASE_URL: database.url, MERCHANTS_DIR: merchant.dir }
  const runs = async () => (await database.pool.query('select from bill_runs where finished_at is null')).rowCount ?? 0
  const before = await runs()
  // It is stopped where it has begun: by a lock on what it writes next.
  const holder = await database.pool.connect()
  await holder.query('begin')
  await holder.query('lock table bill_findings in access exclusive mode')
  const child = spawn(process.execPath, [main, 'bill', 'import', path, ...of], { env, stdio: 'ignore' })
  await until('it has begun', async () => (await runs()) > before, 120_000)
  child.kill('SIGKILL')
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
  await holder.query('rollback')
  holder.release()
  await until('Postgres has noticed', async () => {
    const { rowCount } = await database.pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'paidonce-bill'`,
    )
    return rowCount === 0
  })
  expect(await standing()).toEqual({ n: 2_000, runs: 1 })
  expect((await run(crashBill(), CRASHED)).counts.missing_here).toBe(2_000)
  expect(await standing()).toEqual({ n: 2_000, runs: 1 })
}, 240_000)
