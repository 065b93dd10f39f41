import { createPrivateKey, generateKeyPair, randomBytes, randomInt, type KeyObject } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BadConfiguration } from '../runtime/config.ts'
import { webhookSecret } from '../providers/standard-webhooks/keys.ts'
import { selfSigned } from './certificate.ts'

/** The senders' side of one merchant's keys. */
export interface SenderKeys {
  readonly merchant: string
  readonly mchid: string
  readonly appid: string
  readonly apiV3Key: string
  /** A platform certificate's key and the public key's: as during a migration, either may sign. */
  readonly platforms: readonly { readonly serial: string; readonly privateKey: KeyObject }[]
  readonly alipayAppId: string
  readonly sellerId: string
  readonly alipayKey: KeyObject
  /** Two at once, as while a secret is being changed. */
  readonly workerSecrets: readonly KeyObject[]
}

/** As it lies in `senders.json`: keys as PEM and text. */
interface StoredKeys extends Omit<SenderKeys, 'platforms' | 'alipayKey' | 'workerSecrets'> {
  readonly platforms: readonly { readonly serial: string; readonly privateKey: string }[]
  readonly alipayKey: string
  readonly workerSecrets: readonly string[]
}

const SENDERS = 'senders.json'
const PUBLIC_KEY_ID = 'PUB_KEY_ID_0100000000000000000000000000000001'
const CERTIFICATE_MS = 5 * 365 * 86_400_000

/**
 * Makes new keys of every sender for each merchant and writes both sides of them: a ready `MERCHANTS_DIR` for the
 * gateway, and `senders.json` with the private keys, in a directory of its own that no gateway reads.
 */
export async function createKeys(where: Directories, merchants: readonly string[], now: Date): Promise<SenderKeys[]> {
  mkdirSync(where.merchantsDir, { recursive: true, mode: 0o700 })
  mkdirSync(where.sendersDir, { recursive: true, mode: 0o700 })
  const stored = await Promise.all(merchants.map((merchant, index) => createMerchant(where, merchant, index, now)))
  write(where.sendersDir, SENDERS, JSON.stringify(stored))
  return stored.map(loaded)
}

export interface Directories {
  readonly merchantsDir: string
  readonly sendersDir: string
}

/**
 * The senders' side that `createKeys` wrote, for another process.
 * @throws BadConfiguration if it is not there
 */
export function loadKeys(sendersDir: string): SenderKeys[] {
  const file = join(sendersDir, SENDERS)
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as StoredKeys[]).map(loaded)
  } catch {
    throw new BadConfiguration(
      `Bad configuration:\n✖ SENDERS_DIR: cannot read ${file}: make keys with createKeys first`,
    )
  }
}

const newKeyPair = promisify(generateKeyPair)
const rsaKeyPair = () => newKeyPair('rsa', { modulusLength: 2_048 })
const pem = (key: KeyObject) =>
  key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem' }).toString()

async function createMerchant(where: Directories, merchant: string, index: number, now: Date): Promise<StoredKeys> {
  const [certified, bare, alipay] = await Promise.all([rsaKeyPair(), rsaKeyPair(), rsaKeyPair()])
  const serial = Buffer.concat([Buffer.from([randomInt(1, 128)]), randomBytes(19)])
  const until = new Date(now.getTime() + CERTIFICATE_MS)
  const apiV3Key = randomBytes(16).toString('hex')
  const secrets = [0, 1].map(() => `whsec_${randomBytes(32).toString('base64')}`)
  const mchid = String(1_900_000_001 + index)
  const appid = `wx${String(index + 1).padStart(16, '0')}`
  const alipayAppId = String(2_021_000_000_000_001 + index)
  const sellerId = String(2_088_000_000_000_001 + index)

  const file = (name: string, content: string) => write(where.merchantsDir, `${merchant}.${name}`, content)
  const sections = {
    wechatpay: {
      mchid,
      appids: [appid],
      apiV3KeyFiles: [file('apiv3.key', apiV3Key)],
      platformCertificates: [
        { certificateFile: file('wechatpay.crt', selfSigned(certified.privateKey, 'Tenpay.com', serial, now, until)) },
      ],
      publicKeys: [{ publicKeyId: PUBLIC_KEY_ID, publicKeyFile: file('wechatpay.pem', pem(bare.publicKey)) }],
    },
    alipay: {
      appIds: [alipayAppId],
      sellerIds: [sellerId],
      publicKeyFiles: [file('alipay.pem', pem(alipay.publicKey))],
    },
    worker: { secretFiles: secrets.map((secret, n) => file(`worker-${n + 1}.key`, secret)) },
  }
  write(where.merchantsDir, `${merchant}.json`, `${JSON.stringify(sections, undefined, 2)}\n`)
  return {
    ...{ merchant, mchid, appid, apiV3Key, alipayAppId, sellerId },
    platforms: [
      { serial: serial.toString('hex').toUpperCase(), privateKey: pem(certified.privateKey) },
      { serial: PUBLIC_KEY_ID, privateKey: pem(bare.privateKey) },
    ],
    alipayKey: pem(alipay.privateKey),
    workerSecrets: secrets,
  }
}

function write(directory: string, name: string, content: string): string {
  writeFileSync(join(directory, name), content, { mode: 0o600 })
  return name
}

const loaded = (stored: StoredKeys): SenderKeys => ({
  ...stored,
  platforms: stored.platforms.map(({ serial, privateKey }) => ({ serial, privateKey: createPrivateKey(privateKey) })),
  alipayKey: createPrivateKey(stored.alipayKey),
  workerSecrets: stored.workerSecrets.flatMap((text) => webhookSecret(text) ?? []),
})
