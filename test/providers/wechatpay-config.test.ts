import { createPublicKey } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { configFiles } from '../../src/providers/config-files.ts'
import { wechatpayConfig, type WechatpayConfig } from '../../src/providers/wechatpay/config.ts'
import { createWechatpay } from '../../src/providers/wechatpay/create.ts'
import { signRequest, sealEnvelope } from '../../src/providers/wechatpay/sign.ts'
import { selfSigned } from '../../src/simulator/certificate.ts'
import { platform, platformPrivateKey, vector } from './vectors.ts'
import { APPID, MCHID, NOW, payment, PUBLIC_KEY_ID } from './wechatpay-subject.ts'

const SERIAL = '0a'.repeat(20)
const [FROM, TO] = [new Date('2024-01-01T00:00:00Z'), new Date('2029-01-01T00:00:00Z')]
const certificateOf = (name: string) => selfSigned(platformPrivateKey, name, Buffer.from(SERIAL, 'hex'), FROM, TO)

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'wechatpay-'))
  const write = (name: string, content: string) => writeFileSync(join(directory, name), content)
  write('apiv3', platform.apiV3Key)
  write('apiv3-old', 'f'.repeat(32))
  write('apiv3-go', 'testAPIv3Key0000')
  write('platform.crt', certificateOf('Tenpay.com sign'))
  write('merchant.crt', certificateOf('1900000001'))
  write('platform.pem', platform.wechatPayPublicKeyPem)
  const tenpay = vector('wechat-v3/go-testing-keypair') as { tenpayCertificatePem: string }
  write('tenpay.crt', tenpay.tenpayCertificatePem)
})
afterEach(() => rmSync(directory, { recursive: true }))

const section = {
  mchid: MCHID,
  appids: [APPID],
  apiV3KeyFiles: ['apiv3'],
  platformCertificates: [{ certificateFile: 'platform.crt' }],
  publicKeys: [{ publicKeyId: PUBLIC_KEY_ID, publicKeyFile: 'platform.pem' }],
}
const parse = (change: object = {}) => wechatpayConfig(configFiles(directory)).safeParse({ ...section, ...change })
const configOf = (change: object = {}): WechatpayConfig => {
  const parsed = parse(change)
  if (parsed.success) return parsed.data
  throw parsed.error
}
const problemsOf = (change: object) =>
  (parse(change).error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`)

describe("a merchant's section for WeChat Pay", () => {
  test('holds both families of keys, by the serials that WeChat Pay will name', () => {
    const { platformKeys } = configOf()
    expect([...platformKeys.keys()]).toEqual([SERIAL.toUpperCase(), PUBLIC_KEY_ID])
    expect(platformKeys.get(SERIAL.toUpperCase())?.validToMs).toBe(TO.getTime())
    expect(platformKeys.get(PUBLIC_KEY_ID)?.validToMs).toBe(Infinity)
    const real = configOf({ platformCertificates: [{ certificateFile: 'tenpay.crt' }] }).platformKeys
    expect(real.has('0C4AEF34B89340881BB2B25226393DC2E47F094B')).toBe(true)
  })

  test('takes an end for each key; of a certificate, whichever comes first', () => {
    const validUntil = '2026-01-01T00:00:00+08:00'
    const endMs = Date.parse(validUntil)
    const ended = configOf({
      apiV3KeyFiles: ['apiv3', { file: 'apiv3-old', validUntil }],
      platformCertificates: [{ certificateFile: { file: 'platform.crt', validUntil } }],
      publicKeys: [{ publicKeyId: PUBLIC_KEY_ID, publicKeyFile: { file: 'platform.pem', validUntil } }],
    })
    expect(ended.apiV3Keys.map(({ validToMs }) => validToMs)).toEqual([Infinity, endMs])
    expect([...ended.platformKeys.values()].map(({ validToMs }) => validToMs)).toEqual([endMs, endMs])
    const later = { file: 'platform.crt', validUntil: '2099-01-01T00:00:00Z' }
    const { platformKeys } = configOf({ platformCertificates: [{ certificateFile: later }] })
    expect(platformKeys.get(SERIAL.toUpperCase())?.validToMs).toBe(TO.getTime())
  })

  test.for([
    ['a certificate', SERIAL.toUpperCase()],
    ['a public key', PUBLIC_KEY_ID],
  ] as const)('verifies with %s until its end, and not a millisecond longer', ([, serial]) => {
    const validUntil = '2026-01-01T00:00:00Z'
    const provider = createWechatpay(
      configOf({
        platformCertificates: [{ certificateFile: { file: 'platform.crt', validUntil } }],
        publicKeys: [{ publicKeyId: PUBLIC_KEY_ID, publicKeyFile: { file: 'platform.pem', validUntil } }],
      }),
    )
    const end = new Date(validUntil)
    const signer = { serial, privateKey: platformPrivateKey, apiV3Key: platform.apiV3Key }
    const request = { ...signRequest(sealEnvelope(payment, platform.apiV3Key, NOW), signer, end), repeatedHeaders: [] }
    expect(provider.verify(request, end).kind).toBe('verified')
    expect(provider.verify(request, new Date(end.getTime() + 1))).toEqual({
      kind: 'refused',
      rejection: { kind: 'unknown_key', keyId: serial },
    })
  })

  test.for([
    [
      'a serial in decimal',
      { publicKeys: [{ publicKeyId: '389173871612', publicKeyFile: 'platform.pem' }] },
      'publicKeys.0.publicKeyId: must be PUB_KEY_ID_ and digits',
    ],
    [
      'a serial in hex for a bare key',
      { publicKeys: [{ publicKeyId: SERIAL, publicKeyFile: 'platform.pem' }] },
      'publicKeys.0.publicKeyId: must be PUB_KEY_ID_ and digits',
    ],
    [
      'a certificate in place of a public key, which had no end then',
      { publicKeys: [{ publicKeyId: PUBLIC_KEY_ID, publicKeyFile: 'platform.crt' }] },
      'publicKeys.0.publicKeyFile: holds a certificate, whose end would not be known here: name it in certificateFiles ' +
        '(Alipay) or in platformCertificates (WeChat Pay)',
    ],
    [
      'a serial written beside a certificate',
      { platformCertificates: [{ certificateFile: 'platform.crt', serial: SERIAL }] },
      'platformCertificates.0: Unrecognized key',
    ],
    [
      "a merchant's own certificate",
      { platformCertificates: [{ certificateFile: 'merchant.crt' }] },
      "platformCertificates.0.certificateFile: holds a merchant's own API certificate",
    ],
    [
      "a merchant's own certificate with an end",
      { platformCertificates: [{ certificateFile: { file: 'merchant.crt', validUntil: '2026-01-01T00:00:00Z' } }] },
      "platformCertificates.0.certificateFile.file: holds a merchant's own API certificate",
    ],
    ['an APIv3 key of 16 bytes', { apiV3KeyFiles: ['apiv3-go'] }, 'apiV3KeyFiles.0: must hold exactly 32 bytes'],
    [
      'an end without a zone',
      { apiV3KeyFiles: [{ file: 'apiv3', validUntil: '2026-01-01T00:00:00' }] },
      'apiV3KeyFiles.0.validUntil: Invalid ISO datetime',
    ],
    [
      'the same certificate twice',
      { platformCertificates: [...section.platformCertificates, ...section.platformCertificates] },
      'names two keys of the same serial',
    ],
    ["sub-merchants' apps without sub-merchants", { subAppids: [APPID] }, 'but no subMchids'],
    ['a sub-merchant that is none', { subMchids: ['wx1'] }, 'subMchids.0: must be the merchant number'],
  ] as const)('refuses %s', ([, change, problem]) => {
    expect(problemsOf(change)).toEqual([expect.stringContaining(problem)])
  })

  test("holds a partner's sub-merchants", () => {
    expect(configOf({ subMchids: ['1900000008'], subAppids: [APPID] })).toMatchObject({
      mchid: MCHID,
      subMchids: new Set(['1900000008']),
      subAppids: new Set([APPID]),
    })
    expect(configOf()).toMatchObject({ subMchids: new Set(), subAppids: new Set() })
  })

  test('keeps the key of a public key as it is', () =>
    expect(
      configOf().platformKeys.get(PUBLIC_KEY_ID)?.key.equals(createPublicKey(platform.wechatPayPublicKeyPem)),
    ).toBe(true))
})
