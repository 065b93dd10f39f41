import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadMerchants } from '../../src/providers/merchants.ts'
import { BadConfiguration } from '../../src/runtime/config.ts'
import { platform } from './vectors.ts'

let directory = ''
const write = (name: string, content: string | object) =>
  writeFileSync(join(directory, name), typeof content === 'string' ? content : JSON.stringify(content))
const problems = () => {
  try {
    loadMerchants(directory)
  } catch (error) {
    if (error instanceof BadConfiguration) return error.message.split('\n').slice(1)
    throw error
  }
  return []
}
const OTHER = `whsec_${'b'.repeat(32)}`
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'merchants-'))
  write('platform.crt', platform.wechatPayCertificatePem)
  write('platform.pub', platform.wechatPayPublicKeyPem)
  write('alipay.pub', platform.wechatPayPublicKeyPem.replace(/-----.*-----|\n/g, ''))
  write('apiv3', `${platform.apiV3Key}\n`)
  write('worker', `${SECRET}\n`)
})
afterEach(() => rmSync(directory, { recursive: true }))

const wechatpay = {
  mchid: '1900000001',
  appids: ['wx0000000000000001'],
  apiV3KeyFiles: ['apiv3'],
  platformCertificates: [{ certificateFile: 'platform.crt' }],
  publicKeys: [{ publicKeyId: 'PUB_KEY_ID_0100000000000000000000000000000001', publicKeyFile: 'platform.pub' }],
}
const alipay = {
  appIds: ['2021000000000001'],
  sellerIds: ['2088000000000001'],
  publicKeyFiles: ['alipay.pub'],
  certificateFiles: ['platform.crt'],
}
const worker = { secretFiles: ['worker'] }

describe('merchants', () => {
  test('are found by name, with the providers that they use and no others', () => {
    write('acme.json', { wechatpay, alipay, worker })
    write('books.worker', OTHER)
    write('books.json', { worker: { secretFiles: ['books.worker'] } })
    const merchants = loadMerchants(directory)
    expect(merchants.names).toEqual(['acme', 'books'])
    for (const provider of ['wechatpay', 'alipay', 'worker']) expect(merchants.find(provider, 'acme')).toBeDefined()
    expect(merchants.find('worker', 'books')).toBeDefined()
    for (const [provider, merchant] of [
      ['alipay', 'books'],
      ['alipay', 'nobody'],
      ['stripe', 'acme'],
      ['constructor', 'acme'],
      ['alipay', '__proto__'],
    ] as const)
      expect(merchants.find(provider, merchant)).toBeUndefined()
  })

  test('every mistake in every file is told at once, by file and field', () => {
    write('acme.json', {
      wechatpay: { ...wechatpay, mchid: 'x', appids: [], apiV3KeyFiles: ['worker', 'absent'] },
      alipay: { ...alipay, appIds: ['2021'], publicKeyFiles: ['apiv3'], extra: 1 },
      paypal: {},
    })
    write('Books.json', { worker: { secretFiles: ['apiv3'] } })
    write('empty.json', {})
    write('none.json', '{"worker": "whsec_dont-print-me"')
    const found = problems().join('\n')
    for (const expected of [
      '✖ Books.json: a merchant is',
      '✖ Books.json: worker.secretFiles.0: must hold whsec_',
      '✖ acme.json: wechatpay.mchid: must be the merchant number',
      '✖ acme.json: wechatpay.appids: ',
      '✖ acme.json: wechatpay.apiV3KeyFiles.0: must hold exactly 32 bytes',
      '✖ acme.json: wechatpay.apiV3KeyFiles.1: cannot read the file absent',
      '✖ acme.json: alipay.appIds.0: must be 16 digits',
      '✖ acme.json: alipay.publicKeyFiles.0: must hold a public key',
      '✖ acme.json: alipay: Unrecognized key: "extra"',
      '✖ acme.json: Unrecognized key: "paypal"',
      '✖ empty.json: must have a section',
      '✖ none.json: is no valid JSON',
    ])
      expect(found).toContain(expected)
    for (const secret of [SECRET, platform.apiV3Key, 'dont-print-me']) expect(found).not.toContain(secret)
  })

  test.for([
    ['no key at all', { ...wechatpay, platformCertificates: [], publicKeys: [] }, 'must name a key'],
    [
      'a serial in decimal',
      { ...wechatpay, publicKeys: [{ publicKeyId: '389173', publicKeyFile: 'platform.pub' }] },
      'PUB_KEY_ID_',
    ],
    [
      'one key twice',
      { ...wechatpay, publicKeys: [...wechatpay.publicKeys, ...wechatpay.publicKeys] },
      'the same serial',
    ],
    [
      'a private key',
      { ...wechatpay, publicKeys: [{ publicKeyId: 'PUB_KEY_ID_1', publicKeyFile: 'private' }] },
      'holds a private key',
    ],
    [
      'a weak key',
      { ...wechatpay, publicKeys: [{ publicKeyId: 'PUB_KEY_ID_1', publicKeyFile: 'weak' }] },
      'at least 2048 bits',
    ],
    [
      'a key that is not RSA',
      { ...wechatpay, publicKeys: [{ publicKeyId: 'PUB_KEY_ID_1', publicKeyFile: 'ec' }] },
      'must hold an RSA key',
    ],
    [
      'an RSA key that is made for other signatures',
      { ...wechatpay, publicKeys: [{ publicKeyId: 'PUB_KEY_ID_1', publicKeyFile: 'pss' }] },
      'must hold an RSA key',
    ],
    ['a key for a certificate', { ...wechatpay, platformCertificates: [{ certificateFile: 'platform.pub' }] }, 'X.509'],
    ['too many APIv3 keys', { ...wechatpay, apiV3KeyFiles: Array(5).fill('apiv3') }, 'apiV3KeyFiles'],
  ] as const)('refuse %s', ([, section, problem]) => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1_024 })
    write('weak', weak.publicKey.export({ type: 'spki', format: 'pem' }).toString())
    write('private', weak.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    write('ec', ec.publicKey.export({ type: 'spki', format: 'pem' }).toString())
    const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2_048 })
    write('pss', pss.publicKey.export({ type: 'spki', format: 'pem' }).toString())
    write('acme.json', { wechatpay: section })
    expect(problems().join('\n')).toContain(problem)
  })

  const loaded = 'is not refused'
  test.for([
    [
      '32 bytes that are no UTF-8, which lossily read are 10 × U+FFFD and two',
      Buffer.from('ff'.repeat(10) + '6162', 'hex'),
      'is no UTF-8 text',
    ],
    ['what such a reader saved again', Buffer.from(`${'\ufffd'.repeat(10)}ab`), 'holds a control character, U+FFFD'],
    ['32 spaces', Buffer.alloc(32, ' '), 'holds no key'],
    ['nothing', Buffer.alloc(0), 'holds no key'],
    ['a NUL', Buffer.from(`${'a'.repeat(31)}\0`), 'holds a control character'],
    ['a second line', Buffer.from(`${'a'.repeat(15)}\n${'a'.repeat(16)}`), 'holds a control character'],
    ['a byte order mark', Buffer.from(`\ufeff${'a'.repeat(29)}`), 'holds a control character'],
    ['a key of 32 letters', Buffer.alloc(32, 'a'), loaded],
  ] as const)('a secret that holds %s', ([, bytes, problem]) => {
    writeFileSync(join(directory, 'key'), bytes)
    write('acme.json', {
      wechatpay: { ...wechatpay, apiV3KeyFiles: ['key'] },
      'wechatpay-v2': { mchid: wechatpay.mchid, appids: wechatpay.appids, apiKeyFiles: ['key'] },
    })
    expect(problems()).toEqual(
      problem === loaded
        ? []
        : ['wechatpay.apiV3KeyFiles.0', 'wechatpay-v2.apiKeyFiles.0'].map(
            (field) => expect.stringContaining(`${field}: ${problem}`) as string,
          ),
    )
  })

  test.each([1, 2, 65_536])('an RSA key whose exponent is %i is refused: with 1 anybody can sign', (exponent) => {
    const jwk = generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey.export({ format: 'jwk' })
    const e = Buffer.from(exponent.toString(16).padStart(6, '0'), 'hex')
    const weak = createPublicKey({ key: { ...jwk, e: e.toString('base64url') }, format: 'jwk' })
    write('e', weak.export({ type: 'spki', format: 'pem' }).toString())
    write('acme.json', { alipay: { ...alipay, publicKeyFiles: ['e'] } })
    expect(problems()).toEqual([expect.stringContaining('with an odd exponent above 1')])
  })

  test('a section or a field twice is refused: two readers would take different ones', () => {
    const section = JSON.stringify(worker)
    for (const text of [
      `{"worker":{"secretFiles":["absent"]},"worker":${section}}`,
      `{"worker":${section},"w\\u006frker":${section}}`,
      `{"worker":{"secretFiles":["absent"],"secretFiles":["worker"]}}`,
    ]) {
      write('acme.json', text)
      expect(problems()).toEqual([expect.stringContaining('names a field twice')])
    }
  })

  describe('one secret in two places is refused, with both: its messages name no merchant', () => {
    const mapping = {
      ...{ type: '/type', outTradeNo: '/order' },
      rules: [{ when: 'closed', fact: 'provider_closed', reference: 'webhook-id', eventTime: 'webhook-timestamp' }],
    }
    const sections = {
      worker,
      'standard-webhooks': { keyFiles: ['worker'], mappingFile: 'mapping' },
      stripe: { secretFiles: [{ file: 'worker', validUntil: '2026-01-01T00:00:00Z' }] },
    }
    const names = ['worker', 'standard-webhooks', 'stripe'] as const
    beforeEach(() => write('mapping', mapping))

    test.for(names)('%s of two merchants', (name) => {
      write('acme.json', { [name]: sections[name] })
      write('books.json', { [name]: sections[name] })
      expect(problems()).toEqual([
        expect.stringContaining(`✖ books.json: ${name}: has the same secret as ${name} of acme.json`),
      ])
      expect(problems().join()).not.toContain(SECRET)
    })

    test.for(
      names.flatMap((one) => names.map((other) => [one, other] as const)).filter(([one, other]) => one !== other),
    )('%s and %s of one merchant', ([one, other]) => {
      write('acme.json', { [one]: sections[one], [other]: sections[other] })
      expect(problems()).toEqual([expect.stringContaining('has the same secret as')])
    })

    test('spelled with its padding and without', () => {
      const bytes = Buffer.alloc(25, 7).toString('base64')
      write('padded', `whsec_${bytes}`)
      write('bare', `whsec_${bytes.replace(/=+$/, '')}`)
      write('acme.json', { worker: { secretFiles: ['padded'] } })
      write('books.json', { worker: { secretFiles: ['bare'] } })
      expect(problems()).toEqual([expect.stringContaining('has the same secret as worker of acme.json')])
    })

    test('twice in one section is one place, and the keys of WeChat Pay and Alipay may be shared', () => {
      write('acme.json', { wechatpay, alipay, worker: { secretFiles: ['worker', 'worker'] } })
      write('books.json', { wechatpay, alipay })
      expect(problems()).toEqual([])
    })
  })

  test('an Alipay section without a key says whose is needed', () => {
    write('acme.json', { alipay: { appIds: alipay.appIds, sellerIds: alipay.sellerIds } })
    expect(problems()).toEqual([expect.stringContaining("Alipay's key (not the app's own)")])
  })

  test('a directory that is empty or absent is a mistake too', () => {
    expect(problems()).toEqual([expect.stringContaining('no <merchant>.json there')])
    expect(() => loadMerchants(join(directory, 'absent'))).toThrow('MERCHANTS_DIR must name one')
  })
})
