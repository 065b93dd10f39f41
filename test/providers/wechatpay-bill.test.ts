import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { factCause } from '../../src/orders/identity.ts'
import { fenOfYuan } from '../../src/providers/yuan.ts'
import { composeBill } from '../../src/providers/wechatpay/compose-bill.ts'
import { factsOfBillRow } from '../../src/providers/wechatpay/facts-of-bill.ts'
import type { BillRow } from '../../src/providers/wechatpay/read-bill.ts'
import { readBill } from './read-bill.ts'
import { direct, paid, partnerRecipient, recipient, refundOf, subMerchant } from './wechatpay-subject.ts'

const bytes = readFileSync(join(import.meta.dirname, '../vectors/wechat-v2/bill.ALL.sanitised.csv'))

describe('wechatpay-php: a bill of 45 rows', () => {
  const bill = readBill(bytes.toString())
  const to = { mchid: '1921000401', subMchids: new Set<string>() }
  const sum = (title: string) => bill?.rows.reduce((total, row) => total + (fenOfYuan(row[title] ?? '') ?? NaN), 0)

  test('is read whole, and adds up to what its last line says', () => {
    expect(bytes.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]))
    expect(bill?.unreadable).toEqual([])
    expect(bill?.rows).toHaveLength(Number(bill?.totals['总交易单数']))
    for (const [title, total] of [
      ['应结订单金额', '应结订单总金额'],
      ['退款金额', '退款总金额'],
      ['订单金额', '订单总金额'],
      ['申请退款金额', '申请退款总金额'],
    ] as const)
      expect(sum(title)).toBe(fenOfYuan(bill?.totals[total] ?? ''))
  })

  test('states one fact a row: 31 payments and 14 refunds, of the same sums', () => {
    const read = (bill?.rows ?? []).map((row) => factsOfBillRow(row, to))
    const orders = read.filter((found) => typeof found !== 'string')
    const facts = orders.flatMap((order) => order.facts)
    const of = (kind: string) => facts.filter(({ eventType }) => eventType === kind)
    const total = (kind: string) => of(kind).reduce((fen, { amountMinor }) => fen + amountMinor, 0)
    expect([of('payment_succeeded').length, of('refund_succeeded').length]).toEqual([31, 14])
    expect([total('payment_succeeded'), total('refund_succeeded')]).toEqual([47, 14])
    // Two transaction numbers are there twice, of different orders: upstream made them up.
    const identities = orders.flatMap((order) => order.facts.map((fact) => `${order.outTradeNo} ${factCause(fact)}`))
    expect(new Set(identities).size).toBe(45)
    expect(of('refund_succeeded')[0]).toEqual({
      eventType: 'refund_succeeded',
      providerRef: 'wechatpay:50000709672019011908420787722',
      paymentRef: 'wechatpay:4200000263201902167700134212',
      amountMinor: 1,
      currency: 'CNY',
      amountKind: 'individual',
      eventTimeMs: Date.parse('2019-02-19T05:01:46+08:00'),
      detail: 'out_refund_no REF4200000263201902167700963919',
    })
  })
})

describe('a bill', () => {
  const text = composeBill(direct, [paid(1)], [refundOf(1)])
  const [payment, refund] = readBill(text)?.rows ?? []

  test('holds names with commas and quotes, as only a comma and a back-tick end a cell', () => {
    const odd = text.replaceAll('synthetic goods', 'a, "b", c')
    expect(readBill(odd)?.rows.map((row) => row['商品名称'])).toEqual(['a, "b", c', 'a, "b", c'])
    expect(readBill(text.replace('synthetic goods', 'a,`b'))).toMatchObject({ rows: [{}], unreadable: [2] })
  })

  test('is none if it is cut, empty, or something else', () => {
    expect(readBill('\ufeff标题,一\r\n总数\r\n`0.0')).toMatchObject({ rows: [], totals: { 总数: '0.0' } })
    const lines = text.split('\r\n')
    for (let kept = 0; kept < lines.length - 2; kept++)
      expect(readBill(lines.slice(0, kept).join('\r\n'))).toBeUndefined()
    for (const other of [
      '',
      '<xml><return_code>FAIL</return_code></xml>',
      '{"code":"NO_STATEMENT_EXIST"}',
      `${text}\`1`,
    ])
      expect(readBill(other)).toBeUndefined()
  })

  test.for([
    ['商户号', { 商户号: '1900000002' }],
    ['特约商户号', { 特约商户号: '1900000009' }],
    ['商户订单号', { 商户订单号: '' }],
    ['交易时间', { 交易时间: 'yesterday' }],
    ['交易状态', { 交易状态: 'PAID' }],
    ['订单金额', { 订单金额: '0.005' }],
    ['订单金额', { 订单金额: '1,234.56' }],
    ['微信订单号', { 微信订单号: '' }],
    ['货币种类', { 货币种类: '' }],
  ] as const)('names the column of a payment that is wrong: %s', ([title, change]) =>
    expect(factsOfBillRow({ ...payment, ...change }, recipient)).toBe(title),
  )

  test.for([
    ['申请退款金额', { 申请退款金额: '-1.00' }],
    ['微信退款单号', { 微信退款单号: '' }],
    ['微信订单号', { 微信订单号: '' }],
    ['货币种类', { 货币种类: 'cny' }],
  ] as const)('names the column of a refund that is wrong: %s', ([title, change]) =>
    expect(factsOfBillRow({ ...refund, ...change }, recipient)).toBe(title),
  )

  test('says nothing of a refund that was not through when it was made, nor of what was revoked', () => {
    for (const 退款状态 of ['PROCESSING', 'FAIL', 'CHANGE', ''])
      expect(factsOfBillRow({ ...refund, 退款状态 }, recipient)).toEqual({ outTradeNo: 'T1', facts: [] })
    expect(factsOfBillRow({ ...payment, 交易状态: 'REVOKED' }, recipient)).toEqual({ outTradeNo: 'T1', facts: [] })
  })

  test("names the sub-merchant of a partner's", () => {
    const rowOf = (mchid: string): BillRow => readBill(composeBill(subMerchant(mchid), [paid(1)], []))?.rows[0] ?? {}
    expect(factsOfBillRow(rowOf('1900000009'), partnerRecipient)).toMatchObject({ facts: [{}] })
    expect(factsOfBillRow(rowOf('1900000007'), partnerRecipient)).toBe('特约商户号')
    expect(factsOfBillRow(payment ?? {}, partnerRecipient)).toBe('特约商户号')
  })

  test('takes the amount of the order and of the refund, and not what a coupon left of them', () => {
    const settled = { 应结订单金额: '0.50', 退款金额: '0.10' }
    expect(factsOfBillRow({ ...payment, ...settled }, recipient)).toMatchObject({ facts: [{ amountMinor: 100 }] })
    expect(factsOfBillRow({ ...refund, ...settled }, recipient)).toMatchObject({ facts: [{ amountMinor: 30 }] })
  })
})
