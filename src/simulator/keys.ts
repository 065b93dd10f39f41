import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { webhookSecret } from '../providers/standard-webhooks/keys.ts'
import { BadConfiguration } from '../runtime/config.ts'
import { mapRing, privateRing, type KeyRing, type Rotation } from './key-ring.ts'

/** The senders' side of one merchant's keys. */
export interface SenderKeys {
  readonly merchant: string
  /** Null: its keys do not change. */
  readonly rotation: Rotation | null
  readonly wechatpay: {
    /** Its own number and app. */
    readonly mchid: string
    readonly appid: string
    /** Whose sub-merchant it is, under v2 too; null: nobody's. */
    readonly partner: { readonly spMchid: string; readonly spAppid: string } | null
    readonly apiV3Keys: KeyRing<string>
    /** A platform certificate's key and the public key's: as during a migration, either may sign. */
    readonly platforms: KeyRing<{ readonly serial: string; readonly privateKey: KeyObject }>
    /** The merchant's own, with which it asks; a partner's, if it has one. */
    readonly apiCertificate: { readonly serial: string; readonly publicKey: KeyObject }
  }
  readonly wechatpayV2: { readonly apiKeys: KeyRing<string> }
  readonly alipay: {
    readonly appId: string
    readonly sellerId: string
    readonly keys: KeyRing<KeyObject>
    /** The app's own public key: what its questions are verified with. */
    readonly appKey: KeyObject
  }
  readonly stripe: {
    /** Of the endpoint: what events are signed with. */
    readonly secrets: KeyRing<string>
    /** Of the account: what a query is sent with. */
    readonly apiKey: string
  }
  /** Secrets, and an ed25519 key. */
  readonly standardWebhooks: { readonly keys: KeyRing<KeyObject> }
  readonly worker: { readonly secrets: KeyRing<KeyObject> }
}

/** As it lies in `senders.json`: keys as PEM and text. */
export interface StoredKeys extends Pick<SenderKeys, 'merchant' | 'rotation' | 'wechatpayV2' | 'stripe'> {
  readonly wechatpay: Omit<SenderKeys['wechatpay'], 'platforms' | 'apiCertificate'> & {
    readonly platforms: KeyRing<{ readonly serial: string; readonly privateKey: string }>
    readonly apiCertificate: { readonly serial: string; readonly publicKey: string }
  }
  readonly alipay: Omit<SenderKeys['alipay'], 'keys' | 'appKey'> & {
    readonly keys: KeyRing<string>
    readonly appKey: string
  }
  readonly standardWebhooks: { readonly keys: KeyRing<string> }
  readonly worker: { readonly secrets: KeyRing<string> }
}

export const SENDERS = 'senders.json'

/**
 * The senders' side that `createKeys` wrote, for another process.
 * @throws BadConfiguration if it is not there
 */
export function loadKeys(sendersDir: string): SenderKeys[] {
  const file = join(sendersDir, SENDERS)
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as StoredKeys[]).map(keysIn)
  } catch {
    throw new BadConfiguration(
      `Bad configuration:\n✖ SENDERS_DIR: cannot read ${file}, or an older version wrote it: make keys with createKeys first`,
    )
  }
}

/** What is stored, as key objects. */
export const keysIn = (stored: StoredKeys): SenderKeys => ({
  ...stored,
  wechatpay: {
    ...stored.wechatpay,
    platforms: mapRing(stored.wechatpay.platforms, ({ serial, privateKey }) => ({
      serial,
      privateKey: createPrivateKey(privateKey),
    })),
    apiCertificate: {
      ...stored.wechatpay.apiCertificate,
      publicKey: createPublicKey(stored.wechatpay.apiCertificate.publicKey),
    },
  },
  alipay: {
    ...stored.alipay,
    keys: privateRing(stored.alipay.keys),
    appKey: createPublicKey(stored.alipay.appKey),
  },
  standardWebhooks: { keys: mapRing(stored.standardWebhooks.keys, webhookKey) },
  worker: { secrets: mapRing(stored.worker.secrets, webhookKey) },
})

function webhookKey(text: string): KeyObject {
  const key = text.startsWith('-----BEGIN') ? createPrivateKey(text) : webhookSecret(text)
  if (key === undefined) throw new Error('a secret that is none')
  return key
}
