import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadMerchants } from '../../src/providers/merchants.ts'
import { BadConfiguration } from '../../src/runtime/config.ts'
import { eventOf, intent, NOW, SECRET, secret, signed } from './stripe-subject.ts'

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

test('every mistake is told at once, by field and without the secret', () => {
  write('api.key', 'sk_live_dont-print-me')
  const found = problems({
    secretFiles: ['api.key', { file: 'absent', validUntil: '2026-01-01T00:00:00Z' }],
    livemode: 'yes',
    accounts: ['cus_1'],
    outTradeNo: ['metadata', 'metadata.a[b]', '/ok', '', '/~'],
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
    '✖ shop.json: stripe: Unrecognized key: "signingSecret"',
  ])
    expect(found).toContain(expected)
  expect(found).not.toContain('outTradeNo.2')
  expect(found).not.toContain('dont-print-me')
})

test.for([
  ['no secret', { secretFiles: [] }],
  ['five secrets', { secretFiles: Array(5).fill('endpoint.key') }],
  ['no place of the order number', { outTradeNo: [] }],
  ['nine of them', { outTradeNo: Array(9).fill('/a') }],
] as const)('%s is refused', ([, section]) => expect(problems(section)).not.toBe(''))
