import { generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { certSnOf } from '../../src/providers/alipay/cert-sn.ts'
import { loadMerchants } from '../../src/providers/merchants.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { BadConfiguration } from '../../src/runtime/config.ts'
import { selfSigned } from '../../src/simulator/certificate.ts'
import { APP_ID, message, notice, NOW, payment, refused, SELLER_ID } from './alipay-subject.ts'

const verified = { kind: 'verified', messages: [message] }
const [older, newer, bare, app] = Array.from({ length: 4 }, () =>
  generateKeyPairSync('rsa', { modulusLength: 2_048 }),
) as [Pair, Pair, Pair, Pair]
type Pair = ReturnType<typeof generateKeyPairSync> & { publicKey: KeyObject; privateKey: KeyObject }

/** The older certificate ends a day after the notice; the newer one lives on. */
const END = new Date(NOW.getTime() + 86_400_000)
const LATER = new Date(END.getTime() + 1_000)
const certificateOf = ({ privateKey }: Pair, serial: string, to: Date) =>
  selfSigned(privateKey, 'Ant Financial', Buffer.from(serial.padEnd(40, '0'), 'hex'), new Date('2020-01-01'), to)
const OLDER = certificateOf(older, '01', END)
const NEWER = certificateOf(newer, '02', new Date('2034-01-01'))
const snOf = (pem: string) => certSnOf(new X509Certificate(pem))

let directory = ''
const write = (name: string, content: string) => {
  writeFileSync(join(directory, name), content)
}
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'alipay-keys-'))
  write('older.crt', OLDER)
  write('newer.crt', NEWER)
  for (const [name, { publicKey }] of Object.entries({ bare, older, app })) {
    write(`${name}.pem`, publicKey.export({ type: 'spki', format: 'pem' }).toString())
    write(`${name}.txt`, `${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}\n`)
  }
})
afterAll(() => {
  rmSync(directory, { recursive: true })
})

const ids = { appIds: [APP_ID], sellerIds: [SELLER_ID] }
function load(section: object): Provider {
  write('shop.json', JSON.stringify({ alipay: { ...ids, ...section } }))
  const provider = loadMerchants(directory).find('alipay', 'shop')
  if (provider === undefined) throw new Error('not loaded')
  return provider
}
function problemsOf(section: object): string {
  try {
    load(section)
  } catch (error) {
    if (error instanceof BadConfiguration) return error.message
    throw error
  }
  return ''
}
const signedBy = ({ privateKey }: Pair, certSn?: string) =>
  notice(certSn === undefined ? payment : { ...payment, alipay_cert_sn: certSn }, privateKey)

describe('in certificate mode', () => {
  let provider: Provider
  beforeEach(() => {
    provider = load({ certificateFiles: ['older.crt', 'newer.crt'], publicKeyFiles: ['bare.pem'] })
  })

  test('a notice that names no certificate may be of any key held', () => {
    for (const pair of [older, newer, bare]) expect(provider.verify(signedBy(pair), NOW)).toEqual(verified)
    expect(provider.verify(signedBy(app), NOW)).toEqual(refused('bad_signature'))
  })

  test('the certificate that is named alone may have signed', () => {
    expect(provider.verify(signedBy(older, snOf(OLDER)), NOW)).toEqual(verified)
    expect(provider.verify(signedBy(newer, snOf(NEWER)), NOW)).toEqual(verified)
    expect(provider.verify(signedBy(newer, snOf(OLDER)), NOW)).toEqual(refused('bad_signature'))
    expect(provider.verify(signedBy(bare, snOf(OLDER)), NOW)).toEqual(refused('bad_signature'))
    expect(provider.verify(signedBy(older, ''), NOW)).toEqual(verified)
  })

  test('one that is not held, or has ended, is our trouble: it comes again', () => {
    const unknown = 'f'.repeat(32)
    for (const [certSn, at] of [
      [unknown, NOW],
      [snOf(OLDER).toUpperCase(), NOW],
      [snOf(OLDER), LATER],
    ] as const)
      expect(provider.verify(signedBy(older, certSn), at)).toEqual({
        kind: 'refused',
        rejection: { kind: 'unknown_key', keyId: certSn },
      })
    expect(provider.verify(signedBy(older), LATER)).toEqual(refused('bad_signature'))
    expect(provider.verify(signedBy(newer), LATER)).toEqual(verified)
  })

  test('a certificate’s number of any length stood whole in the refusal', () => {
    expect(provider.verify(signedBy(older, 'f'.repeat(5_000)), NOW)).toEqual({
      kind: 'refused',
      rejection: { kind: 'unknown_key', keyId: 'f'.repeat(64) },
    })
  })

  test('what explains a refusal knows certificates by their numbers, and public keys by their place', () => {
    const { inspect } = provider
    expect(inspect.keys.map(({ id }) => id)).toEqual(['publicKeyFiles.0', snOf(OLDER), snOf(NEWER)])
    expect(inspect.keys.map(({ validToMs }) => validToMs)).toEqual([
      Infinity,
      Math.floor(END.getTime() / 1_000) * 1_000,
      Date.parse('2034-01-01'),
    ])
    const named = signedBy(newer, snOf(NEWER))
    expect(inspect.namedKey(named)).toBe(snOf(NEWER))
    expect(inspect.namedKey(signedBy(newer))).toBeUndefined()
    expect(inspect.keys.filter(({ id }) => inspect.verifies(named, id)).map(({ id }) => id)).toEqual([snOf(NEWER)])
  })
})

describe('in public-key mode', () => {
  test('a number is not looked at, as bare keys have none', () => {
    for (const publicKeyFiles of [['bare.pem'], ['bare.txt']]) {
      const provider = load({ publicKeyFiles })
      for (const certSn of [undefined, snOf(OLDER)])
        expect(provider.verify(signedBy(bare, certSn), NOW)).toEqual(verified)
      expect(provider.inspect.namedKey(signedBy(bare, snOf(OLDER)))).toBeUndefined()
    }
  })

  test('a key with an end verifies to its last millisecond, and nothing after it', () => {
    const validUntil = '2024-05-21T00:00:00+08:00'
    const provider = load({ publicKeyFiles: [{ file: 'older.pem', validUntil }, 'bare.pem'] })
    const end = Date.parse(validUntil)
    expect(provider.verify(signedBy(older), new Date(end))).toEqual(verified)
    expect(provider.verify(signedBy(older), new Date(end + 1))).toEqual(refused('bad_signature'))
    expect(provider.verify(signedBy(bare), new Date(end + 1))).toEqual(verified)
    const alone = load({ publicKeyFiles: [{ file: 'older.pem', validUntil }] })
    expect(alone.verify(signedBy(older), new Date(end + 1))).toMatchObject({ rejection: { kind: 'unknown_key' } })
  })

  test('a certificate ends where it says, or sooner where the file says so', () => {
    const provider = load({
      certificateFiles: [
        { file: 'older.crt', validUntil: '2034-01-01T00:00:00Z' },
        { file: 'newer.crt', validUntil: END.toISOString() },
      ],
    })
    for (const pair of [older, newer]) {
      expect(provider.verify(signedBy(pair), NOW)).toEqual(verified)
      expect(provider.verify(signedBy(pair), LATER)).toMatchObject({ rejection: { kind: 'unknown_key' } })
    }
  })
})

describe('a mistake in the section is told at start', () => {
  test.for([
    [
      'the app’s own key as Alipay’s',
      { publicKeyFiles: ['bare.pem', 'app.txt'], appPublicKeyFile: 'app.pem' },
      'publicKeyFiles.1: is the app',
    ],
    [
      'the app’s own certificate',
      { certificateFiles: ['older.crt'], appPublicKeyFile: 'older.txt' },
      'certificateFiles.0: is the app',
    ],
    [
      'the app’s certificate file',
      { certificateFiles: ['older.crt'], appPublicKeyFile: 'older.crt' },
      'certificateFiles.0: is the app',
    ],
    [
      'a certificate in place of a public key, which had no end then',
      { publicKeyFiles: ['bare.pem', 'newer.crt'] },
      'publicKeyFiles.1: holds a certificate, whose end would not be known here: name it in certificateFiles',
    ],
    [
      'the same with an end of our own',
      { publicKeyFiles: [{ file: 'newer.crt', validUntil: '2034-01-01T00:00:00Z' }] },
      'publicKeyFiles.0.file: holds a certificate',
    ],
    [
      'one certificate twice',
      { certificateFiles: ['older.crt', 'older.crt'] },
      'certificateFiles: names the same certificate twice',
    ],
    ['no seller', { sellerIds: [], publicKeyFiles: ['bare.pem'] }, 'sellerIds: must name the seller by number'],
    [
      'a seller by e-mail alone',
      { sellerIds: [], sellerEmails: ['shop@example.com'], publicKeyFiles: ['bare.pem'] },
      'sellerIds: must name the seller by number',
    ],
    [
      'a seller by e-mail alone, the number left out',
      { sellerIds: undefined, sellerEmails: ['shop@example.com'], publicKeyFiles: ['bare.pem'] },
      'sellerIds: must name the seller by number',
    ],
    ['no key', {}, "must name Alipay's key (not the app's own)"],
    ['too many keys', { publicKeyFiles: Array<string>(5).fill('bare.pem') }, 'publicKeyFiles'],
    [
      'too many keys of both kinds',
      { publicKeyFiles: Array<string>(3).fill('bare.pem'), certificateFiles: ['older.crt', 'newer.crt'] },
      'names 5 keys, and each message is tried with 4 at most',
    ],
    ['an end that is no time', { publicKeyFiles: [{ file: 'bare.pem', validUntil: 'soon' }] }, 'publicKeyFiles.0'],
  ] as const)('%s', ([, section, problem]) => expect(problemsOf(section)).toContain(problem))

  test('and what is right is taken: the app’s key beside Alipay’s, an e-mail beside a number', () => {
    expect(problemsOf({ publicKeyFiles: ['bare.pem'], appPublicKeyFile: 'app.pem' })).toBe('')
    expect(problemsOf({ sellerEmails: ['shop@example.com'], publicKeyFiles: ['bare.pem'] })).toBe('')
  })
})
