import { createSecretKey, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Fact } from '../../src/orders/model.ts'
import type { VerifiedMessage } from '../../src/providers/provider.ts'
import { createStandardWebhooks } from '../../src/providers/standard-webhooks/create.ts'
import { webhookPublicKey, webhookSecret } from '../../src/providers/standard-webhooks/keys.ts'
import { webhookPublicKeyText } from '../../src/providers/standard-webhooks/sign.ts'
import { passesSharedSuite } from './shared-suite.ts'
import {
  bound,
  ed25519,
  EXAMPLE,
  factsOf,
  mappingOf,
  newer,
  NOW,
  payment,
  provider,
  refund,
  secret,
  signed,
  stranger,
  total,
  verdictOf,
  withData,
} from './standard-webhooks-subject.ts'

const fact = (values: Partial<Fact>): Fact => ({
  eventType: 'payment_succeeded',
  providerRef: 'standard-webhooks:P-1',
  paymentRef: null,
  amountMinor: 1_990,
  currency: 'CNY',
  amountKind: 'none',
  eventTimeMs: Date.parse('2026-01-02T03:04:00.5Z'),
  detail: null,
  ...values,
})
const message = (messageType: string, ...facts: Partial<Fact>[]): VerifiedMessage => ({
  ...{ outTradeNo: 'T1', messageType, messageId: 'msg_1' },
  facts: facts.map(fact),
})
const P1 = 'standard-webhooks:P-1'
const ofPayment = { paymentRef: P1, amountMinor: 0, currency: '', eventTimeMs: NOW.getTime() }

/** A message with the value at a pointer changed. */
const withField = (pointer: string, value: unknown) => {
  const [, outer = '', inner] = pointer.split('/')
  return inner === undefined ? { ...payment, [outer]: value } : withData(payment, { [inner]: value })
}

const subjectFor = (name: string, signer: KeyObject, forger: KeyObject) =>
  passesSharedSuite({
    name,
    now: NOW,
    provider,
    otherMerchant: bound([stranger]),
    otherMerchantRefuses: 'bad_signature',
    genuine: signed(payment, [signer]),
    message: message('payment.succeeded', {}),
    forged: signed(payment, [forger]),
    signsTime: true,
    headers: { timestamp: 'webhook-timestamp', signature: 'webhook-signature' },
    bytesHaveSpellings: false,
    signed: (rawBody) => signed(rawBody, [signer]),
    withField: (field, value) => signed(withField(field, value), [signer]),
    identities: ['/type', '/data/out_trade_no', '/data/payment_id'],
    wrongTypes: [
      ['/type', 5],
      ['/type', undefined],
      ['/data/out_trade_no', {}],
      ['/data/out_trade_no', 1.5],
      ['/data/out_trade_no', true],
      ['/data/payment_id', undefined],
      ['/data/payment_id', null],
      ['/data/payment_id', -1],
      ['/data/payment_id', 'P-1/refunded/5'],
      ['/data/amount', undefined],
      ['/data/amount', ''],
      ['/data/amount', '19.900'],
      ['/data/amount', '-1'],
      ['/data/amount', '+1'],
      ['/data/amount', '1e3'],
      ['/data/amount', '1,990'],
      ['/data/amount', '01'],
      ['/data/amount', ' 1'],
      ['/data/amount', '.5'],
      ['/data/amount', '5.'],
      ['/data/amount', 19.905],
      ['/data/amount', 1e21],
      ['/data/amount', '90071992547409.91'],
      ['/data/amount', true],
      ['/data/currency', 'cn'],
      ['/data/currency', 'aß'],
      ['/data/currency', 156],
      ['/data/paid_at', undefined],
      ['/data/paid_at', 1_767_323_040],
      ['/data/paid_at', '2026-01-02 03:04:00Z'],
      ['/data/paid_at', '2026-01-02T03:04:00'],
      ['/data/paid_at', '2026-02-30T03:04:00Z'],
      ['/data/paid_at', '2026-01-02T24:00:00Z'],
      ['/data/paid_at', '2256-01-01T00:00:00Z'],
      ['/data/paid_at', '1969-12-31T23:59:59Z'],
    ],
    duplicateField: signed(JSON.stringify(payment).replace('"amount"', '"amount":"0.01","amount"'), [signer]),
    unmapped: [
      ['a message of another kind', signed({ ...payment, type: 'invoice.paid' }, [signer]), 'T1'],
      ['one without an order', signed({ type: 'invoice.paid' }, [signer]), null],
      ['a payment without an order', signed(withData(payment, { out_trade_no: undefined }), [signer]), null],
      ['one whose order is null', signed(withData(payment, { out_trade_no: null }), [signer]), null],
    ],
    noEffect: [['a kind to be ignored', signed({ ...payment, type: 'payment.pending' }, [signer]), 'T1']],
    kinds: [
      [
        'a failed payment',
        signed({ ...withData(payment, { reason: 'card\0declined' }), type: 'payment.failed' }, [signer]),
        [
          message('payment.failed', {
            ...{ eventType: 'payment_failed', amountMinor: 0, currency: '', eventTimeMs: NOW.getTime() },
            detail: 'card declined',
          }),
        ],
      ],
      [
        'a refund',
        signed(refund, [signer]),
        [
          message('refund.succeeded', {
            ...{
              eventType: 'refund_succeeded',
              providerRef: 'standard-webhooks:R-1',
              paymentRef: P1,
              amountMinor: 500,
            },
            ...{ currency: 'USD', amountKind: 'individual', eventTimeMs: 1_767_323_042_000, detail: '不想要了' },
          }),
        ],
      ],
      [
        'a total and its payment, the refund first though the mapping has it last',
        signed(total, [signer]),
        [
          message(
            'payment.refunded_total',
            {
              ...{ eventType: 'refund_succeeded', providerRef: `${P1}/refunded/500`, paymentRef: P1, amountMinor: 500 },
              ...{ amountKind: 'cumulative', eventTimeMs: 1_767_323_043_250 },
            },
            { eventTimeMs: Date.parse('2026-01-02T03:04:00Z') },
          ),
        ],
      ],
      [
        'a refund that failed',
        signed({ ...refund, type: 'refund.failed' }, [signer]),
        [message('refund.failed', { ...ofPayment, eventType: 'refund_failed', providerRef: 'standard-webhooks:R-1' })],
      ],
      [
        'a dispute, which is known by its message',
        signed({ ...refund, type: 'dispute.opened' }, [signer]),
        [
          message('dispute.opened', {
            ...{ ...ofPayment, eventType: 'disputed', providerRef: 'standard-webhooks:msg_1', detail: '不想要了' },
          }),
        ],
      ],
    ],
  })

subjectFor('standard-webhooks, whsec_', secret, stranger)
subjectFor('standard-webhooks, whpk_', ed25519.privateKey, stranger)

describe('signatures and keys', () => {
  const both = signed(payment, [secret, ed25519.privateKey])
  const list = (both.headers['webhook-signature'] ?? '').split(' ')
  const [v1 = '', v1a = ''] = list
  const verdictOfList = (header: string, by = provider) =>
    by.verify({ ...both, headers: { ...both.headers, 'webhook-signature': header } }, NOW).kind

  test('one good signature of the list is enough, of either kind, under any of the keys', () => {
    for (const header of [v1, v1a, `${v1} ${v1a}`, `v2,x ${v1a} v1,AAAA`])
      expect(verdictOfList(header)).toBe('verified')
    for (const keys of [
      [stranger, secret],
      [newer, stranger],
      [stranger, ed25519.privateKey],
    ])
      expect(provider.verify(signed(payment, keys), NOW).kind).toBe('verified')
  })

  test('each kind of key is tried on its own version only', () => {
    expect(verdictOfList(v1.replace('v1,', 'v1a,'))).toBe('refused')
    expect(verdictOfList(v1a.replace('v1a,', 'v1,'))).toBe('refused')
    expect(verdictOfList(v1, bound([ed25519.publicKey]))).toBe('refused')
    expect(verdictOfList(v1a, bound([secret]))).toBe('refused')
    // What everybody knows, the public key, is no secret to sign with.
    const known = createSecretKey(Buffer.from(webhookPublicKeyText(ed25519.publicKey).slice(5), 'base64'))
    expect(bound([ed25519.publicKey]).verify(signed(payment, [known]), NOW).kind).toBe('refused')
  })

  test('looks at no more than eight signatures, and at three of ed25519', () => {
    const wrong = `v1a,${Buffer.alloc(64, 1).toString('base64')}`
    expect(verdictOfList(`${'v1,AAAA '.repeat(7)}${v1}`)).toBe('verified')
    expect(verdictOfList(`${'v1,AAAA '.repeat(8)}${v1}`)).toBe('refused')
    expect(verdictOfList(`${wrong} ${wrong} ${v1a}`)).toBe('verified')
    expect(verdictOfList(`${wrong} ${wrong} ${wrong} ${v1a}`)).toBe('refused')
  })

  test.for([
    ['a secret', secret, secret],
    ['an ed25519 key', ed25519.publicKey, ed25519.privateKey],
  ] as const)('%s past its end verifies nothing, to the millisecond', ([, key, signer]) => {
    const until = (validToMs: number) =>
      createStandardWebhooks({ keys: [{ value: key, validToMs }], mapping: mappingOf(EXAMPLE), prefix: 'x' })
    expect(until(NOW.getTime()).verify(signed(payment, [signer]), NOW).kind).toBe('verified')
    expect(until(NOW.getTime() - 1).verify(signed(payment, [signer]), NOW)).toEqual({
      kind: 'refused',
      rejection: { kind: 'bad_signature' },
    })
  })

  test('are read from their texts, and from no other', () => {
    const text = webhookPublicKeyText(ed25519.publicKey)
    expect(webhookPublicKey(text)?.equals(ed25519.publicKey)).toBe(true)
    expect(webhookPublicKeyText(ed25519.privateKey)).toBe(text)
    for (const wrong of [
      '',
      'whpk_',
      text.slice(5),
      text.replace('whpk_', 'whsec_').slice(0, 40),
      `${text}AAAA`,
      'whpk_AAAA',
    ])
      expect(webhookPublicKey(wrong)).toBeUndefined()
    for (const bytes of [23, 65])
      expect(webhookSecret(`whsec_${Buffer.alloc(bytes).toString('base64')}`)).toBeUndefined()
    for (const bytes of [24, 64]) expect(webhookSecret(`whsec_${Buffer.alloc(bytes).toString('base64')}`)).toBeDefined()
  })
})

describe('whose message it is', () => {
  const wrong = (field: string) => ({ kind: 'refused', rejection: { kind: 'wrong_recipient', field } })

  test('every check must hold, by value and by type', () => {
    for (const merchant_id of ['m_1003', '', null, undefined, ['m_1001'], 1001])
      expect(verdictOf(withData(payment, { merchant_id }))).toEqual(wrong('/data/merchant_id'))
    for (const live of [false, 'true', 1, null, undefined])
      expect(verdictOf({ ...payment, live })).toEqual(wrong('/live'))
  })

  test('what is no text, number or boolean is nobody: an object without a text form, a list of the right name', () => {
    const hostile = JSON.parse('{"toString":1,"valueOf":1}') as object
    for (const merchant_id of [hostile, {}, [hostile]])
      expect(verdictOf(withData(payment, { merchant_id }))).toEqual(wrong('/data/merchant_id'))
    for (const live of [hostile, [true], [[true]]])
      expect(verdictOf({ ...payment, live }), JSON.stringify(live)).toEqual(wrong('/live'))
  })

  test('a message that proves nothing may leave it out, and not name somebody else', () => {
    expect(verdictOf({ type: 'ping' }).kind).toBe('verified')
    expect(verdictOf({ type: 'payment.pending' }).kind).toBe('verified')
    expect(verdictOf({ type: 'ping', live: false })).toEqual(wrong('/live'))
  })

  test('a number is compared in its digits', () => {
    const file = { ...(JSON.parse(EXAMPLE) as object), recipient: { '/shop': [9_007_199_254_740_991, 12] } }
    const by = bound([secret], mappingOf(file))
    const verdict = (shop: string) =>
      by.verify(signed(JSON.stringify(payment).replace('{', `{"shop":${shop},`)), NOW).kind
    for (const shop of ['12', '9007199254740991']) expect(verdict(shop)).toBe('verified')
    for (const shop of ['12.0', '12.00000000000000000001', '"12"', '9007199254740991.1', '1.2e1'])
      expect(verdict(shop)).toBe('refused')
  })
})

describe('numbers in a body', () => {
  /** The payment with a JSON text in the place of a value. */
  const raw = (name: string, json: string) => JSON.stringify(withData(payment, { [name]: '@' })).replace('"@"', json)

  test.for([
    ['19.9', 1_990],
    ['19.90', 1_990],
    ['"19.9"', 1_990],
    ['20', 2_000],
    ['0', 0],
    ['0.00', 0],
    ['1128.6', 112_860],
    ['0.29', 29],
    ['4.35', 435],
    ['"100000000.00"', 10_000_000_000],
    ['90071992547409.90', 9_007_199_254_740_990],
  ] as const)('%s of a major unit with two decimals are %i minor ones', ([json, amountMinor]) =>
    expect(factsOf(raw('amount', json))).toMatchObject([{ amountMinor }]),
  )

  test.for([
    '19.900',
    '1.99e1',
    '19.9000000000000000001',
    '-0',
    '-1',
    '90071992547409.91',
    '1.005',
    '9e99',
    '"0x10"',
    '[1]',
  ])('%s is refused', (json) =>
    expect(verdictOf(raw('amount', json))).toEqual({
      kind: 'refused',
      rejection: { kind: 'malformed', field: '/data/amount' },
    }),
  )

  const cents = (json: string) => JSON.stringify(withData(refund, { refund_cents: '@' })).replace('"@"', json)
  test('an integer is one in its digits: what a double would round to one is not', () => {
    for (const json of ['500', '"500"']) expect(factsOf(cents(json))).toMatchObject([{ amountMinor: 500 }])
    expect(factsOf(cents('9007199254740990'))).toMatchObject([{ amountMinor: 9_007_199_254_740_990 }])
    for (const json of [
      '500.0',
      '5e2',
      '500.00000000000000000001',
      '9007199254740991',
      '9007199254740993',
      '18446744073709551616',
      '0.5',
      '-5',
      '"5 "',
    ])
      expect(verdictOf(cents(json))).toEqual({
        kind: 'refused',
        rejection: { kind: 'malformed', field: '/data/refund_cents' },
      })
  })

  test('a reference keeps all its digits, where two would be one double', () => {
    for (const digits of ['9007199254740992', '9007199254740993', '184467440737095516151'])
      expect(factsOf(raw('payment_id', digits))).toMatchObject([{ providerRef: `standard-webhooks:${digits}` }])
    for (const digits of ['1.0', '1e3', '-1']) expect(verdictOf(raw('payment_id', digits)).kind).toBe('refused')
    expect(verdictOf(raw('out_trade_no', '20260102000000000001'))).toMatchObject({
      messages: [{ outTradeNo: '20260102000000000001' }],
    })
  })

  test('times in seconds and milliseconds', () => {
    const at = (refunded_at: unknown) => verdictOf(withData(refund, { refunded_at }))
    expect(at('1767323042')).toMatchObject({ messages: [{ facts: [{ eventTimeMs: 1_767_323_042_000 }] }] })
    for (const wrong of [1_767_323_042.5, -1, '1e9', '', null, 1_767_323_042_000, '99999999999999'])
      expect(at(wrong)).toMatchObject({ rejection: { kind: 'malformed', field: '/data/refunded_at' } })
    for (const wrong of [1.5, '2026-01-02T03:04:00Z', 9_000_000_000_001])
      expect(verdictOf(withData(total, { updated_ms: wrong }))).toMatchObject({
        rejection: { field: '/data/updated_ms' },
      })
  })
})

describe('a mapping', () => {
  test('what an object inherits, or has beside the mapping, is no field of it', () => {
    const file = JSON.parse(EXAMPLE) as { rules: object[] }
    const by = (reference: string) =>
      bound([secret], mappingOf({ ...file, rules: [{ ...file.rules[0], reference }, ...file.rules.slice(1)] }))
    for (const reference of [
      '/constructor/name',
      '/data/__proto__',
      '/data/amount/0',
      '/data/toString/name',
      '/items/-',
      '/items/01',
    ])
      expect(by(reference).verify(signed(payment), NOW)).toEqual({
        kind: 'refused',
        rejection: { kind: 'malformed', field: reference },
      })
    expect(factsOf({ ...payment, 'a/b': [{ '~': 'X-1' }] }, by('/a~1b/0/~0'))).toMatchObject([
      { providerRef: 'standard-webhooks:X-1' },
    ])
  })

  test('an order number that is there and unusable is not passed over for the next place', () =>
    expect(verdictOf(withData(total, { out_trade_no: '' }))).toEqual({
      kind: 'refused',
      rejection: { kind: 'malformed', field: '/data/out_trade_no' },
    }))

  test('a body that is not UTF-8 is refused, well signed', () => {
    const [before = '', after = ''] = JSON.stringify(payment).split('"T1"')
    const body = Buffer.concat([Buffer.from(`${before}"T`), Buffer.from([0xff]), Buffer.from(`"${after}`)])
    expect(verdictOf(body)).toMatchObject({ rejection: { kind: 'malformed', field: 'body' } })
  })

  test('its prefix is before every reference', () => {
    const by = createStandardWebhooks({
      ...{ keys: [{ value: secret, validToMs: Infinity }], mapping: mappingOf(EXAMPLE), prefix: 'acme-pay' },
    })
    expect(factsOf(refund, by)).toMatchObject([{ providerRef: 'acme-pay:R-1', paymentRef: 'acme-pay:P-1' }])
  })

  test('a single refund whose number looks like a figure is refused: it could be taken for a total', () =>
    expect(verdictOf(withData(refund, { refund_id: 'P-1/refunded/500' }))).toEqual({
      kind: 'refused',
      rejection: { kind: 'malformed', field: '/data/refund_id' },
    }))
})
