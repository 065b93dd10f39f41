import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TextDecoder } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BillEnd, BillLine, BillReader } from '../../src/providers/bill.ts'
import { e5OfYuan, wrongTotals, yuanOfE5 } from '../../src/providers/bill-sums.ts'
import { createAlipayBillReader } from '../../src/providers/alipay/bill-reader.ts'
import { createBillWriter as createAlipayWriter } from '../../src/providers/alipay/compose-bill.ts'
import { createLineSplitter } from '../../src/providers/text-lines.ts'
import { createWechatpayBillReader } from '../../src/providers/wechatpay/bill-reader.ts'
import { createBillWriter as createWechatpayWriter } from '../../src/providers/wechatpay/compose-bill.ts'
import { direct, paid, recipient, refundOf } from './wechatpay-subject.ts'

const SELLER = '2088000000000001'
const DAY = new Date('2026-11-11T00:00:00+08:00')
const at = (time: string) => new Date(`2026-11-11T${time}+08:00`)
const trade = (n: number) => ({
  ...{ tradeNo: `202611112200140000${n}`, outTradeNo: `A${n}`, totalFen: 100 + n },
  ...{ createdAt: at('10:00:00'), paidAt: at('10:00:07') },
})

function alipayBill(): Buffer {
  const writer = createAlipayWriter(SELLER, DAY)
  const refund = { ...trade(1), outRequestNo: 'R-1', refundFen: 40, refundedAt: at('12:00:00') }
  const rows = [writer.trade(trade(1), '-0.61'), writer.trade(trade(2)), writer.refund(refund)]
  return Buffer.concat([writer.head(), ...rows, writer.foot(at('23:59:59'))])
}
function wechatpayBill(): Buffer {
  const writer = createWechatpayWriter(direct)
  const rows = [writer.payment(paid(1), '0.00612'), writer.payment(paid(2)), writer.refund(refundOf(1))]
  return Buffer.from([writer.head(), ...rows, writer.foot()].join('').replace('synthetic goods', '“名, `a`”'))
}
const sample = readFileSync(join(import.meta.dirname, '../vectors/wechat-v2/bill.ALL.sanitised.csv'))
const ofSample = { mchid: '1921000401', subMchids: new Set<string>() }

const BILLS: readonly (readonly [name: string, bytes: Buffer, charset: string, create: () => BillReader])[] = [
  ['wechatpay', wechatpayBill(), 'utf-8', () => createWechatpayBillReader(recipient)],
  ["wechatpay-php's of 45 rows", sample, 'utf-8', () => createWechatpayBillReader(ofSample)],
  ['alipay', alipayBill(), 'gbk', () => createAlipayBillReader({ sellerIds: new Set([SELLER]) })],
]

function read(bytes: Buffer, charset: string, reader: BillReader, cuts: readonly number[] = []) {
  const decoder = new TextDecoder(charset)
  const lines: BillLine[] = []
  let from = 0
  for (const to of [...cuts, bytes.length]) {
    lines.push(...reader.push(decoder.decode(bytes.subarray(from, to), { stream: true })))
    from = to
  }
  lines.push(...reader.push(decoder.decode()))
  const last = reader.end()
  return { lines: [...lines, ...last.lines], end: last.end }
}

describe.each(BILLS)('%s', (_name, bytes, charset, create) => {
  const whole = read(bytes, charset, create())

  test('is read to its end, and adds up to what it says of itself', () => {
    expect(whole.end.kind).toBe('whole')
    if (whole.end.kind !== 'whole') return
    expect(wrongTotals(whole.end.totals, whole.end.unsure)).toEqual([])
    expect(whole.lines.map(({ kind }) => kind)).toEqual(Array.from({ length: whole.end.rows }, () => 'statement'))
  })

  test('any cutting of its bytes gives the same rows', () => {
    const cuts = fc.array(fc.nat(bytes.length), { maxLength: 40 }).map((some) => some.toSorted((a, b) => a - b))
    fc.assert(
      fc.property(cuts, (some) => {
        expect(read(bytes, charset, create(), some)).toEqual(whole)
      }),
    )
    const each = Array.from({ length: bytes.length }, (_, n) => n)
    expect(read(bytes, charset, create(), each)).toEqual(whole)
  })

  test('cut short anywhere before its totals, or with a row less, it is refused or does not add up', () => {
    const isRight = ({ end }: { end: BillEnd }) =>
      end.kind === 'whole' && wrongTotals(end.totals, end.unsure).length === 0
    const text = new TextDecoder(charset, { ignoreBOM: true }).decode(bytes)
    const lines = text.split('\r\n').length > 3 ? text.split('\r\n') : text.split('\n')
    const last = lines.findLastIndex((line) => /^`|合计/.test(line))
    const taken = (some: readonly string[]) => {
      const reader = create()
      const rows = reader.push(some.join('\r\n'))
      return { rows, ...reader.end() }
    }
    expect(isRight(taken(lines.slice(0, last + 1)))).toBe(true)
    for (let kept = 0; kept <= last; kept++) expect(isRight(taken(lines.slice(0, kept)))).toBe(false)
    for (const { line } of whole.lines) expect(isRight(taken(lines.toSpliced(line - 1, 1)))).toBe(false)
    // A row twice.
    for (const { line } of whole.lines)
      expect(isRight(taken(lines.toSpliced(line, 0, lines[line - 1] ?? '')))).toBe(false)
  })
})

test("what Alipay's rows say", () => {
  const { lines, end } = read(alipayBill(), 'gbk', createAlipayBillReader({ sellerIds: new Set([SELLER]) }))
  expect(end).toMatchObject({ account: SELLER, fromMs: DAY.getTime(), feesE5: 61_000n, rows: 3, unsure: 0 })
  expect(lines[0]).toMatchObject({
    line: 6,
    statement: { what: 'payment', outTradeNo: 'A1', ref: 'alipay:2026111122001400001', fact: { amountMinor: 101 } },
  })
  expect(lines[2]).toMatchObject({
    statement: {
      ...{ what: 'refund', ref: 'alipay:2026111122001400001/refund/R-1', paymentRef: 'alipay:2026111122001400001' },
      ...{ askRef: 'refund:R-1', fact: { amountMinor: 40, amountKind: 'individual' }, atMs: at('12:00:00').getTime() },
    },
  })
})

test("another account's bill, the summary, a bill of another merchant: refused", () => {
  const other = createAlipayBillReader({ sellerIds: new Set(['2088000000000009']) })
  expect(read(alipayBill(), 'gbk', other).end).toMatchObject({ kind: 'refused', reason: 'wrong_recipient' })
  const alipay = () => createAlipayBillReader({ sellerIds: new Set([SELLER]) })
  const summary = Buffer.from('#支付宝业务汇总查询\n#账号：[20880000000000010156]\n')
  expect(read(summary, 'utf-8', alipay()).end).toMatchObject({ kind: 'refused', reason: 'not_a_bill' })
  expect(read(wechatpayBill(), 'utf-8', alipay()).end).toMatchObject({ kind: 'refused', reason: 'not_a_bill' })
  const stranger = createWechatpayBillReader({ ...recipient, mchid: '1900000099' })
  expect(read(wechatpayBill(), 'utf-8', stranger).end).toMatchObject({ kind: 'refused', reason: 'wrong_recipient' })
})

test('a line that cannot be read is named with its number and reason, and the others are read', () => {
  const text = new TextDecoder('gbk').decode(alipayBill())
  const lines = text.split('\r\n')
  const odd = (at: number, change: (line: string) => string) => lines.with(at, change(lines[at] ?? '')).join('\r\n')
  const readText = (some: string) =>
    read(Buffer.from(some), 'utf-8', createAlipayBillReader({ sellerIds: new Set([SELLER]) }))
  const more = readText(odd(5, (line) => `${line},x`))
  expect(more.lines[0]).toMatchObject({ kind: 'unreadable', line: 6, reason: 'another number of cells than titles' })
  expect(more.lines.slice(1).map(({ kind }) => kind)).toEqual(['statement', 'statement'])
  if (more.end.kind !== 'whole') throw new Error('refused')
  expect(wrongTotals(more.end.totals, more.end.unsure)).toEqual([])
  expect(readText(odd(6, (line) => line.replace('A2', '\ufffd'))).lines[1]).toMatchObject({ reason: '商户订单号' })
  expect(readText(odd(6, (line) => line.replace(/10:00:07/, 'soon'))).lines[1]).toMatchObject({ reason: '完成时间' })
  expect(readText(odd(6, (line) => line.replace('合成商品', '"a, ""b"""'))).lines[1]).toMatchObject({
    kind: 'statement',
  })
  expect(readText(odd(6, (line) => line.replace('合成商品', '"a b'))).lines[1]).toMatchObject({ kind: 'statement' })
  expect(readText(odd(6, (line) => line.replace('合成商品', 'x'.repeat(20_000)))).lines[1]).toMatchObject({
    ...{ kind: 'unreadable', reason: 'too long' },
  })
})

test('an altered amount, order or count does not add up', () => {
  const text = wechatpayBill().toString()
  const altered = (from: string | RegExp, to: string) => {
    const { end } = read(Buffer.from(text.replace(from, to)), 'utf-8', createWechatpayBillReader(recipient))
    return end.kind === 'whole' ? wrongTotals(end.totals, end.unsure).map(({ title }) => title) : end.reason
  }
  expect(altered('`1.00', '`1.01')).toEqual(['应结订单总金额'])
  expect(altered('`3.0,', '`2.0,')).toEqual(['总交易单数'])
  expect(altered('`0.00612', '`0.50612')).toEqual(['手续费总金额'])
})

test('a line of any length takes a bounded place', () => {
  const splitter = createLineSplitter(10)
  expect(splitter.push('0123456789')).toEqual([])
  expect(splitter.push('\r\n0123456789a\n')).toEqual([
    { number: 1, text: '0123456789', isWhole: true },
    { number: 2, text: '0123456789', isWhole: false },
  ])
  for (let n = 0; n < 1_000; n++) expect(splitter.push('x'.repeat(1_000))).toEqual([])
  expect(splitter.end()).toEqual([{ number: 3, text: 'xxxxxxxxxx', isWhole: false }])
})

test('money of bills, to five decimals', () => {
  expect(['0.03', '45.0', '-0.12', '0.00612', '1', '9999999999.99999'].map(e5OfYuan)).toEqual([
    ...[3_000, 4_500_000, -12_000, 612, 100_000, 999_999_999_999_999],
  ])
  expect(['', '1,000', '1e3', '+1', '0.000001', ' 1'].map(e5OfYuan)).toEqual(Array(6).fill(undefined))
  expect([0n, 612n, -12_000n, 4_500_000n, 1n].map(yuanOfE5)).toEqual(['0.00', '0.00612', '-0.12', '45.00', '0.00001'])
})
