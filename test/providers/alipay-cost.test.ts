import type * as crypto from 'node:crypto'
import { createPublicKey, createSign, generateKeyPairSync, verify, type KeyObject } from 'node:crypto'
import { beforeEach, expect, test, vi } from 'vitest'
import type { AlipayKey } from '../../src/providers/alipay/config.ts'
import { returnFields } from '../../src/providers/alipay/notice-fields.ts'
import { parseForm } from '../../src/providers/alipay/parse-form.ts'
import { encodeForm, signReturn, type NoticeFields } from '../../src/providers/alipay/sign.ts'
import { signedContent, signedNames } from '../../src/providers/alipay/signed-content.ts'
import { APP_ID, bound, message, notice, NOW, payment, refused, request, SELLER_ID } from './alipay-subject.ts'
import { otherPrivateKey } from './vectors.ts'

vi.mock('node:crypto', async (original) => {
  const real = await original<typeof crypto>()
  return { ...real, verify: vi.fn(real.verify) }
})
const verifications = () => vi.mocked(verify).mock.calls.length
beforeEach(() => {
  vi.mocked(verify).mockClear()
})

const pairs = Array.from({ length: 4 }, () => generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey)
const bare = pairs.map((pair, index): AlipayKey => {
  return { id: `publicKeyFiles.${index}`, certSn: null, key: createPublicKey(pair), validToMs: Infinity }
})
const certified = bare.map((key, index) => ({ ...key, id: `sn-${index}`, certSn: `sn-${index}` }))
/** With an empty value and a certificate's number, both of which may be signed or not. */
const awkward: NoticeFields = { ...payment, body: '', alipay_cert_sn: 'sn-2' }
const verified = { kind: 'verified', messages: [message] }

/** Signed over all fields but those. */
function signedWithout(left: readonly string[], key: KeyObject | undefined) {
  const form = parseForm(Buffer.from(encodeForm(awkward)))
  if (form === undefined || key === undefined) throw new Error('no form or no key')
  const names = signedNames(form).filter((name) => !left.includes(name))
  const sign = createSign('RSA-SHA256').update(signedContent(form, names)).sign(key, 'base64')
  return request(encodeForm({ ...awkward, sign }))
}
const FORMS = [[], ['body'], ['alipay_cert_sn'], ['body', 'alipay_cert_sn']] as const

test('one forgery cost up to 32 RSA verifications; now 4, of a return too', () => {
  for (const keys of [bare, bare.slice(0, 3), bare.slice(0, 2), bare.slice(0, 1)]) {
    vi.mocked(verify).mockClear()
    expect(bound(APP_ID, keys).verify(notice(awkward, otherPrivateKey), NOW)).toEqual(refused('bad_signature'))
    expect(verifications()).toBe(4)
    vi.mocked(verify).mockClear()
    const trade = { appId: APP_ID, sellerId: SELLER_ID, tradeNo: '1', outTradeNo: 'T1', totalFen: 1, subject: 'x' }
    const fields = { ...returnFields({ ...trade, createdAt: NOW, paidAt: NOW }, NOW), body: '', alipay_cert_sn: 'x' }
    const query = signReturn(fields, otherPrivateKey)
    expect(bound(APP_ID, keys).verifyReturn?.(query, NOW)).toEqual(refused('bad_signature'))
    expect(verifications()).toBe(4)
  }
})

test('the tries go to the likeliest: each key that is held signs as the samples show', () => {
  for (const [index, pair] of pairs.entries()) {
    vi.mocked(verify).mockClear()
    expect(bound(APP_ID, bare).verify(signedWithout([], pair), NOW)).toEqual(verified)
    expect(verifications()).toBe(index + 1)
  }
})

test.for(FORMS)('one key, or the certificate that is named, is tried with each form: %j left out', (left) => {
  expect(bound(APP_ID, bare.slice(2, 3)).verify(signedWithout(left, pairs[2]), NOW)).toEqual(verified)
  vi.mocked(verify).mockClear()
  expect(bound(APP_ID, [...bare.slice(0, 1), ...certified]).verify(signedWithout(left, pairs[2]), NOW)).toEqual(
    verified,
  )
  expect(verifications()).toBe(FORMS.indexOf(left) + 1)
})

test('two keys, as during a change, are tried with and without empty values', () => {
  for (const left of FORMS.slice(0, 2))
    for (const pair of pairs.slice(0, 2))
      expect(bound(APP_ID, bare.slice(0, 2)).verify(signedWithout(left, pair), NOW)).toEqual(verified)
})
