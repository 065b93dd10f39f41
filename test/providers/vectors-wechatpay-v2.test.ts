import { createHash, createSecretKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiKey } from '../../src/providers/wechatpay-v2/api-key.ts'
import { createWechatpayV2 } from '../../src/providers/wechatpay-v2/create.ts'
import { parseFlatXml } from '../../src/providers/wechatpay-v2/parse-flat-xml.ts'
import { decrypt } from '../../src/providers/wechatpay-v2/read-refund.ts'
import { flatXml, sealReqInfo, signFields } from '../../src/providers/wechatpay-v2/sign.ts'
import { SIGN_TYPES, signatureOf, signedContent } from '../../src/providers/wechatpay-v2/signature.ts'
import { config, NOW, provider, request } from './wechatpay-v2-subject.ts'
import { vector } from './vectors.ts'

const document = (name: string) =>
  readFileSync(join(import.meta.dirname, '../vectors/wechat-v2/xml', `${name}.sample.xml`))
const fieldsOf = (params: Readonly<Record<string, string>>) => new Map(Object.entries(params))

test('WxJava: the documentation’s example of signing, by both algorithms', () => {
  const v = vector('wechat-v2/doc-sign') as {
    key: string
    params: Record<string, string>
    md5: string
    hmacSha256: string
  }
  const sign = (params: Record<string, string>, type: 'MD5' | 'HMAC-SHA256', key = v.key) =>
    signatureOf(signedContent(fieldsOf(params)), type, apiKey(key))
  expect(sign(v.params, 'MD5')).toBe(v.md5)
  expect(sign(v.params, 'HMAC-SHA256')).toBe(v.hmacSha256)
  for (const [type, expected] of [
    ['MD5', v.md5],
    ['HMAC-SHA256', v.hmacSha256],
  ] as const) {
    expect(sign({ ...v.params, attach: '' }, type)).toBe(expected)
    expect(sign({ ...v.params, sign: 'x' }, type)).toBe(expected)
    expect(sign(Object.fromEntries(Object.entries(v.params).reverse()), type)).toBe(expected)
    for (const change of [
      { sign_type: type },
      { body: 'Test' },
      { body: 'test ' },
      { mch_id: '10000101' },
      { extra: '1' },
    ])
      expect(sign({ ...v.params, ...change }, type)).not.toBe(expected)
    expect(sign(v.params, type, v.key.toUpperCase())).not.toBe(expected)
  }
})

test('WxJava: the example verifies as a message, and no altered one does', () => {
  const v = vector('wechat-v2/doc-sign') as {
    key: string
    params: Record<string, string>
    md5: string
    hmacSha256: string
  }
  const merchant = createWechatpayV2({
    ...config,
    mchid: '10000100',
    appids: new Set(['wxd930ea5d5a258f4f']),
    apiKeys: [apiKey(v.key)],
    signTypes: new Set(SIGN_TYPES),
  })
  const verdictOf = (params: Record<string, string>) => merchant.verify(request(flatXml('xml', params)), NOW)
  for (const sign of [v.md5, v.hmacSha256]) {
    expect(verdictOf({ ...v.params, sign })).toMatchObject({ kind: 'verified', messages: [{ facts: [] }] })
    expect(verdictOf({ ...v.params, body: 'tesT', sign })).toMatchObject({ rejection: { kind: 'bad_signature' } })
  }
  expect(verdictOf({ ...v.params, sign: v.md5.toLowerCase() })).toMatchObject({ rejection: { kind: 'bad_signature' } })
})

test('axios plugin: MD5 with and without a key appended', () => {
  const v = vector('wechat-v2/axios-hash') as { cases: { input: string; key: string; md5: string }[] }
  expect(v.cases).toHaveLength(2)
  for (const { input, key, md5 } of v.cases) {
    if (key === '') expect(createHash('md5').update(input).digest('hex')).toBe(md5)
    else {
      expect(signatureOf(input, 'MD5', apiKey(key)).toLowerCase()).toBe(md5)
      expect(signatureOf(input, 'MD5', apiKey(`${key} `)).toLowerCase()).not.toBe(md5)
      expect(signatureOf(`${input} `, 'MD5', apiKey(key)).toLowerCase()).not.toBe(md5)
    }
  }
})

test('wechatpay-php: AES-256-ECB opens under its key, and under no other', () => {
  const v = vector('wechat-v2/php-aes-ecb') as { key: string; plaintext: string; ciphertext: string }
  const key = createSecretKey(Buffer.from(v.key))
  const sealed = Buffer.from(v.ciphertext, 'base64')
  expect(decrypt(sealed, key)?.toString()).toBe(v.plaintext)
  expect(sealReqInfo(v.plaintext, { ...apiKey('any'), refundKey: key })).toBe(v.ciphertext)
  expect(decrypt(sealed, createSecretKey(Buffer.from(`${v.key.slice(0, -1)}0`)))).toBeUndefined()
  for (const length of [0, 1, 15]) expect(decrypt(sealed.subarray(0, length), key)).toBeUndefined()
  expect(decrypt(Buffer.concat([sealed, Buffer.alloc(1)]), key)).toBeUndefined()
})

test('wechatpay-php: the sample of a payment is read, and refused under any key that we hold', () => {
  const fields = parseFlatXml(document('paysuccess.notification'), 'xml')
  if (typeof fields === 'string') throw new Error(fields)
  expect(fields.size).toBe(20)
  expect(fields.get('attach')).toBe('支付测试')
  expect(fields.get('total_fee')).toBe('1')
  const v = vector('wechat-v2/doc-sign') as { key: string }
  for (const key of [v.key, '0123456789abcdef0123456789ABCDEF']) {
    const merchant = createWechatpayV2({
      ...config,
      mchid: '10000100',
      appids: new Set(['wx2421b1c4370ec43b']),
      apiKeys: [apiKey(key)],
      signTypes: new Set(SIGN_TYPES),
    })
    const sample = request(document('paysuccess.notification'))
    expect(merchant.verify(sample, NOW)).toEqual({ kind: 'refused', rejection: { kind: 'bad_signature' } })
    const signed = signFields(Object.fromEntries([...fields].filter(([name]) => name !== 'sign')), apiKey(key), 'MD5')
    expect(merchant.verify(request(flatXml('xml', signed)), NOW)).toMatchObject({
      messages: [{ outTradeNo: '1409811653', facts: [{ amountMinor: 1, currency: 'CNY' }] }],
    })
  }
})

test('wechatpay-php: what is inside a refund notification has another root', () => {
  const fields = parseFlatXml(document('refund.notification.req_info'), 'root')
  if (typeof fields === 'string') throw new Error(fields)
  expect(fields.size).toBe(13)
  expect(fields.get('refund_recv_accout')).toBe('支付用户零钱')
  expect(fields.get('success_time')).toBe('2018-11-19 16:24:13')
  expect(parseFlatXml(document('refund.notification.req_info'), 'xml')).toBeTypeOf('string')
})

test.for([
  ['invalid.xxe_injection', 'a prolog or instruction'],
  ['invalid.bad_entity', 'a prolog or instruction'],
  ['fragment_injection', 'no <xml> at the beginning'],
] as const)('wechatpay-php: %s is refused before anything else', ([name, detail]) => {
  expect(provider.verify(request(document(name)), NOW)).toEqual({
    kind: 'refused',
    rejection: { kind: 'malformed', field: 'body', detail },
  })
  const bare = document(name)
    .toString()
    .replace(/^<\?xml.*\?>\s*/, '')
    .replaceAll(/(<\/?)(foo|movies|batchjob)>/g, '$1xml>')
  expect(provider.verify(request(bare), NOW)).toMatchObject({ rejection: { kind: 'malformed', field: 'body' } })
})
