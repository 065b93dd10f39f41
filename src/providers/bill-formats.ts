import { resolve } from 'node:path'
import { z } from 'zod'
import { BadConfiguration } from '../runtime/config.ts'
import { createAlipayBillReader } from './alipay/bill-reader.ts'
import { alipayConfig } from './alipay/config.ts'
import type { BillProvider, BillReader } from './bill.ts'
import { configFiles, type ConfigFiles } from './config-files.ts'
import { createFileReader } from './seen-files.ts'
import { parseStrictJson } from './strict-json.ts'
import { createWechatpayBillReader } from './wechatpay/bill-reader.ts'
import { wechatpayConfig } from './wechatpay/config.ts'
import type { Recipient } from './wechatpay/recipient.ts'
import { wechatpayV2Config } from './wechatpay-v2/config.ts'

/** How one merchant's bills of one provider are read. */
export interface BillFormat {
  /** Of the references of all facts that such a bill may state. */
  readonly refPrefix: string
  /** Who may be asked about them, by name, the first that is there. */
  readonly asked: readonly string[]
  /** @param head the first bytes, 64 if there are so many */
  readonly charsetOf: (head: Buffer) => string
  /** Whether a text that begins so comes beside bills and is none. */
  readonly isBeside: (text: string) => boolean
  /** Empty: the bill names no account. Else one bill is of one of them, and all make a day. */
  readonly accounts: ReadonlySet<string>
  /** How long after it was asked for a refund may be through: it stands in the bill of the day when it was asked for. */
  readonly refundDaysMax: number
  readonly createReader: () => BillReader
}

const UTF8_ALIPAY = /^(?:\ufeff)?#支付宝/

const wechatpay = (to: Recipient): BillFormat => ({
  ...{ refPrefix: 'wechatpay:', asked: ['wechatpay', 'wechatpay-v2'], accounts: new Set() },
  charsetOf: () => 'utf-8',
  isBeside: () => false,
  // Bank cards take one to three working days; the longest holidays are in between.
  refundDaysMax: 7,
  createReader: () => createWechatpayBillReader(to),
})

const alipay = ({ sellerIds }: { readonly sellerIds: ReadonlySet<string> }): BillFormat => ({
  ...{ refPrefix: 'alipay:', asked: ['alipay'], accounts: sellerIds, refundDaysMax: 0 },
  // Alipay writes GBK; spreadsheets write UTF-8.
  charsetOf: (head) => (UTF8_ALIPAY.test(head.toString()) ? 'utf-8' : 'gbk'),
  isBeside: (text) => text.startsWith('#支付宝业务汇总查询'),
  createReader: () => createAlipayBillReader({ sellerIds }),
})

/**
 * How the bills of a merchant are read, whose numbers are in its file in MERCHANTS_DIR. WeChat Pay has one bill for what
 * was paid under its two protocols, so that either section will do.
 * @throws BadConfiguration naming what is missing or wrong
 */
export function billFormatOf(directory: string, merchant: string, provider: BillProvider): BillFormat {
  const name = `${merchant}.json`
  const bad = (what: string): never => {
    throw new BadConfiguration(`Bad merchant in ${directory}:\n✖ ${name}: ${what}`)
  }
  const sections = readSections(resolve(directory, name)) ?? bad('cannot be read, or is no valid JSON')
  const files = configFiles(directory)
  const taken = <T>(section: string, shape: (files: ConfigFiles) => z.ZodType<T>): T | undefined => {
    if (sections[section] === undefined) return undefined
    const parsed = shape(files).safeParse(sections[section])
    if (parsed.success) return parsed.data
    return bad(parsed.error.issues.map(({ path, message }) => `${[section, ...path].join('.')}: ${message}`).join('; '))
  }
  if (provider === 'alipay') return alipay(taken('alipay', alipayConfig) ?? bad('has no section alipay'))
  const recipient = taken('wechatpay', wechatpayConfig) ?? taken('wechatpay-v2', wechatpayV2Config)
  return wechatpay(recipient ?? bad('has no section wechatpay or wechatpay-v2'))
}

function readSections(path: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const text = createFileReader().read(path)
    const parsed = z.record(z.string(), z.unknown()).safeParse(text && parseStrictJson(text)?.value)
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}
