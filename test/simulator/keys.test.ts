import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadMerchants } from '../../src/providers/merchants.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { BadConfiguration } from '../../src/runtime/config.ts'
import { createKeys } from '../../src/simulator/create-keys.ts'
import { endingIn, signingAt, type KeyRing, type Rotation } from '../../src/simulator/key-ring.ts'
import { loadKeys, type SenderKeys } from '../../src/simulator/keys.ts'

const NOW = new Date('2026-03-04T05:06:07Z')
const MS = NOW.getTime()
const directory = mkdtempSync(join(tmpdir(), 'keys-'))
const where = { merchantsDir: join(directory, 'merchants'), sendersDir: join(directory, 'senders') }
let made: SenderKeys[] = []
beforeAll(async () => {
  made = await createKeys(where, ['shop', 'books'], NOW, { partners: ['books'] })
})
afterAll(() => rmSync(directory, { recursive: true }))

test('the gateway reads what was written for every provider, and another process the senders’ side', () => {
  const merchants = loadMerchants(where.merchantsDir)
  expect(merchants.names).toEqual(['books', 'shop'])
  for (const merchant of merchants.names)
    for (const provider of PROVIDERS.keys()) expect(merchants.find(provider, merchant), provider).toBeDefined()
  expect(loadKeys(where.sendersDir)).toEqual(made)
  expect(() => loadKeys(directory)).toThrow(BadConfiguration)
  const files = readdirSync(where.merchantsDir, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  for (const { parentPath, name } of files)
    expect(readFileSync(join(parentPath, name), 'utf8')).not.toContain('PRIVATE KEY')
})

test('what an older version wrote is refused with the remedy, and no key of it is shown', () => {
  writeFileSync(join(directory, 'senders.json'), JSON.stringify([{ merchant: 'shop', apiV3Key: 'abc' }]))
  expect(() => loadKeys(directory)).toThrow(/SENDERS_DIR.*older version.*createKeys/s)
})

test('the certificate that is made is one that OpenSSL reads and verifies', () => {
  const certificate = new X509Certificate(readFileSync(join(where.merchantsDir, 'shop.wechatpay-1.crt')))
  expect(certificate.verify(certificate.publicKey)).toBe(true)
  expect(certificate.serialNumber).toBe(made[0]?.wechatpay.platforms[0]?.value.serial)
  expect(certificate.subject).toBe('CN=Tenpay.com')
  expect(certificate.validFromDate).toEqual(NOW)
  expect(certificate.validToDate.getUTCFullYear()).toBe(2031)
})

test('during a rotation the old key signs, then both, then the new one, and the old one has an end', async () => {
  const times: Rotation = { newFromMs: MS + 10, oldUntilMs: MS + 20, oldEndMs: MS + 30_000 }
  const rotating = { merchantsDir: join(directory, 'rotating'), sendersDir: join(directory, 'rotating-senders') }
  const [keys] = await createKeys(rotating, ['shop'], NOW, { rotation: times })
  if (keys === undefined) throw new Error('no keys')
  const rings: readonly KeyRing<unknown>[] = [
    ...[keys.wechatpay.apiV3Keys, keys.wechatpay.platforms, keys.wechatpayV2.apiKeys, keys.alipay.keys],
    ...[keys.stripe.secrets, keys.standardWebhooks.keys, keys.worker.secrets],
  ]
  for (const ring of rings) {
    const [old] = endingIn(ring)
    expect(endingIn(ring)).toHaveLength(1)
    const signing = [0, 15, 25].map((after) => signingAt(ring, new Date(MS + after)))
    expect(signing.map((some) => some.includes(old))).toEqual([true, true, false])
    const [before, during, after] = signing.map((some) => some.length)
    expect([during, after]).toEqual([(before ?? 0) + 1, before])
  }
  expect(loadKeys(rotating.sendersDir)[0]?.rotation).toEqual(times)
  const inspected = loadMerchants(rotating.merchantsDir)
  for (const provider of PROVIDERS.keys()) {
    const ends = inspected.find(provider, 'shop')?.inspect.keys.map(({ validToMs }) => validToMs) ?? []
    expect(
      ends.filter((end) => end === times.oldEndMs),
      provider,
    ).toHaveLength(1)
  }
})
