import { randomBytes, randomInt } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StoredKeys } from './keys.ts'
import { newRsaKey } from './rsa-key.ts'

/** Where the simulated providers answer, unless it is said. */
export const QUERY_URL = 'http://127.0.0.1:8090'

/** The merchant's own side: what a provider knows of its keys. */
export interface MerchantsOwn {
  readonly apiCertificate: StoredKeys['wechatpay']['apiCertificate']
  readonly appKey: StoredKeys['alipay']['appKey']
}

/**
 * Makes the keys with which a merchant asks its providers, and writes its file of QUERY_KEYS_DIR with them; WeChat Pay
 * v2 has none of its own.
 */
export async function createQueryKeys(
  directory: string,
  merchant: string,
  stripeApiKey: string,
  url = QUERY_URL,
): Promise<MerchantsOwn> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const file = (name: string, content: string) => write(directory, `${merchant}.${name}`, content)
  const [api, app] = await Promise.all([newRsaKey(), newRsaKey()])
  const serial = Buffer.concat([Buffer.from([randomInt(1, 128)]), randomBytes(19)])
    .toString('hex')
    .toUpperCase()
  const sections = {
    wechatpay: { baseUrl: url, serial, privateKeyFile: file('wechatpay.pem', api.pem) },
    'wechatpay-v2': { baseUrl: url },
    alipay: { baseUrl: url, privateKeyFile: file('alipay.pem', app.pem) },
    stripe: { baseUrl: url, secretKeyFile: file('stripe.key', stripeApiKey) },
  }
  file('json', `${JSON.stringify(sections, undefined, 2)}\n`)
  return { apiCertificate: { serial, publicKey: api.publicPem }, appKey: app.publicPem }
}

/** Writes another address into every section, as of a server on any free port, and what else each is to say. */
export function pointQueriesAt(directory: string, url: string, more: object = {}): void {
  for (const name of readdirSync(directory).filter((one) => one.endsWith('.json'))) {
    const sections = JSON.parse(readFileSync(join(directory, name), 'utf8')) as Record<string, object>
    const pointed = Object.entries(sections).map(([provider, section]) => [
      provider,
      { ...section, ...more, baseUrl: url },
    ])
    write(directory, name, `${JSON.stringify(Object.fromEntries(pointed), undefined, 2)}\n`)
  }
}

function write(directory: string, name: string, content: string): string {
  writeFileSync(join(directory, name), content, { mode: 0o600 })
  return name
}
