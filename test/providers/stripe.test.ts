import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Fact } from '../../src/orders/model.ts'
import { isFields } from '../../src/providers/fields.ts'
import { parsePointer } from '../../src/providers/json-pointer.ts'
import type { VerifiedMessage } from '../../src/providers/provider.ts'
import { KNOWN } from '../../src/providers/stripe/event-types.ts'
import { passesSharedSuite } from './shared-suite.ts'
import {
  bound,
  charge,
  dispute,
  eventOf,
  failedIntent,
  factsOf,
  intent,
  newer,
  NOW,
  PAID_AT,
  provider,
  refund,
  secret,
  signed,
  stranger,
  verdictOf,
} from './stripe-subject.ts'

const event = eventOf('payment_intent.succeeded', intent)
const PI = 'stripe:pi_3Synthetic00000000001'
const fact = (values: Partial<Fact>): Fact => ({
  eventType: 'payment_succeeded',
  providerRef: PI,
  paymentRef: null,
  amountMinor: 8_800,
  currency: 'USD',
  amountKind: 'none',
  eventTimeMs: PAID_AT.getTime(),
  detail: null,
  ...values,
})
const message = (messageType: string, values: Partial<Fact>): VerifiedMessage => ({
  outTradeNo: 'T1',
  messageType,
  messageId: 'evt_3Synthetic00000000001',
  facts: [fact(values)],
})
/** The event with the value at a path of names (`data.object.id`) changed; undefined takes the name away. */
const changed = (path: string, value: unknown, of: object = event): object => {
  const [name = '', ...rest] = path.split('.')
  const inner = (of as Record<string, unknown>)[name]
  return { ...of, [name]: rest.length === 0 ? value : changed(rest.join('.'), value, isFields(inner) ? inner : {}) }
}

const refunded = {
  eventType: 'refund_succeeded',
  providerRef: 'stripe:re_3Synthetic00000000001',
  paymentRef: PI,
  amountMinor: 1_000,
  amountKind: 'individual',
  eventTimeMs: PAID_AT.getTime() + 1_000,
  detail: 'out_refund_no R-1; requested_by_customer',
} as const
const notRefunded = { ...refunded, eventType: 'refund_failed', eventTimeMs: PAID_AT.getTime() } as const

passesSharedSuite({
  name: 'stripe',
  now: NOW,
  provider,
  otherMerchant: bound({}, stranger),
  otherMerchantRefuses: 'bad_signature',
  genuine: signed(event),
  message: message('payment_intent.succeeded', {}),
  forged: signed(event, [stranger]),
  signsTime: true,
  headers: { timestamp: 'stripe-signature', signature: 'stripe-signature' },
  timeIn: (header, time) => header.replace(/^t=\d+/, `t=${time}`),
  bytesHaveSpellings: false,
  signed: (rawBody) => signed(rawBody),
  withField: (field, value) => signed(changed(field, value)),
  identities: ['type', 'data.object.id', 'data.object.metadata.out_trade_no'],
  wrongTypes: [
    ['type', 5],
    ['type', null],
    ['data', null],
    ['data', []],
    ['data.object', 'pi_1'],
    ['data.object.object', 'charge'],
    ['data.object.id', 5],
    ['data.object.status', 'processing'],
    ['data.object.status', undefined],
    ['data.object.metadata.out_trade_no', 5],
    ['data.object.metadata.out_trade_no', {}],
    ['data.object.amount_received', undefined],
    ['data.object.amount_received', '8800'],
    ['data.object.amount_received', 88.5],
    ['data.object.amount_received', -1],
    ['data.object.amount_received', 2 ** 53],
    ['data.object.currency', 'USD'],
    ['data.object.currency', 'us'],
    ['data.object.currency', null],
    ['created', undefined],
    ['created', '1767323040'],
    ['created', 1767323040.5],
    ['created', 1e11],
    ['created', -1],
  ],
  duplicateField: signed(JSON.stringify(event).replace('"amount_received"', '"amount_received":1,"amount_received"')),
  unmapped: [
    [
      'an event of another kind',
      signed(eventOf('invoice.paid', { object: 'invoice', metadata: { out_trade_no: 'T1' } })),
      'T1',
    ],
    ['one that names no order', signed(eventOf('invoice.paid', { object: 'invoice' })), null],
    ['a payment that names no order', signed(changed('data.object.metadata', {})), null],
    ['a payment without metadata', signed(changed('data.object.metadata', null)), null],
    [
      'a thin event',
      signed({ ...event, object: 'v2.core.event', type: 'v1.billing.meter.no_meter_found', data: {} }),
      null,
    ],
    ['a refund of a bare charge', signed(eventOf('refund.created', { ...refund, payment_intent: null })), 'T1'],
    [
      'what was refunded of a bare charge',
      signed(eventOf('charge.refunded', { ...charge, payment_intent: null })),
      'T1',
    ],
    [
      'a dispute about a bare charge',
      signed(eventOf('charge.dispute.created', { ...dispute, payment_intent: null })),
      'T1',
    ],
    [
      'a refund in a state that nobody has heard of',
      signed(eventOf('refund.updated', { ...refund, status: 'paused' })),
      'T1',
    ],
    ['the end of a dispute', signed(eventOf('charge.dispute.closed', dispute)), 'T1'],
  ],
  noEffect: [
    ['a refund that is under way', signed(eventOf('refund.created', { ...refund, status: 'pending' })), 'T1'],
    [
      'one that waits for the customer',
      signed(eventOf('refund.created', { ...refund, status: 'requires_action' })),
      'T1',
    ],
    [
      'an authorization that ran out',
      signed(eventOf('refund.created', { ...refund, reason: 'expired_uncaptured_charge' })),
      'T1',
    ],
    [
      'the rest that a partial capture releases',
      signed(eventOf('charge.refunded', { ...charge, amount_captured: 7_800 })),
      'T1',
    ],
    ['an intent that is begun', signed(eventOf('payment_intent.created', intent)), 'T1'],
    ['one that is canceled', signed(eventOf('payment_intent.canceled', { ...intent, status: 'canceled' })), 'T1'],
    ['a charge, whose intent tells it', signed(eventOf('charge.succeeded', charge)), 'T1'],
  ],
  kinds: [
    [
      'payment_intent.payment_failed',
      signed(eventOf('payment_intent.payment_failed', failedIntent)),
      [
        message('payment_intent.payment_failed', {
          eventType: 'payment_failed',
          amountMinor: 0,
          currency: '',
          detail: 'card_declined; insufficient_funds',
        }),
      ],
    ],
    ['refund.created', signed(eventOf('refund.created', refund)), [message('refund.created', refunded)]],
    [
      'a refund that succeeds days later',
      signed(eventOf('refund.updated', refund, { created: NOW.getTime() / 1_000 })),
      [message('refund.updated', refunded)],
    ],
    ['its older name', signed(eventOf('charge.refund.updated', refund)), [message('charge.refund.updated', refunded)]],
    [
      'refund.failed',
      signed(eventOf('refund.failed', { ...refund, status: 'failed', failure_reason: 'lost_or_stolen_card' })),
      [
        message('refund.failed', {
          ...notRefunded,
          detail: 'out_refund_no R-1; failed; lost_or_stolen_card; requested_by_customer',
        }),
      ],
    ],
    [
      'a refund that was canceled',
      signed(
        eventOf('refund.updated', { ...refund, status: 'canceled', reason: null, metadata: { out_trade_no: 'T1' } }),
      ),
      [message('refund.updated', { ...notRefunded, detail: 'canceled' })],
    ],
    [
      'charge.refunded',
      signed(eventOf('charge.refunded', charge)),
      [
        message('charge.refunded', {
          eventType: 'refund_succeeded',
          providerRef: 'stripe:ch_3Synthetic00000000001/refunded/1000',
          paymentRef: PI,
          amountMinor: 1_000,
          amountKind: 'cumulative',
        }),
      ],
    ],
    [
      'charge.dispute.created',
      signed(eventOf('charge.dispute.created', dispute)),
      [
        message('charge.dispute.created', {
          eventType: 'disputed',
          providerRef: 'stripe:dp_1Synthetic00000000001',
          paymentRef: PI,
          amountMinor: 0,
          currency: '',
          eventTimeMs: PAID_AT.getTime() + 2_000,
          detail: 'fraudulent; needs_response; 8800 USD (minor units)',
        }),
      ],
    ],
  ],
})

const headerOf = (header: string) => {
  const genuine = signed(event)
  const verdict = provider.verify({ ...genuine, headers: { ...genuine.headers, 'stripe-signature': header } }, NOW)
  return verdict.kind === 'refused' ? verdict.rejection.kind : verdict.kind
}
const header = signed(event).headers['stripe-signature'] ?? ''
const [time = '', v1 = ''] = header.split(',')
const WRONG = `v1=${'0'.repeat(64)}`

describe('Stripe-Signature', () => {
  test('takes any of several v1, in any place, under any of the secrets', () => {
    for (const secrets of [[secret], [newer], [stranger, secret], [newer, stranger]])
      expect(provider.verify(signed(event, secrets), NOW).kind).toBe('verified')
    for (const list of [`${time},${WRONG},${v1}`, `${v1},${time}`, `${WRONG},${v1},${WRONG},${time}`])
      expect(headerOf(list)).toBe('verified')
    expect(headerOf(`${time},${WRONG},${WRONG}`)).toBe('bad_signature')
  })

  test('no other scheme proves anything', () => {
    for (const scheme of ['v0', 'v2', 'V1', ' v1', 'v1 ', 'v11', '', 'sha256'])
      expect(headerOf(`${time},${v1.replace('v1', scheme)}`)).toBe('bad_signature')
    expect(headerOf(`${time},${v1},v0=${'0'.repeat(64)},v2=x,nonsense,=,v3`)).toBe('verified')
    expect(headerOf(time)).toBe('bad_signature')
  })

  test('a second t is refused, whichever came first and whatever it says', () => {
    const other = `t=${Number(time.slice(2)) + 1}`
    for (const list of [
      `${time},${time},${v1}`,
      `${time},${other},${v1}`,
      `${other},${v1},${time}`,
      `${time},${v1},t=`,
    ])
      expect(headerOf(list)).toBe('malformed')
  })

  test('has at most sixteen elements', () => {
    expect(headerOf(`${time},${`${WRONG},`.repeat(14)}${v1}`)).toBe('verified')
    expect(headerOf(`${time},${`${WRONG},`.repeat(15)}${v1}`)).toBe('malformed')
    expect(headerOf(`${time},${v1}${','.repeat(15)}`)).toBe('malformed')
  })

  test('a v1 has one spelling', () => {
    for (const other of [
      v1.toUpperCase().replace('V1', 'v1'),
      `${v1}0`,
      v1.slice(0, -1),
      v1.replace('=', '=0x'),
      `${v1} `,
    ])
      expect(headerOf(`${time},${other}`)).toBe('bad_signature')
    expect(headerOf(`${time},${v1.replace('=', '==')}`)).toBe('bad_signature')
  })

  test('a secret past its end verifies nothing, to the millisecond, and the other still does', () => {
    const until = (validToMs: number) =>
      bound({
        secrets: [
          { value: secret, validToMs },
          { value: newer, validToMs: Infinity },
        ],
      })
    expect(until(NOW.getTime()).verify(signed(event), NOW).kind).toBe('verified')
    expect(until(NOW.getTime() - 1).verify(signed(event), NOW)).toMatchObject({ rejection: { kind: 'bad_signature' } })
    expect(until(NOW.getTime() - 1).verify(signed(event, [newer]), NOW).kind).toBe('verified')
  })
})

test('every event that is read stands in the documentation', () => {
  const docs = readFileSync(join(import.meta.dirname, '../../docs/providers.md'), 'utf8')
  for (const type of KNOWN.keys()) expect(docs).toContain(`\`${type}\``)
})

describe('whose event it is', () => {
  const wrong = (field: string) => ({ kind: 'refused', rejection: { kind: 'wrong_recipient', field } })
  const ACCOUNT = 'acct_1Synthetic000001'
  const connect = bound({ accounts: new Set([ACCOUNT]) })

  test('what does not say that it is live is no live event, although it is well signed', () => {
    for (const livemode of [false, null, undefined, 'true', 1])
      expect(provider.verify(signed({ ...event, livemode }), NOW)).toEqual(wrong('livemode'))
  })

  test('who tests takes tests only', () => {
    const tests = bound({ livemode: false })
    expect(tests.verify(signed({ ...event, livemode: false }), NOW).kind).toBe('verified')
    expect(tests.verify(signed(event), NOW)).toEqual(wrong('livemode'))
  })

  test('an event of a connected account is taken where that account is configured, and nowhere else', () => {
    const of = (account: unknown) => signed({ ...event, account })
    expect(connect.verify(of(ACCOUNT), NOW).kind).toBe('verified')
    for (const account of ['acct_1Synthetic000002', '', 5, null, undefined])
      expect(connect.verify(of(account), NOW)).toEqual(wrong('account'))
    expect(provider.verify(of(ACCOUNT), NOW)).toEqual(wrong('account'))
    expect(provider.verify(of(null), NOW).kind).toBe('verified')
  })

  test('an event that is not mapped must not name somebody else either', () => {
    expect(provider.verify(signed({ ...event, type: 'invoice.paid', livemode: false }), NOW)).toEqual(wrong('livemode'))
    expect(provider.verify(signed({ ...event, type: 'invoice.paid', account: ACCOUNT }), NOW)).toEqual(wrong('account'))
    expect(connect.verify(signed({ ...event, type: 'invoice.paid' }), NOW).kind).toBe('verified')
  })
})

describe('the order number', () => {
  const places = bound({
    outTradeNo: ['/metadata/order', '/metadata/a~1b', '/transfer_group', '/items/1/id'].flatMap(
      (text) => parsePointer(text) ?? [],
    ),
  })
  const orderOf = (object: object) => {
    const verdict = places.verify(signed(eventOf('payment_intent.succeeded', { ...intent, ...object })), NOW)
    return verdict.kind === 'verified' ? verdict.messages[0].outTradeNo : verdict.rejection
  }

  test('is in the first configured place that has one', () => {
    expect(orderOf({ metadata: { order: 'T2' }, transfer_group: 'T3' })).toBe('T2')
    expect(orderOf({ metadata: { 'a/b': 'T4' } })).toBe('T4')
    expect(orderOf({ transfer_group: 'T3' })).toBe('T3')
    expect(orderOf({ metadata: { order: null }, transfer_group: 'T3' })).toBe('T3')
    expect(orderOf({ items: [{}, { id: 'T5' }] })).toBe('T5')
    expect(orderOf({})).toBeNull()
  })

  test('an unusable one is refused by the name of its place, and none is taken instead', () =>
    expect(orderOf({ metadata: { order: '' }, transfer_group: 'T3' })).toEqual({
      kind: 'malformed',
      field: 'data.object.metadata.order',
    }))

  test('what an object inherits is no place', () => {
    const inherited = bound({
      outTradeNo: ['/constructor/name', '/__proto__'].flatMap((text) => parsePointer(text) ?? []),
    })
    expect(inherited.verify(signed(event), NOW)).toMatchObject({ messages: [{ outTradeNo: null, facts: [] }] })
  })

  test('a refund made in the Dashboard fails: no order hears of it, until the refund is given the number', () => {
    const failed = { ...refund, status: 'failed', failure_reason: 'lost_or_stolen_card' }
    expect(verdictOf('refund.failed', { ...failed, metadata: {} })).toMatchObject({ messages: [{ outTradeNo: null }] })
    expect(verdictOf('refund.updated', failed)).toMatchObject({
      messages: [{ outTradeNo: 'T1', facts: [{ eventType: 'refund_failed' }] }],
    })
    // What its charge said before stands, and nothing takes it back.
    expect(verdictOf('charge.refunded', charge)).toMatchObject({
      messages: [{ outTradeNo: 'T1', facts: [{ eventType: 'refund_succeeded' }] }],
    })
    expect(verdictOf('charge.updated', { ...charge, amount_refunded: 0 })).toMatchObject({
      messages: [{ facts: [], instead: { kind: 'no_effect' } }],
    })
  })

  test('a dispute has no number when it is created; one that it is given later is not looked at', () => {
    expect(verdictOf('charge.dispute.created', { ...dispute, metadata: {} })).toMatchObject({
      messages: [{ outTradeNo: null }],
    })
    const updated = verdictOf('charge.dispute.updated', dispute)
    expect(updated).toMatchObject({ messages: [{ outTradeNo: 'T1', facts: [] }] })
    expect(updated).not.toHaveProperty('messages.0.instead')
  })

  test('a payment without one is kept, whatever else is wrong with it', () =>
    expect(verdictOf('payment_intent.succeeded', { ...intent, metadata: {}, amount_received: 'x' })).toMatchObject({
      messages: [{ outTradeNo: null, facts: [] }],
    }))
})

describe('amounts and times', () => {
  test('are what was received, in the units that Stripe counts in', () => {
    for (const [currency, amount_received] of [
      ['jpy', 500],
      ['kwd', 5_000],
      ['isk', 500],
      ['usd', 0],
      ['cny', 9_007_199_254_740_990],
    ] as const)
      expect(factsOf('payment_intent.succeeded', { ...intent, amount: 1, currency, amount_received })).toMatchObject([
        { amountMinor: amount_received, currency: currency.toUpperCase() },
      ])
  })

  test('a payment is timed by its event, not by the intent, which may be days older', () =>
    expect(factsOf('payment_intent.succeeded', intent)[0]?.eventTimeMs).toBe(PAID_AT.getTime()))

  test.for([
    ['an older API version', { api_version: '2019-09-09' }, { refunds: { object: 'list', data: [refund] } }],
    ['no API version', { api_version: null }, {}],
    ['one before amount_captured', { api_version: '2020-03-02' }, { amount_captured: undefined }],
    ['an unknown one with new fields', { api_version: '2031-01-01.birch', context: 'x' }, { novelty: { a: [1] } }],
  ] as const)('%s says the same', ([, ofEvent, ofCharge]) =>
    expect(factsOf('charge.refunded', { ...charge, ...ofCharge }, ofEvent)).toEqual(factsOf('charge.refunded', charge)),
  )

  test('what was authorized and never captured is no refund', () => {
    // The figures of woocommerce-gateway-stripe#1073, and then a real refund of 20.00.
    const partly = { ...charge, amount: 20_675, amount_captured: 20_300 }
    expect(factsOf('charge.refunded', { ...partly, amount_refunded: 375 })).toEqual([])
    expect(factsOf('charge.refunded', { ...partly, amount_refunded: 2_375 })).toMatchObject([
      { amountMinor: 2_000, providerRef: 'stripe:ch_3Synthetic00000000001/refunded/2000' },
    ])
    expect(
      factsOf('charge.refunded', { ...charge, captured: false, amount_captured: 0, amount_refunded: 8_800 }),
    ).toEqual([])
    // More than was authorized may be captured.
    expect(factsOf('charge.refunded', { ...charge, amount_captured: 9_000 })).toMatchObject([{ amountMinor: 1_000 }])
  })

  test.for([
    ['refund.created', 'id', refund, 'x'.repeat(250)],
    ['refund.created', 'payment_intent', refund, 5],
    ['refund.created', 'payment_intent', refund, ''],
    ['refund.created', 'amount', refund, '1000'],
    ['refund.created', 'currency', refund, 'USD'],
    ['refund.created', 'created', refund, undefined],
    ['refund.created', 'object', refund, 'charge'],
    ['charge.refunded', 'id', charge, null],
    ['charge.refunded', 'amount', charge, undefined],
    ['charge.refunded', 'amount_captured', charge, '8800'],
    ['charge.refunded', 'amount_refunded', charge, -5],
    ['charge.refunded', 'payment_intent', charge, []],
    ['charge.dispute.created', 'id', dispute, 5],
    ['charge.dispute.created', 'payment_intent', dispute, true],
    ['charge.dispute.created', 'amount', dispute, 0.5],
    ['charge.dispute.created', 'created', dispute, 'now'],
    ['payment_intent.payment_failed', 'id', failedIntent, undefined],
  ] as const)('%s without a proper %s is refused by that name', ([type, field, object, value]) =>
    expect(verdictOf(type, { ...object, [field]: value })).toEqual({
      kind: 'refused',
      rejection: { kind: 'malformed', field: `data.object.${field}` },
    }),
  )

  test('words for people never refuse a message', () => {
    const error = { code: 'x\0y'.repeat(600), decline_code: 5 }
    const [failed] = factsOf('payment_intent.payment_failed', { ...failedIntent, last_payment_error: error })
    expect(failed?.detail).toHaveLength(1_024)
    expect(failed?.detail).toMatch(/^x yx y/)
    expect(
      factsOf('payment_intent.payment_failed', { ...failedIntent, last_payment_error: null })[0]?.detail,
    ).toBeNull()
  })

  test('a body that is not UTF-8 is refused, well signed', () => {
    const [before = '', after = ''] = JSON.stringify(event).split('"T1"')
    const body = Buffer.concat([Buffer.from(`${before}"T`), Buffer.from([0xff]), Buffer.from(`"${after}`)])
    expect(provider.verify(signed(body), NOW)).toMatchObject({ rejection: { kind: 'malformed', field: 'body' } })
  })
})
