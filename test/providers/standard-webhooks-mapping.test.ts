import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadMerchants } from '../../src/providers/merchants.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { parseMapping } from '../../src/providers/standard-webhooks/parse-mapping.ts'
import { webhookPublicKeyText } from '../../src/providers/standard-webhooks/sign.ts'
import { BadConfiguration } from '../../src/runtime/config.ts'
import { bound, ed25519, EXAMPLE, mappingOf, NOW, payment, secret, signed } from './standard-webhooks-subject.ts'

const example = JSON.parse(EXAMPLE) as { rules: Record<string, unknown>[] } & Record<string, unknown>
const problemsOf = (file: object | string): string[] => {
  const parsed = parseMapping(typeof file === 'string' ? file : JSON.stringify(file))
  return parsed.kind === 'mapping' ? [] : parsed.problems.map(({ path, message }) => `${path.join('.')}: ${message}`)
}
const [paid = {}, failed = {}, refunded = {}] = example.rules
const withRule = (rule: object) => ({ ...example, rules: [rule] })

describe('a mapping file', () => {
  test('the documented example has no problem', () => expect(problemsOf(EXAMPLE)).toEqual([]))

  test('of the least that it can be is taken', () => {
    const least = { type: '/type', outTradeNo: '/no', rules: [{ ...paid, currency: 'CNY' }] }
    expect(problemsOf(least)).toEqual([])
    const verdict = bound([secret], mappingOf(least)).verify(signed({ ...payment, no: 'T2' }), NOW)
    expect(verdict).toMatchObject({ messages: [{ outTradeNo: 'T2', facts: [{ currency: 'CNY' }] }] })
  })

  test('every mistake is told at once, by its path', () => {
    const problems = problemsOf({
      type: 'type',
      outTradeNo: ['/a', 'b', 5],
      recipient: { account: 'x', '/live': [true, null], '/shop': 1.5 },
      ignore: ['', 'payment.succeeded', 'payment.failed'],
      extra: 1,
      rules: [
        { ...paid, amount: { major: '/a', decimals: 5 }, currency: 'cny', eventTime: 'now' },
        { ...paid, when: 'x', amount: '/data/amount', eventTime: { rfc3339: '/a', unixSec: '/b' }, paymentRef: '/p' },
        { ...refunded, amountKind: 'both', paymentRef: undefined, reference: '' },
        { ...refunded, when: [], reference: '/data/payment_id' },
        { ...failed, amount: { minor: '/a' } },
        { ...failed, when: 'y', fact: 'paid' },
        'rule',
        { ...failed, reference: '/data/~2', detail: 7 },
        { ...paid, when: 'z', amount: { minor: '/a', decimals: 2 } },
      ],
    })
    for (const expected of [
      /^: Unrecognized key: "extra"$/,
      /^type: must be a JSON Pointer such as/,
      /^outTradeNo\.1: must be a JSON Pointer/,
      /^outTradeNo\.2: .*expected string/,
      /^recipient\./,
      /^ignore\.0: /,
      /^rules\.0\.amount\.decimals: /,
      /^rules\.0\.currency: must be a currency of ISO 4217/,
      /^rules\.0\.eventTime: must be "webhook-timestamp"/,
      /^rules\.0\.when: payment\.succeeded is in ignore too$/,
      /^rules\.1\.amount: /,
      /^rules\.1\.eventTime: Unrecognized key: "rfc3339"/,
      /^rules\.1: Unrecognized key: "paymentRef"/,
      /^rules\.2\.amountKind: /,
      /^rules\.2\.paymentRef: /,
      /^rules\.2\.reference: must be a JSON Pointer/,
      /^rules\.3\.when: /,
      /^rules\.3\.reference: must be the refund's own number/,
      /^rules\.4: Unrecognized key: "amount"/,
      /^rules\.5\.fact: .*payment_succeeded/,
      /^rules\.6: .*expected object/,
      /^rules\.7\.reference: must be a JSON Pointer/,
      /^rules\.7\.detail: .*expected string/,
      /^rules\.7: states the same fact|^rules\.7\.when: payment.failed is in ignore too/,
      /^rules\.8\.amount: Unrecognized key: "decimals"/,
    ])
      expect(problems).toContainEqual(expect.stringMatching(expected))
  })

  test.for([
    ['no object', '[]'],
    ['no JSON', '{'],
    ['a name twice', EXAMPLE.replace('"type"', '"type":"/t","type"')],
    ['no rule', { ...example, rules: [] }],
    ['no order number', { ...example, outTradeNo: [] }],
    ['a pointer to the whole body', { ...example, type: '' }],
    ['a fact stated twice', { ...example, rules: [paid, paid] }],
    ['a fact stated twice by one list', withRule({ ...paid, when: ['a', 'a'] })],
    ['a currency of two letters', withRule({ ...paid, currency: 'CN' })],
    ['no currency', withRule({ ...paid, currency: undefined })],
    ['a recipient without a value', { ...example, recipient: { '/a': [] } }],
    ['a payment with a kind of amount', withRule({ ...paid, amountKind: 'individual' })],
    ['too many rules', { ...example, rules: Array.from({ length: 101 }, (_, n) => ({ ...paid, when: `t${n}` })) }],
  ] as const)('with %s is refused', ([, file]) => expect(problemsOf(file).length).toBeGreaterThan(0))

  test('a total may go by its payment, whose figure is part of the reference', () =>
    expect(problemsOf(withRule({ ...refunded, amountKind: 'cumulative', reference: '/data/payment_id' }))).toEqual([]))
})

describe('the section', () => {
  let directory = ''
  const write = (name: string, content: string | object) =>
    writeFileSync(join(directory, name), typeof content === 'string' ? content : JSON.stringify(content))
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'merchants-'))
    mkdirSync(join(directory, 'mappings'))
    write('mappings/pay.json', EXAMPLE)
    write('secret.key', `whsec_${secret.export().toString('base64')}\n`)
    write('public.key', webhookPublicKeyText(ed25519.publicKey))
  })
  afterEach(() => rmSync(directory, { recursive: true }))
  const section = { keyFiles: ['secret.key'], mappingFile: 'mappings/pay.json' }
  const problems = (change: object) => {
    write('shop.json', { 'standard-webhooks': { ...section, ...change } })
    try {
      loadMerchants(directory)
    } catch (error) {
      if (error instanceof BadConfiguration) return error.message.split('\n').slice(1)
      throw error
    }
    return []
  }
  const verdict = (keys = [secret]) =>
    loadMerchants(directory).find('standard-webhooks', 'shop')?.verify(signed(payment, keys), NOW)

  test('binds keys of both kinds, an end, a mapping and a prefix', () => {
    expect(problems({})).toEqual([])
    expect(verdict()).toMatchObject({ messages: [{ facts: [{ providerRef: 'standard-webhooks:P-1' }] }] })
    const dated = { file: 'public.key', validUntil: NOW.toISOString() }
    expect(problems({ keyFiles: ['secret.key', dated], prefix: 'pay' })).toEqual([])
    expect(verdict([ed25519.privateKey])).toMatchObject({ messages: [{ facts: [{ providerRef: 'pay:P-1' }] }] })
    expect(problems({ keyFiles: [{ ...dated, validUntil: '2026-01-02T11:04:04+08:00' }] })).toEqual([])
    expect(verdict([ed25519.privateKey])).toMatchObject({ rejection: { kind: 'bad_signature' } })
  })

  test('a prefix under which another provider states facts is refused', () => {
    const others = [...PROVIDERS.keys()].filter((name) => name !== 'standard-webhooks')
    expect(others.length).toBeGreaterThan(4)
    for (const prefix of others)
      expect(problems({ prefix }), prefix).toEqual([
        '✖ shop.json: standard-webhooks.prefix: is what references of another provider begin with: take another',
      ])
    for (const prefix of ['standard-webhooks', 'wechatpay-hk', 'my-alipay']) expect(problems({ prefix })).toEqual([])
  })

  test('says what is wrong in it and in its files, all at once and without a secret', () => {
    write('mappings/bad.json', { ...example, type: 'x', rules: [{ ...paid, reference: 'y' }] })
    write('private.key', 'whsk_dont-print-me')
    write('short.key', 'whsec_c2hvcnQ=')
    const found = problems({
      keyFiles: ['private.key', 'short.key', { file: 'absent', validUntil: 'tomorrow' }],
      mappingFile: 'mappings/bad.json',
      prefix: 'Pay:',
    }).join('\n')
    for (const expected of [
      '✖ shop.json: standard-webhooks.keyFiles.0: holds a private key',
      '✖ shop.json: standard-webhooks.keyFiles.1: must hold whsec_',
      '✖ shop.json: standard-webhooks.keyFiles.2.file: cannot read the file absent',
      '✖ shop.json: standard-webhooks.keyFiles.2.validUntil: ',
      '✖ shop.json: standard-webhooks.mappingFile.type: must be a JSON Pointer',
      '✖ shop.json: standard-webhooks.mappingFile.rules.0.reference: must be a JSON Pointer',
      '✖ shop.json: standard-webhooks.prefix: must be 1 to 32',
    ])
      expect(found).toContain(expected)
    for (const kept of ['dont-print-me', 'c2hvcnQ']) expect(found).not.toContain(kept)
  })

  test('a mapping beside the merchants would be one of them', () =>
    expect(problems({ mappingFile: 'pay.json' }).join('\n')).toContain('would be read as a merchant'))

  test.for([
    ['no key', { keyFiles: [] }, 'keyFiles'],
    ['five keys', { keyFiles: Array(5).fill('secret.key') }, 'keyFiles'],
    ['no mapping', { mappingFile: undefined }, 'mappingFile'],
    ['a mapping that is not there', { mappingFile: 'mappings/absent.json' }, 'cannot read the file'],
    ['a field that nobody knows', { secretFiles: ['secret.key'] }, 'secretFiles'],
  ] as const)('with %s is refused', ([, change, expected]) => expect(problems(change).join('\n')).toContain(expected))
})
