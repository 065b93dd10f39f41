import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { signNotice } from '../../src/providers/alipay/sign.ts'
import { sealEnvelope, signRequest } from '../../src/providers/wechatpay/sign.ts'
import { signReport } from '../../src/providers/worker/sign.ts'
import { selfSigned } from '../../src/simulator/certificate.ts'
import { APP_ID, APPID, MCHID, notice, SELLER_ID, transaction, workerKey, type SignedCallback } from './merchant.ts'

export const SENDERS = ['wechatpay', 'alipay', 'worker'] as const
export type Sender = (typeof SENDERS)[number]

/** One generation of keys: the senders' side, and the files that the merchant is given. */
export interface KeySet {
  readonly name: string
  /** A certificate's serial, or `PUB_KEY_ID_…`. */
  readonly serial: string
  readonly wechatpay: KeyObject
  readonly alipay: KeyObject
  readonly worker: string
}

/** A key set in a merchant's file; after its end it verifies nothing. */
export interface Held {
  readonly keys: KeySet
  readonly validUntil?: Date
}

export interface RotatingMerchant {
  readonly name: string
  /** New keys of every sender, which the merchant does not know yet. @param how WeChat Pay's: either family */
  readonly newKeys: (name: string, how: 'certificate' | 'public key') => KeySet
  /** Writes the merchant's file, with these keys side by side, and theirs. */
  readonly hold: (...held: readonly Held[]) => void
  readonly sign: (sender: Sender, keys: KeySet, outTradeNo: string, at: Date) => SignedCallback
}

const APIV3_KEY = 'k'.repeat(32)
const YEAR_MS = 365 * 86_400_000

/** A merchant whose keys change while it is served. Keys take time to make: make them before anything is timed. */
export function createRotatingMerchant(dir: string, name: string): RotatingMerchant {
  const file = (fileName: string, content: string) => {
    writeFileSync(join(dir, `${name}.${fileName}`), content)
    return `${name}.${fileName}`
  }
  const until = (fileName: string, { validUntil }: Held) =>
    validUntil === undefined ? fileName : { file: fileName, validUntil: validUntil.toISOString() }
  let serials = 0

  return {
    name,
    newKeys: (set, how) => {
      const [wechatpay, alipay] = [generateKeyPairSync('rsa', RSA), generateKeyPairSync('rsa', RSA)]
      const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString()
      const serial = randomBytes(20)
      serial[0] = 0x7f
      if (how === 'public key') file(`${set}.wechatpay`, pem(wechatpay.publicKey))
      else {
        const [from, to] = [new Date(Date.now() - YEAR_MS), new Date(Date.now() + YEAR_MS)]
        file(`${set}.wechatpay`, selfSigned(wechatpay.privateKey, 'platform', serial, from, to))
      }
      file(`${set}.alipay`, pem(alipay.publicKey))
      const worker = `whsec_${randomBytes(32).toString('base64')}`
      file(`${set}.worker`, worker)
      return {
        name: set,
        serial: how === 'certificate' ? serial.toString('hex').toUpperCase() : `PUB_KEY_ID_${++serials}`,
        ...{ wechatpay: wechatpay.privateKey, alipay: alipay.privateKey, worker },
      }
    },
    hold: (...held) => {
      const files = (sender: Sender, some = held) => some.map((it) => until(`${name}.${it.keys.name}.${sender}`, it))
      const isPublicKey = ({ keys }: Held) => keys.serial.startsWith('PUB_KEY_ID_')
      const config = {
        wechatpay: {
          mchid: MCHID,
          appids: [APPID],
          apiV3KeyFiles: [file('apiv3', APIV3_KEY)],
          platformCertificates: held
            .filter((it) => !isPublicKey(it))
            .map((it) => ({ certificateFile: files('wechatpay', [it])[0] })),
          publicKeys: held
            .filter(isPublicKey)
            .map((it) => ({ publicKeyId: it.keys.serial, publicKeyFile: files('wechatpay', [it])[0] })),
        },
        alipay: { appIds: [APP_ID], sellerIds: [SELLER_ID], publicKeyFiles: files('alipay') },
        worker: { secretFiles: files('worker') },
      }
      file('json', JSON.stringify(config))
    },
    sign: (sender, keys, outTradeNo, at) => ({
      path: `/callbacks/${sender}/${name}`,
      ...signers[sender](keys, outTradeNo, at),
    }),
  }
}

const RSA = { modulusLength: 2_048 }

const signers = {
  wechatpay: ({ wechatpay: privateKey, serial }: KeySet, outTradeNo: string, at: Date) => {
    const resource = transaction(outTradeNo, at)
    const envelope = { id: outTradeNo, eventType: 'TRANSACTION.SUCCESS', originalType: 'transaction', resource }
    return signRequest(sealEnvelope(envelope, APIV3_KEY, at), { serial, privateKey, apiV3Key: APIV3_KEY }, at)
  },
  alipay: ({ alipay }: KeySet, outTradeNo: string, at: Date) => signNotice(notice(outTradeNo, at), alipay),
  worker: ({ worker }: KeySet, outTradeNo: string, at: Date) => {
    const data = { out_trade_no: outTradeNo, event_id: 'e-1', reference: 'SF1' }
    const report = { type: 'shipment_completed', timestamp: at.toISOString(), data }
    return signReport(report, outTradeNo, [workerKey(worker)], at)
  },
}
