import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadQueryClients } from '../../src/providers/query-clients.ts'
import { BadConfiguration } from '../../src/runtime/config.ts'
import { createKeys } from '../../src/simulator/create-keys.ts'

const directory = mkdtempSync(join(tmpdir(), 'query-clients-'))
const [merchantsDir, queryKeysDir] = [join(directory, 'merchants'), join(directory, 'queries')]
type Sections = Record<string, Record<string, unknown>>
const read = (where: string) => JSON.parse(readFileSync(join(where, 'shop.json'), 'utf8')) as Sections
const write = (where: string, sections: unknown) => writeFileSync(join(where, 'shop.json'), JSON.stringify(sections))
let [queries, merchant]: Sections[] = []
beforeAll(async () => {
  const where = { merchantsDir, sendersDir: join(directory, 'senders'), queriesDir: queryKeysDir }
  await createKeys(where, ['shop'], new Date('2026-03-04T05:06:07Z'))
  ;[queries, merchant] = [read(queryKeysDir), read(merchantsDir)]
})
afterAll(() => rmSync(directory, { recursive: true }))
beforeEach(() => {
  write(queryKeysDir, queries)
  write(merchantsDir, merchant)
})

const load = () => loadQueryClients({ queryKeysDir, merchantsDir })
function problems(): string[] {
  try {
    load()
  } catch (error) {
    if (error instanceof BadConfiguration) return error.message.split('\n').slice(1)
    throw error
  }
  return []
}
/** Of a section with that field changed. */
function saidOf(provider: string, change: object, where: 'queries' | 'merchants' = 'queries'): string[] {
  const all = structuredClone((where === 'queries' ? queries : merchant) ?? {})
  all[provider] = { ...all[provider], ...change }
  write(where === 'queries' ? queryKeysDir : merchantsDir, all)
  return problems()
}

test('each section becomes a client; the other providers of a merchant are not asked', () => {
  const clients = load()
  expect([...clients.keys()]).toEqual(['shop'])
  expect([...(clients.get('shop')?.keys() ?? [])]).toEqual(['wechatpay', 'wechatpay-v2', 'alipay', 'stripe'])
  write(queryKeysDir, { alipay: queries?.['alipay'] })
  expect([...(load().get('shop')?.keys() ?? [])]).toEqual(['alipay'])
})

test('all that is wrong is said at once, at its field, and no secret with it', () => {
  const secrets: string[] = []
  loadQueryClients({ queryKeysDir, merchantsDir, onSecret: (secret) => secrets.push(secret) })
  expect(secrets.some((secret) => secret.includes('PRIVATE KEY'))).toBe(true)
  expect(secrets).toContain('sk_test_shop')
  writeFileSync(join(queryKeysDir, 'weak.pem'), pemOf(1_024))
  writeFileSync(join(queryKeysDir, 'torn.pem'), (secrets[0] ?? '').slice(0, 300))
  writeFileSync(join(queryKeysDir, 'hook.key'), 'whsec_0123456789abcdef')
  write(queryKeysDir, {
    wechatpay: { serial: 'not hex', privateKeyFile: 'weak.pem', baseUrl: 'http://user:hunter2@api.example' },
    'wechatpay-v2': { appid: 'wx9999999999999999', signType: 'MD5' },
    alipay: { privateKeyFile: 'torn.pem', appId: '1', extra: 1, requestsPerSec: 0 },
    stripe: { secretKeyFile: 'hook.key', timeoutMs: 1 },
  })
  write(merchantsDir, { ...merchant, stripe: { secretFiles: ['none'] } })
  const said = problems()
  const wanted = [
    /^✖ shop\.json: wechatpay\.baseUrl: must be an https address/,
    /^✖ shop\.json: wechatpay\.privateKeyFile: must hold an RSA key of at least 2048 bits/,
    /^✖ shop\.json: wechatpay\.serial: must be the serial/,
    /^✖ shop\.json: alipay\.privateKeyFile: must hold a private key, as PEM or as base64 of its DER form$/,
    /^✖ shop\.json: alipay\.requestsPerSec: /,
    /^✖ shop\.json: alipay: .*"extra"/,
    /^✖ shop\.json: stripe\.secretKeyFile: must hold an API key of the account/,
    /^✖ shop\.json: stripe\.timeoutMs: /,
    /^✖ shop\.json in MERCHANTS_DIR: stripe\.secretFiles\.0: cannot read the file none/,
  ]
  for (const line of wanted) expect(said).toContainEqual(expect.stringMatching(line))
  expect(said).toHaveLength(wanted.length)
  const text = said.join('\n')
  for (const secret of [...secrets, 'hunter2', 'whsec_0123456789abcdef'])
    for (const line of secret.split('\n')) if (line.length > 6) expect(text).not.toContain(line)
})

const pemOf = (modulusLength: number) =>
  generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

describe('an address', () => {
  test.each([
    'https://api.mch.weixin.qq.com',
    'https://proxy.example:8443/wechat/',
    'http://127.0.0.1:8090',
    'http://[::1]:1',
    'http://localhost',
  ])('%s will do', (baseUrl) => expect(saidOf('wechatpay', { baseUrl })).toEqual([]))
  test.each([
    ...[
      'http://api.mch.weixin.qq.com',
      'http://127.0.0.1.example',
      'http://10.0.0.1',
      'ftp://127.0.0.1',
      'file:///etc',
      '',
    ],
    ...[
      'https://user@host.example',
      'https://host.example/?key=1',
      'https://host.example/#a',
      'http://localhost.example',
    ],
  ])('%s will not', (baseUrl) => {
    expect(saidOf('wechatpay', { baseUrl })).toEqual([
      expect.stringContaining('wechatpay.baseUrl: must be an https address'),
    ])
  })
})

describe('the two sides must fit:', () => {
  const subMchids = ['1900000003', '1900000004']
  const certificate = () => [(merchant?.['wechatpay']?.['platformCertificates'] as { certificateFile: string }[])[0]]
  const cases: readonly (readonly [string, () => string[], string])[] = [
    [
      'several sub-merchants, none named',
      () => saidOf('wechatpay', { subMchids }, 'merchants'),
      'wechatpay.subMchid: must be set: MERCHANTS_DIR has 2 subMchids',
    ],
    [
      'a sub-merchant of nobody',
      () => saidOf('wechatpay-v2', { subMchid: '1900000005' }),
      'wechatpay-v2.subMchid: is not among subMchids',
    ],
    [
      'several apps, none named',
      () => saidOf('alipay', { appIds: ['2021000000000001', '2021000000000002'] }, 'merchants'),
      'alipay.appId: must be set',
    ],
    [
      'an algorithm that is not taken',
      () => saidOf('wechatpay-v2', { signType: 'MD5' }),
      'wechatpay-v2.signType: is not among signTypes',
    ],
    [
      'another app',
      () => saidOf('wechatpay-v2', { appid: 'wx9999999999999999' }),
      'wechatpay-v2.appid: is not among appids',
    ],
    ['no serial', () => saidOf('wechatpay', { serial: undefined }), 'wechatpay.serial: must be set'],
    [
      'numbers that cannot be searched for',
      () => saidOf('stripe', { outTradeNo: ['/transfer_group'] }, 'merchants'),
      'stripe: cannot be used: no outTradeNo',
    ],
    [
      'an account that is not ours',
      () => saidOf('stripe', { account: 'acct_1' }),
      'stripe.account: is not among accounts',
    ],
    [
      'half of the certificates',
      () => {
        mkdirSync(queryKeysDir, { recursive: true })
        const [one] = certificate()
        const pem = readFileSync(join(merchantsDir, one?.certificateFile ?? ''), 'utf8')
        writeFileSync(join(queryKeysDir, 'app.crt'), pem)
        return saidOf('alipay', { appCertificateFile: 'app.crt' })
      },
      'alipay.rootCertificateFile: must be set together',
    ],
  ]
  test.each(cases)('%s', (_what, said, line) => {
    expect(said().join('\n')).toContain(`✖ shop.json: ${line}`)
  })

  test('a merchant or provider that MERCHANTS_DIR does not know', () => {
    write(merchantsDir, { ...merchant, stripe: undefined })
    expect(problems()).toEqual([expect.stringContaining('shop.json: stripe: MERCHANTS_DIR has no such section')])
    rmSync(join(merchantsDir, 'shop.json'))
    expect(problems()).toEqual(['✖ shop.json in MERCHANTS_DIR: cannot be read'])
  })
})

test('a key may be PEM or base64 of either DER', () => {
  const key = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
  for (const type of ['pkcs1', 'pkcs8'] as const) {
    writeFileSync(join(queryKeysDir, 'k'), key.export({ type, format: 'pem' }))
    expect(saidOf('alipay', { privateKeyFile: 'k' })).toEqual([])
    writeFileSync(join(queryKeysDir, 'k'), key.export({ type, format: 'der' }).toString('base64'))
    expect(saidOf('alipay', { privateKeyFile: 'k' })).toEqual([])
  }
})

test('a directory without files, and none at all', () => {
  const nowhere = join(directory, 'nowhere')
  expect(() => loadQueryClients({ queryKeysDir: nowhere, merchantsDir })).toThrow(/QUERY_KEYS_DIR must name one/)
  mkdirSync(nowhere)
  expect(() => loadQueryClients({ queryKeysDir: nowhere, merchantsDir })).toThrow(/no <merchant>\.json there/)
  writeFileSync(join(nowhere, 'A B.json'), '{}')
  writeFileSync(join(nowhere, 'shop.json'), '{}')
  expect(() => loadQueryClients({ queryKeysDir: nowhere, merchantsDir })).toThrow(
    /A B\.json: a merchant is[\s\S]*shop\.json: must have a section for at least one provider/,
  )
})
