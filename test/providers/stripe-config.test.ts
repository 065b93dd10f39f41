import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadMerchants } from '../../src/providers/merchants.ts'
import { BadConfiguration } from '../../src/runtime/config.ts'
import { dispute, eventOf, intent, NOW, refund, SECRET, secret, signed } from './stripe-subject.ts'

let directory = ''
const write = (name: string, content: string | object) =>
  writeFileSync(join(directory, name), typeof content === 'string' ? content : JSON.stringify(content))
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'merchants-'))
  write('endpoint.key', `${SECRET}\n`)
})
afterEach(() => rmSync(directory, { recursive: true }))

const problems = (section: object) => {
  write('shop.json', { stripe: { secretFiles: ['endpoint.key'], ...section } })
  try {
    loadMerchants(directory)
  } catch (error) {
    if (error instanceof BadConfiguration) return error.message.split('\n').slice(1).join('\n')
    throw error
  }
  return ''
}
const verdict = (event: object) =>
  loadMerchants(directory)
    .find('stripe', 'shop')
    ?.verify(signed(event, [secret]), NOW)
const event = eventOf('payment_intent.succeeded', intent)

test('a section of secrets alone takes live events of the account itself, by metadata.out_trade_no', () => {
  expect(problems({})).toBe('')
  expect(verdict(event)).toMatchObject({ messages: [{ outTradeNo: 'T1', facts: [{ amountMinor: 8_800 }] }] })
  expect(verdict({ ...event, livemode: false })).toMatchObject({ rejection: { field: 'livemode' } })
  expect(verdict({ ...event, account: 'acct_1' })).toMatchObject({ rejection: { field: 'account' } })
})

test('tests, connected accounts, other places of the number, and a secret with an end', () => {
  const section = {
    secretFiles: [{ file: 'endpoint.key', validUntil: NOW.toISOString() }],
    livemode: false,
    accounts: ['acct_1Synthetic000001'],
    outTradeNo: ['metadata.order no', '/transfer_group'],
  }
  expect(problems(section)).toBe('')
  const test = { ...event, livemode: false, account: 'acct_1Synthetic000001' }
  const of = (object: object) => verdict({ ...test, data: { object: { ...intent, ...object } } })
  expect(of({ transfer_group: 'T3' })).toMatchObject({ messages: [{ outTradeNo: 'T3' }] })
  expect(of({ metadata: { 'order no': 'T4' }, transfer_group: 'T3' })).toMatchObject({
    messages: [{ outTradeNo: 'T4' }],
  })
  expect(problems({ ...section, secretFiles: [{ file: 'endpoint.key', validUntil: '2026-01-02T03:04:04Z' }] })).toBe('')
  expect(verdict(test)).toMatchObject({ rejection: { kind: 'bad_signature' } })
})

describe('two merchants on one account, of which each endpoint gets every event', () => {
  const field = 'data.object.metadata.merchant'
  const at = (type: string, object: object) => verdict(eventOf(type, object))
  const of = (metadata: object) => at('payment_intent.succeeded', { ...intent, metadata })
  const fact = { messages: [{ outTradeNo: 'T1', facts: [{ eventType: 'payment_succeeded' }] }] }
  const stranger = { kind: 'refused', rejection: { kind: 'wrong_recipient', field } }

  test('what names the merchant is taken, what names another or none is refused', () => {
    expect(problems({ recipient: { 'metadata.merchant': 'shop1', '/currency': ['usd', 'eur'] } })).toBe('')
    expect(of({ out_trade_no: 'T1', merchant: 'shop1' })).toMatchObject(fact)
    for (const merchant of [
      {},
      { merchant: 'shop2' },
      { merchant: 'Shop1' },
      { merchant: null },
      { merchant: ['shop1'] },
    ])
      expect(of({ out_trade_no: 'T1', ...merchant })).toMatchObject(stranger)
    expect(at('payment_intent.created', { ...intent, metadata: { merchant: 'shop2' } })).toMatchObject(stranger)
    expect(at('payout.paid', { object: 'payout', metadata: { merchant: 'shop2' } })).toMatchObject(stranger)
    expect(
      at('payment_intent.succeeded', {
        ...{ ...intent, currency: 'cny' },
        metadata: { out_trade_no: 'T1', merchant: 'shop1' },
      }),
    ).toMatchObject({ rejection: { kind: 'wrong_recipient', field: 'data.object.currency' } })
  })

  test('what can state no fact may lack it, and is kept for a person', () => {
    expect(problems({ recipient: { 'metadata.merchant': ['shop1'] } })).toBe('')
    const kept = { kind: 'verified', messages: [{ outTradeNo: null, facts: [] }] }
    expect(at('charge.dispute.created', { ...dispute, metadata: {} })).toMatchObject(kept)
    expect(at('refund.failed', { ...refund, metadata: {} })).toMatchObject(kept)
    expect(at('charge.dispute.created', dispute)).toMatchObject(stranger)
  })

  test('left out, nothing is looked at', () => {
    expect(problems({})).toBe('')
    expect(of({ out_trade_no: 'T1', merchant: 'shop2' })).toMatchObject(fact)
  })
})

test('every mistake is told at once, by field and without the secret', () => {
  write('api.key', 'sk_live_dont-print-me')
  const found = problems({
    secretFiles: ['api.key', { file: 'absent', validUntil: '2026-01-01T00:00:00Z' }],
    livemode: 'yes',
    accounts: ['cus_1'],
    outTradeNo: ['metadata', 'metadata.a[b]', '/ok', '', '/~'],
    recipient: { metadata: 'shop1', 'metadata.a': '', 'metadata.b': [], 'metadata.c': 1 },
    signingSecret: 1,
  })
  for (const expected of [
    "✖ shop.json: stripe.secretFiles.0: must hold the endpoint's signing secret",
    '✖ shop.json: stripe.secretFiles.1.file: cannot read the file absent',
    '✖ shop.json: stripe.livemode: ',
    '✖ shop.json: stripe.accounts.0: must be acct_',
    '✖ shop.json: stripe.outTradeNo.0: must be metadata.<key>',
    '✖ shop.json: stripe.outTradeNo.1: must be metadata.<key>',
    '✖ shop.json: stripe.outTradeNo.3: ',
    '✖ shop.json: stripe.outTradeNo.4: ',
    '✖ shop.json: stripe.recipient.metadata.a.0: ',
    '✖ shop.json: stripe.recipient.metadata.b: ',
    '✖ shop.json: stripe.recipient.metadata.c: ',
    '✖ shop.json: stripe: Unrecognized key: "signingSecret"',
  ])
    expect(found).toContain(expected)
  expect(found).not.toContain('outTradeNo.2')
  expect(found).not.toContain('dont-print-me')
})

test('a place that is none is told', () =>
  expect(problems({ recipient: { metadata: 'shop1' } })).toContain('stripe.recipient.metadata: must be metadata.<key>'))

test.for([
  ['no secret', { secretFiles: [] }],
  ['five secrets', { secretFiles: Array(5).fill('endpoint.key') }],
  ['no place of the order number', { outTradeNo: [] }],
  ['nine of them', { outTradeNo: Array(9).fill('/a') }],
] as const)('%s is refused', ([, section]) => expect(problems(section)).not.toBe(''))
