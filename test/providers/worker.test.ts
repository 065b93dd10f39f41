import { createSecretKey, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { CallbackRequest } from '../../src/providers/provider.ts'
import { createWorker } from '../../src/providers/worker/create.ts'
import { signReport } from '../../src/providers/worker/sign.ts'
import { passesSharedSuite } from './shared-suite.ts'

const NOW = new Date('2026-01-02T03:04:05Z')
const secret = createSecretKey(Buffer.alloc(32, 1))
const newer = createSecretKey(Buffer.alloc(32, 2))
const stranger = createSecretKey(Buffer.alloc(32, 3))
const lasting = (...keys: KeyObject[]) => ({ secrets: keys.map((value) => ({ value, validToMs: Infinity })) })
const provider = createWorker(lasting(newer, secret))

const report = {
  type: 'shipment_completed',
  timestamp: '2026-01-02T11:04:00+08:00',
  data: { out_trade_no: 'T1', event_id: '6f1d3a52-9c0e-5b7a-8e44-2d1b7c9a0f36', reference: 'SF1234567890' },
}
const signed = (body: object | string, id = 'report_1', secrets: readonly KeyObject[] = [secret]): CallbackRequest => ({
  ...signReport(body, id, secrets, NOW),
  repeatedHeaders: [],
})
const withField = (path: string, value: unknown) => {
  const [outer = '', inner] = path.split('.')
  if (inner === undefined) return signed({ ...report, [outer]: value })
  return signed({ ...report, data: { ...report.data, [inner]: value } })
}
const message = {
  outTradeNo: 'T1',
  messageType: 'shipment_completed',
  messageId: 'report_1',
  facts: [
    {
      eventType: 'shipment_completed' as const,
      providerRef: 'worker:report_1',
      paymentRef: null,
      amountMinor: 0,
      currency: '',
      amountKind: 'none' as const,
      eventTimeMs: Date.parse('2026-01-02T03:04:00Z'),
      detail: 'SF1234567890 (event 6f1d3a52-9c0e-5b7a-8e44-2d1b7c9a0f36)',
    },
  ],
}

passesSharedSuite({
  name: 'worker',
  now: NOW,
  provider,
  otherMerchant: createWorker(lasting(stranger)),
  otherMerchantRefuses: 'bad_signature',
  genuine: signed(report),
  message,
  forged: signed(report, 'report_1', [stranger]),
  signsTime: true,
  headers: { timestamp: 'webhook-timestamp', signature: 'webhook-signature' },
  bytesHaveSpellings: false,
  signed: (rawBody) => ({ ...signReport(rawBody, 'report_1', [secret], NOW), repeatedHeaders: [] }),
  withField,
  identities: ['type', 'data.out_trade_no', 'data.event_id'],
  wrongTypes: [
    ['type', 5],
    ['data', null],
    ['data', []],
    ['data.out_trade_no', 1],
    ['data.event_id', null],
    ['data.reference', 5],
    ['data.reference', ''],
    ['data.reference', 'x'.repeat(1_024)],
    ['data.reference', 'a\0b'],
    ['data.reference', '\ud800'],
    ['timestamp', 5],
    ['timestamp', 'now'],
    ['timestamp', undefined],
    // The processor keeps no time beyond 2255.
    ['timestamp', '2256-01-01T00:00:00Z'],
  ],
  duplicateField: signed(JSON.stringify(report).replace('"event_id"', '"out_trade_no":"T9","event_id"')),
  unmapped: [
    ['a report that nobody has heard of', signed({ ...report, type: 'parcel_weighed' }), 'T1'],
    [
      'one about an order number that is too long',
      signed({ type: 'parcel_weighed', data: { out_trade_no: 'x'.repeat(65) } }),
      null,
    ],
    ['one without an order', signed({ type: 'stock_counted', data: null }), null],
  ],
})

describe('worker', () => {
  test.for([
    ['fulfillment_failed', 'reason'],
    ['goods_returned', 'reference'],
  ] as const)('reads %s with its %s', ([type, says]) => {
    const data = { out_trade_no: 'T1', event_id: 'e1', [says]: '缺货' }
    expect(provider.verify(signed({ ...report, type, data }), NOW)).toMatchObject({
      messages: [{ messageType: type, facts: [{ eventType: type, detail: '缺货 (event e1)' }] }],
    })
    const silent = { ...data, [says]: undefined }
    expect(provider.verify(signed({ ...report, type, data: silent }), NOW)).toMatchObject({
      rejection: { kind: 'malformed', field: `data.${says}` },
    })
  })

  test('what a terminal obeys does not come into the detail', () => {
    expect(provider.verify(withField('data.reference', 'a\u001b[2Jb\u009bc\nd'), NOW)).toMatchObject({
      messages: [{ facts: [{ detail: `a [2Jb c d (event ${report.data.event_id})` }] }],
    })
  })

  test('takes any of the signatures, under any of the secrets', () => {
    for (const secrets of [[secret], [newer], [stranger, secret], [newer, stranger]])
      expect(provider.verify(signed(report, 'report_1', secrets), NOW).kind).toBe('verified')
    expect(provider.verify(signed(report, 'report_1', [stranger, stranger]), NOW).kind).toBe('refused')
  })

  test('a secret past its end verifies nothing, to the millisecond', () => {
    const until = (validToMs: number) => createWorker({ secrets: [{ value: secret, validToMs }] })
    expect(until(NOW.getTime()).verify(signed(report), NOW).kind).toBe('verified')
    expect(until(NOW.getTime() - 1).verify(signed(report), NOW)).toEqual({
      kind: 'refused',
      rejection: { kind: 'bad_signature' },
    })
  })

  test('passes over other versions, and looks at no more than eight', () => {
    const genuine = signed(report)
    const signature = genuine.headers['webhook-signature'] ?? ''
    const verdictOf = (list: string) =>
      provider.verify({ ...genuine, headers: { ...genuine.headers, 'webhook-signature': list } }, NOW).kind
    expect(verdictOf(`v1a,abcd v2,xyz ${signature}`)).toBe('verified')
    expect(verdictOf(signature.replace('v1,', 'v1a,'))).toBe('refused')
    expect(verdictOf(signature.replace('v1,', ''))).toBe('refused')
    expect(verdictOf(`${'v1,AAAA '.repeat(7)}${signature}`)).toBe('verified')
    expect(verdictOf(`${'v1,AAAA '.repeat(8)}${signature}`)).toBe('refused')
  })

  test('the report id takes part in the signature, and holds no dot and no more than 240 characters', () => {
    for (const id of ['a.b', 'x'.repeat(241), 'a b', 'é'])
      expect(provider.verify(signed(report, id), NOW)).toEqual({
        kind: 'refused',
        rejection: { kind: 'malformed', field: 'webhook-id' },
      })
    expect(provider.verify(signed(report, 'x'.repeat(240)), NOW).kind).toBe('verified')
  })

  test('refuses a body that is not UTF-8', () => {
    const body = Buffer.from(JSON.stringify(report).replace('SF12', '\xff\xfe12'), 'latin1')
    expect(provider.verify({ ...signReport(body, 'r', [secret], NOW), repeatedHeaders: [] }, NOW).kind).toBe('refused')
  })
})
