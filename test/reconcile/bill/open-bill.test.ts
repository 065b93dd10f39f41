import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeText } from '../../../src/providers/alipay/encode-text.ts'
import { createBillWriter } from '../../../src/providers/alipay/compose-bill.ts'
import { billFormatOf, type BillFormat } from '../../../src/providers/bill-formats.ts'
import { DamagedBill, textsIn } from '../../../src/reconcile/bill/open-bill.ts'
import { BadConfiguration } from '../../../src/runtime/config.ts'
import { createMerchant, SELLER_ID, type TestMerchant } from '../../helpers/merchant.ts'
import { zipOf } from '../../../src/simulator/compose-zip.ts'

const DAY = new Date('2026-11-11T00:00:00+08:00')
const at = new Date('2026-11-11T10:00:00+08:00')
const bill = () => {
  const writer = createBillWriter(SELLER_ID, DAY)
  const trade = { tradeNo: '2026111122001', outTradeNo: 'A1', totalFen: 100, createdAt: at, paidAt: at }
  return Buffer.concat([writer.head(), writer.trade(trade), writer.foot(at)])
}
let [merchant, alipay, dir]: [TestMerchant, BillFormat, string] = [
  ...([undefined, undefined, ''] as unknown as [TestMerchant, BillFormat, string]),
]
beforeAll(() => {
  merchant = createMerchant('shop')
  alipay = billFormatOf(merchant.dir, 'shop', 'alipay')
  dir = mkdtempSync(join(tmpdir(), 'paidonce-open-'))
})
afterAll(() => {
  merchant.remove()
  rmSync(dir, { recursive: true })
})
async function textsOf(content: Buffer, format = alipay): Promise<string[]> {
  const path = join(dir, 'bill')
  writeFileSync(path, content)
  const texts: string[] = []
  for await (const pieces of textsIn(path, format)) {
    let text = ''
    for await (const piece of pieces) text += piece
    texts.push(text)
  }
  return texts
}
const text = () => new TextDecoder('gbk').decode(bill())
const entry = (name: string, content: Buffer) => ({ name: encodeText(name, 'gbk'), content })
const summary = encodeText('#支付宝业务汇总查询\r\n#账号：[20880000000000010156]\r\n', 'gbk')

test('plain, in UTF-8, gzipped, and zipped beside its summary under names in GBK: the same text', async () => {
  expect(text()).toContain('#-----------------------------------------业务明细列表')
  expect(await textsOf(bill())).toEqual([text()])
  expect(await textsOf(Buffer.from(text()))).toEqual([text()])
  expect(await textsOf(Buffer.from(`\ufeff${text()}`))).toEqual([text()])
  expect(await textsOf(gzipSync(bill()))).toEqual([text()])
  const zipped = zipOf([
    entry('2088_20261111_业务明细(汇总).csv', summary),
    entry('2088_20261111_业务明细.csv', bill()),
  ])
  expect(await textsOf(zipped)).toEqual([text()])
  expect(await textsOf(zipOf([entry('业务明细(汇总).csv', summary)]))).toEqual([])
  expect(await textsOf(Buffer.from(''))).toEqual([''])
})

test('what cannot be unpacked to its end is damaged', async () => {
  const zipped = zipOf([entry('业务明细.csv', bill())])
  const altered = Buffer.from(zipped)
  altered.writeUInt8(altered.readUInt8(80) ^ 1, 80)
  for (const content of [gzipSync(bill()).subarray(0, -9), zipped.subarray(0, -30), altered])
    await expect(textsOf(content)).rejects.toBeInstanceOf(DamagedBill)
})

test('a file that is not there is no damaged bill', async () => {
  await expect(textsIn(join(dir, 'none'), alipay).next()).rejects.toMatchObject({ code: 'ENOENT' })
})

test('whose bills they are stands in the file of the merchant', () => {
  expect(alipay).toMatchObject({ refPrefix: 'alipay:', accounts: new Set([SELLER_ID]) })
  expect(() => billFormatOf(merchant.dir, 'books', 'alipay')).toThrow(BadConfiguration)
  writeFileSync(join(dir, 'none.json'), '{"stripe":{}}')
  expect(() => billFormatOf(dir, 'none', 'alipay')).toThrow('none.json: has no section alipay')
  expect(() => billFormatOf(dir, 'none', 'wechatpay')).toThrow('has no section wechatpay or wechatpay-v2')
})
