import { generateKeyPairSync, randomBytes, randomUUID, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bareCloseNotice, tradeNotice, type NoticeEvent } from '../../src/providers/alipay/notice-fields.ts'
import { signNotice, type NoticeFields } from '../../src/providers/alipay/sign.ts'
import { apiKey } from '../../src/providers/wechatpay-v2/api-key.ts'
import { refundNotice } from '../../src/providers/wechatpay-v2/compose.ts'
import { sealRefund } from '../../src/providers/wechatpay-v2/sign.ts'
import { composePayment, composeRefund, type RefundOrder } from '../../src/providers/wechatpay/compose.ts'
import { sealEnvelope, signRequest, type Envelope } from '../../src/providers/wechatpay/sign.ts'
import { AMOUNT_MINOR, MERCHANT } from '../helpers/installation.ts'
import type { SignedCallback } from '../helpers/merchant.ts'

export const PARTY = { mchid: '1900000001', appid: 'wx0000000000000001' }
const ALIPAY = { appId: '2021000000000001', sellerId: '2088000000000001' }
const SERIAL = 'PUB_KEY_ID_0100000000000000000000000000000001'

/** The numbers that the senders give to an order's payment. */
export const transactionOf = (outTradeNo: string) => `W-${outTradeNo}`
export const tradeOf = (outTradeNo: string) => `A-${outTradeNo}`

/** A merchant's keys in a folder, and what each sender would send to it, signed. Amounts are fen. */
export function createSenders() {
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-issues-'))
  const wechatpayKey = keyPairIn(dir, 'wechatpay.pem')
  const alipayKey = keyPairIn(dir, 'alipay.pem')
  const apiV3Key = randomBytes(16).toString('hex')
  const v2Key = randomBytes(16).toString('hex')
  writeFileSync(join(dir, 'apiv3.key'), apiV3Key)
  writeFileSync(join(dir, 'v2.key'), v2Key)
  const sections = {
    wechatpay: {
      ...{ mchid: PARTY.mchid, appids: [PARTY.appid], apiV3KeyFiles: ['apiv3.key'] },
      publicKeys: [{ publicKeyId: SERIAL, publicKeyFile: 'wechatpay.pem' }],
    },
    'wechatpay-v2': { mchid: PARTY.mchid, appids: [PARTY.appid], apiKeyFiles: ['v2.key'] },
    alipay: { appIds: [ALIPAY.appId], sellerIds: [ALIPAY.sellerId], publicKeyFiles: ['alipay.pem'] },
  }
  writeFileSync(join(dir, `${MERCHANT}.json`), JSON.stringify(sections))
  const path = (provider: string) => `/callbacks/${provider}/${MERCHANT}`

  /** What WeChat Pay v3 envelopes, signed as of `at`. */
  const wechatpay = (envelope: Envelope, at = new Date()): SignedCallback => ({
    path: path('wechatpay'),
    ...signRequest(sealEnvelope(envelope, apiV3Key, at), { serial: SERIAL, privateKey: wechatpayKey, apiV3Key }, at),
  })
  const alipay = (fields: NoticeFields): SignedCallback => ({ path: path('alipay'), ...signNotice(fields, alipayKey) })
  const refundOrder = (outTradeNo: string, refundFen: number, more: Partial<RefundOrder>): RefundOrder => ({
    ...{ outTradeNo, refundFen, transactionId: transactionOf(outTradeNo), totalFen: AMOUNT_MINOR },
    ...{ outRefundNo: `R-${outTradeNo}`, refundId: `F-${outTradeNo}`, status: 'SUCCESS', at: new Date(), ...more },
  })
  return {
    dir,
    wechatpay,
    alipay,
    remove: () => rmSync(dir, { recursive: true, force: true }),
    paid: (outTradeNo: string, { totalFen = AMOUNT_MINOR, paidAt = new Date(), at = new Date() } = {}) =>
      wechatpay(
        composePayment(randomUUID(), PARTY, { outTradeNo, transactionId: transactionOf(outTradeNo), totalFen, paidAt }),
        at,
      ),
    refunded: (outTradeNo: string, refundFen: number, more: Partial<RefundOrder> = {}) =>
      wechatpay(composeRefund(randomUUID(), PARTY, refundOrder(outTradeNo, refundFen, more))),
    /** A notice of Alipay's; `change` after it was composed. */
    notice: (
      outTradeNo: string,
      event: Partial<NoticeEvent> & Pick<NoticeEvent, 'status'>,
      { paidAt = PAID_AT, change = {} }: { paidAt?: Date | null; change?: NoticeFields } = {},
    ) =>
      alipay({
        ...tradeNotice(
          {
            ...{ ...ALIPAY, outTradeNo, tradeNo: tradeOf(outTradeNo), totalFen: AMOUNT_MINOR, subject: '会员+ 5% off' },
            ...{ createdAt: PAID_AT, paidAt },
          },
          { notifyId: randomUUID(), at: new Date(), ...event },
        ),
        ...change,
      }),
    bareClose: () => alipay(bareCloseNotice(randomUUID(), new Date())),
    /** A refund notice of WeChat Pay v2, which nobody signs. */
    refundedV2: (
      outTradeNo: string,
      refundFen: number,
      change: Readonly<Record<string, string>> = {},
    ): SignedCallback => {
      const { envelope, refund } = refundNotice(
        PARTY,
        refundOrder(outTradeNo, refundFen, { refundId: '50300000000001' }),
      )
      return { path: path('wechatpay-v2'), ...sealRefund(envelope, { ...refund, ...change }, apiKey(v2Key)) }
    },
  }
}
export type Senders = ReturnType<typeof createSenders>

/** When Alipay says that it was paid, in whole seconds as it writes them. */
export const PAID_AT = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 60_000)

function keyPairIn(dir: string, name: string): KeyObject {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  writeFileSync(join(dir, name), publicKey.export({ type: 'spki', format: 'pem' }).toString())
  return privateKey
}
