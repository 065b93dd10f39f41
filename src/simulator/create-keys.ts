import { generateKeyPairSync, randomBytes, randomInt } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { webhookPublicKeyText } from '../providers/standard-webhooks/sign.ts'
import { selfSigned } from './certificate.ts'
import { createQueryKeys } from './create-query-keys.ts'
import { ringOf, always, type KeyRing, type Rotation } from './key-ring.ts'
import { keysIn, SENDERS, type SenderKeys, type StoredKeys } from './keys.ts'
import { newRsaKey, pemOf } from './rsa-key.ts'
import { WEBHOOK_MAPPING } from './webhook-mapping.ts'

export interface Directories {
  readonly merchantsDir: string
  readonly sendersDir: string
  /** Of the process that asks providers; `queries` beside the senders' keys unless it is said. */
  readonly queriesDir?: string
}

export interface KeyOptions {
  /** Makes two of each key, the old one with an end; but for WeChat Pay's public key, which has none. */
  readonly rotation?: Rotation
  /** Merchants that take part in WeChat Pay as sub-merchants of a partner. */
  readonly partners?: readonly string[]
  /** Where the simulated providers answer. */
  readonly queryUrl?: string
}

const PUBLIC_KEY_ID = 'PUB_KEY_ID_0100000000000000000000000000000001'
const CERTIFICATE_MS = 5 * 365 * 86_400_000

export const queriesDirOf = ({ sendersDir, queriesDir = join(sendersDir, 'queries') }: Directories): string =>
  queriesDir

/**
 * Makes new keys of every sender for each merchant and writes both sides of them: a ready `MERCHANTS_DIR` for the
 * gateway, and `senders.json` with the private keys, in a directory of its own that no gateway reads. And a ready
 * `QUERY_KEYS_DIR`: the merchants' own keys, with which they ask.
 */
export async function createKeys(
  where: Directories,
  merchants: readonly string[],
  now: Date,
  options: KeyOptions = {},
): Promise<SenderKeys[]> {
  mkdirSync(join(where.merchantsDir, 'mappings'), { recursive: true, mode: 0o700 })
  mkdirSync(where.sendersDir, { recursive: true, mode: 0o700 })
  const stored = await Promise.all(
    merchants.map((merchant, index) => createMerchant(where, merchant, index, now, options)),
  )
  write(where.sendersDir, SENDERS, JSON.stringify(stored))
  return stored.map(keysIn)
}

async function createMerchant(
  where: Directories,
  merchant: string,
  index: number,
  now: Date,
  { rotation, partners = [], queryUrl }: KeyOptions,
): Promise<StoredKeys> {
  const file = (name: string, content: string) => write(where.merchantsDir, `${merchant}.${name}`, content)
  const two = <T>(make: () => T): KeyRing<T> =>
    ringOf(make(), rotation === undefined ? undefined : { times: rotation, old: make() })
  /** The files of a ring's keys, each with its end where it has one. */
  const files = <T>(ring: KeyRing<T>, name: string, content: (value: T) => string) =>
    ring.map(({ value, endMs }, n) => {
      const named = file(name.replace('.', `-${n + 1}.`), content(value))
      return endMs === null ? named : { file: named, validUntil: new Date(endMs).toISOString() }
    })
  const webhookSecrets = () => two(() => `whsec_${randomBytes(32).toString('base64')}`)

  const mchid = String(1_900_000_001 + index * 10)
  const appid = `wx${String(index + 1).padStart(16, '0')}`
  const apiV3Keys = two(() => randomBytes(16).toString('hex'))
  const apiKeys = two(() => randomBytes(16).toString('hex'))
  const alipay = {
    ...{ appId: String(2_021_000_000_000_001 + index * 10), sellerId: String(2_088_000_000_000_001 + index * 10) },
    keys: await Promise.all(two(newRsaKey).map(async (key) => ({ ...key, value: await key.value }))),
  }
  const bare = await newRsaKey()
  const certified = await Promise.all(
    two(newRsaKey).map(async ({ value, ...times }) => {
      const key = await value
      const serial = Buffer.concat([Buffer.from([randomInt(1, 128)]), randomBytes(19)])
      const until = new Date(times.endMs ?? now.getTime() + CERTIFICATE_MS)
      const certificate = selfSigned(key.object, 'Tenpay.com', serial, now, until)
      return { ...times, value: { serial: serial.toString('hex').toUpperCase(), privateKey: key.pem, certificate } }
    }),
  )
  const stripe = { secrets: two(() => `whsec_${randomBytes(24).toString('hex')}`), apiKey: `sk_test_${merchant}` }
  const standardWebhooks = { secrets: webhookSecrets() }
  const ed25519 = generateKeyPairSync('ed25519').privateKey
  const worker = { secrets: webhookSecrets() }

  const partner = partners.includes(merchant)
    ? { spMchid: String(1_900_000_002 + index * 10), spAppid: `wx${String(index + 1).padStart(16, '1')}` }
    : null
  const recipient =
    partner === null
      ? { mchid, appids: [appid] }
      : { mchid: partner.spMchid, appids: [partner.spAppid], subMchids: [mchid] }
  const sections = {
    wechatpay: {
      ...recipient,
      apiV3KeyFiles: files(apiV3Keys, 'apiv3.key', String),
      platformCertificates: certified.map(({ value }, n) => ({
        certificateFile: file(`wechatpay-${n + 1}.crt`, value.certificate),
      })),
      publicKeys: [{ publicKeyId: PUBLIC_KEY_ID, publicKeyFile: file('wechatpay.pem', bare.publicPem) }],
    },
    'wechatpay-v2': { ...recipient, apiKeyFiles: files(apiKeys, 'apiv2.key', String) },
    alipay: {
      ...{ appIds: [alipay.appId], sellerIds: [alipay.sellerId] },
      publicKeyFiles: files(alipay.keys, 'alipay.pem', ({ publicPem }) => publicPem),
    },
    stripe: { secretFiles: files(stripe.secrets, 'stripe.key', String) },
    'standard-webhooks': {
      keyFiles: [
        ...files(standardWebhooks.secrets, 'webhooks.key', String),
        file('webhooks.pub', webhookPublicKeyText(ed25519)),
      ],
      mappingFile: write(where.merchantsDir, 'mappings/simulated.json', JSON.stringify(WEBHOOK_MAPPING, undefined, 2)),
    },
    worker: { secretFiles: files(worker.secrets, 'worker.key', String) },
  }
  write(where.merchantsDir, `${merchant}.json`, `${JSON.stringify(sections, undefined, 2)}\n`)
  const { apiCertificate, appKey } = await createQueryKeys(queriesDirOf(where), merchant, stripe.apiKey, queryUrl)
  return {
    ...{ merchant, rotation: rotation ?? null },
    wechatpay: {
      ...{ mchid, appid, partner, apiV3Keys, apiCertificate },
      platforms: [
        ...certified.map(({ value: { serial, privateKey }, ...times }) => ({
          ...times,
          value: { serial, privateKey },
        })),
        always({ serial: PUBLIC_KEY_ID, privateKey: bare.pem }),
      ],
    },
    wechatpayV2: { apiKeys },
    alipay: { ...alipay, appKey, keys: alipay.keys.map(({ value, ...times }) => ({ ...times, value: value.pem })) },
    standardWebhooks: { keys: [...standardWebhooks.secrets, always(pemOf(ed25519))] },
    ...{ stripe, worker },
  }
}

/** For the gateway's user alone to read. @returns the name */
function write(directory: string, name: string, content: string): string {
  writeFileSync(join(directory, name), content, { mode: 0o600 })
  return name
}
