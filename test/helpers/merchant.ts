import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { alipayTime, signNotice } from '../../src/providers/alipay/sign.ts'
import { composeRefund } from '../../src/providers/wechatpay/compose.ts'
import { beijing, sealEnvelope, signRequest, type Envelope } from '../../src/providers/wechatpay/sign.ts'
import { webhookSecret } from '../../src/providers/standard-webhooks/keys.ts'
import { signReport } from '../../src/providers/worker/sign.ts'

/** A signed request, ready to be posted. */
export interface SignedCallback {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawBody: Buffer
}

/** A merchant with new keys of all three senders, and those senders' side of them. */
export interface TestMerchant {
  readonly name: string
  /** What `MERCHANTS_DIR` is set to. */
  readonly dir: string
  readonly wechatpay: (outTradeNo: string, change?: object, at?: Date) => SignedCallback
  /** One callback that pays several orders. */
  readonly combined: (outTradeNos: readonly string[]) => SignedCallback
  /** A refund of what `wechatpay` says was paid. */
  readonly refund: (outTradeNo: string, refundFen: number) => SignedCallback
  readonly alipay: (outTradeNo: string, change?: Readonly<Record<string, string | Buffer>>) => SignedCallback
  readonly worker: (outTradeNo: string, id?: string) => SignedCallback
  /** Signs any bytes as WeChat Pay does. */
  readonly signWechatpay: (rawBody: Buffer, at?: Date) => SignedCallback
  readonly remove: () => void
}

export const MCHID = '1900000001'
export const APPID = 'wx0000000000000001'
export const APP_ID = '2021000000000001'
export const SELLER_ID = '2088000000000001'
const SERIAL = 'PUB_KEY_ID_0100000000000000000000000000000001'

export function createMerchant(name = 'shop1'): TestMerchant {
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-merchants-'))
  const file = (fileName: string, content: string) => {
    writeFileSync(join(dir, fileName), content, { mode: 0o600 })
    return fileName
  }
  const keyPair = (fileName: string) => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    file(fileName, publicKey.export({ type: 'spki', format: 'pem' }).toString())
    return privateKey
  }
  const wechatpayKey = keyPair('wechatpay.pem')
  const alipayKey = keyPair('alipay.pem')
  const apiV3Key = randomBytes(16).toString('hex')
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  file(
    `${name}.json`,
    JSON.stringify({
      wechatpay: {
        mchid: MCHID,
        appids: [APPID],
        apiV3KeyFiles: [file('apiv3.key', apiV3Key)],
        publicKeys: [{ publicKeyId: SERIAL, publicKeyFile: 'wechatpay.pem' }],
      },
      alipay: { appIds: [APP_ID], sellerIds: [SELLER_ID], publicKeyFiles: ['alipay.pem'] },
      worker: { secretFiles: [file('worker.key', secret)] },
    }),
  )

  const path = (provider: string) => `/callbacks/${provider}/${name}`
  const signWechatpay = (rawBody: Buffer, at = new Date()): SignedCallback => ({
    path: path('wechatpay'),
    ...signRequest(rawBody, { serial: SERIAL, privateKey: wechatpayKey, apiV3Key }, at),
  })
  const newId = () => `EV-${randomBytes(8).toString('hex')}`
  const seal = (envelope: Envelope, at: Date) => signWechatpay(sealEnvelope(envelope, apiV3Key, at), at)
  const notify = (resource: object, at: Date) =>
    seal({ id: newId(), eventType: 'TRANSACTION.SUCCESS', originalType: 'transaction', resource }, at)
  return {
    name,
    dir,
    signWechatpay,
    wechatpay: (outTradeNo, change = {}, at = new Date()) => notify({ ...transaction(outTradeNo, at), ...change }, at),
    combined: (outTradeNos) =>
      notify(
        {
          combine_appid: APPID,
          combine_mchid: MCHID,
          combine_out_trade_no: `C-${outTradeNos[0] ?? ''}`,
          sub_orders: outTradeNos.map((outTradeNo) => ({
            ...transaction(outTradeNo, new Date()),
            amount: { total_amount: 100, currency: 'CNY' },
          })),
        },
        new Date(),
      ),
    refund: (outTradeNo, refundFen) => {
      const at = new Date()
      const of = {
        transactionId: transactionIdOf(outTradeNo),
        refundId: `5030${outTradeNo}`,
        outRefundNo: `R${outTradeNo}`,
      }
      const amounts = { refundFen, totalFen: 100 }
      const party = { mchid: MCHID, appid: APPID }
      return seal(composeRefund(newId(), party, { outTradeNo, ...of, ...amounts, status: 'SUCCESS', at }), at)
    },
    alipay: (outTradeNo, change = {}) => ({
      path: path('alipay'),
      ...signNotice({ ...notice(outTradeNo, new Date()), ...change }, alipayKey),
    }),
    worker: (outTradeNo, id = `rep_${randomBytes(8).toString('hex')}`) => ({
      path: path('worker'),
      ...signReport(
        {
          type: 'shipment_completed',
          timestamp: new Date().toISOString(),
          data: { out_trade_no: outTradeNo, event_id: 'e-1', reference: 'SF1234567890' },
        },
        id,
        [workerKey(secret)],
        new Date(),
      ),
    }),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

const transactionIdOf = (outTradeNo: string) => `4200${outTradeNo}`

/** What WeChat Pay says of a payment. */
export const transaction = (outTradeNo: string, at: Date) => ({
  mchid: MCHID,
  appid: APPID,
  out_trade_no: outTradeNo,
  transaction_id: transactionIdOf(outTradeNo),
  trade_type: 'JSAPI',
  trade_state: 'SUCCESS',
  trade_state_desc: '支付成功',
  bank_type: 'CMC',
  attach: '',
  success_time: beijing(at),
  payer: { openid: 'o-synthetic' },
  amount: { total: 100, payer_total: 100, currency: 'CNY', payer_currency: 'CNY' },
})

/** The fields of Alipay's notice of a payment. */
export const notice = (outTradeNo: string, at: Date) => ({
  notify_time: alipayTime(at),
  notify_type: 'trade_status_sync',
  notify_id: `n-${outTradeNo}`,
  charset: 'utf-8',
  version: '1.0',
  sign_type: 'RSA2',
  app_id: APP_ID,
  seller_id: SELLER_ID,
  trade_no: `2026${outTradeNo}`,
  out_trade_no: outTradeNo,
  trade_status: 'TRADE_SUCCESS',
  total_amount: '1.00',
  subject: '测试 商品+1',
  gmt_payment: alipayTime(at),
})

/** The key of a `whsec_…` secret. */
export function workerKey(secret: string): KeyObject {
  const key = webhookSecret(secret)
  if (key === undefined) throw new Error('no worker secret')
  return key
}
