import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { encodeText } from '../../src/providers/alipay/encode-text.ts'
import { signNotice } from '../../src/providers/alipay/sign.ts'
import { DISTORTIONS } from '../../src/providers/explain/distortions.ts'
import { explain } from '../../src/providers/explain/explain.ts'
import { isDecided, type Explanation } from '../../src/providers/explain/explanation.ts'
import type { Bound } from '../../src/providers/explain/search.ts'
import { readForm, writeForm } from '../../src/providers/explain/form-fields.ts'
import { loadMerchants, type Merchants } from '../../src/providers/merchants.ts'
import type { CallbackRequest } from '../../src/providers/provider.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { sealEnvelope, signRequest } from '../../src/providers/wechatpay/sign.ts'
import { notice, transaction } from '../helpers/merchant.ts'
import { createRotatingMerchant, type KeySet, type Sender } from '../helpers/rotation.ts'

const AT = new Date('2026-11-11T12:00:00Z')
let dir = ''
let merchants: Merchants
let [shop, newer, ended, books, stranger]: KeySet[] = []

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'explain-'))
  const merchant = createRotatingMerchant(dir, 'shop')
  const other = createRotatingMerchant(dir, 'books')
  shop = merchant.newKeys('a', 'public key')
  newer = merchant.newKeys('b', 'public key')
  ended = merchant.newKeys('c', 'public key')
  books = other.newKeys('d', 'public key')
  stranger = createRotatingMerchant(dir, 'nobody').newKeys('e', 'public key')
  merchant.hold({ keys: shop }, { keys: newer }, { keys: ended, validUntil: new Date(AT.getTime() - 1_000) })
  other.hold({ keys: books })
  merchants = loadMerchants(dir)
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

interface Damaged {
  readonly request: CallbackRequest
  readonly query?: string
  readonly repeated?: Readonly<Record<string, readonly string[]>>
}

function explainIt(sender: string, { request, query = '', repeated = {} }: Damaged, at = AT, bounds = {}): Explanation {
  const all = merchants.names.flatMap((merchant) =>
    [...PROVIDERS.keys()].flatMap((provider): Bound[] => {
      const bound = merchants.find(provider, merchant)
      return bound === undefined ? [] : [{ provider, merchant, bound }]
    }),
  )
  const addressed = all.find(({ provider, merchant }) => provider === sender && merchant === 'shop')
  if (addressed === undefined) throw new Error(`no ${sender}`)
  const others = all.filter((one) => one !== addressed)
  return explain({ request, query, repeated: new Map(Object.entries(repeated)) }, addressed, others, at, {
    ...{
      triesMax: 200_000,
      timeMs: 60_000,
      elapsedMs: () => performance.now(),
      hide: (text: string) => text,
      ...bounds,
    },
  })
}

const asRequest = ({
  headers,
  rawBody,
}: {
  headers: Readonly<Record<string, string>>
  rawBody: Buffer
}): CallbackRequest => ({
  ...{ headers, rawBody, repeatedHeaders: [] },
})
const wechatpay = (keys = shop, body?: Buffer) => {
  if (keys === undefined) throw new Error('no keys')
  const resource = transaction('T1', AT)
  const envelope = { id: 'EV-1', eventType: 'TRANSACTION.SUCCESS', originalType: 'transaction', resource }
  const apiV3Key = 'k'.repeat(32)
  const signer = { serial: keys.serial, privateKey: keys.wechatpay, apiV3Key }
  return asRequest(signRequest(body ?? sealEnvelope(envelope, apiV3Key, AT), signer, AT))
}
/** What notices have that goes wrong: quotes, a plus, a percent sign, Chinese, a line end, a value encoded by contract. */
const TRICKY = {
  subject: '会员+ 5% off "A&B"',
  fund_bill_list: '[{"amount":"1.00","fundChannel":"ALIPAYACCOUNT"}]',
  passback_params: '%7B%22id%22%3A1%2C%22a%22%3A%22x+y%22%7D',
  body: 'one\ntwo',
}
const alipay = (fields: Readonly<Record<string, string | Buffer>> = TRICKY, key = shop?.alipay) => {
  if (key === undefined) throw new Error('no keys')
  // One signature in 200 has no plus, which some of the damage is about.
  for (let n = 0; ; n++) {
    const signed = signNotice({ ...notice('T1', AT), notify_id: `n-${n}`, ...fields }, key)
    if (/(?:^|&)sign=[^&]*%2B/.test(signed.rawBody.toString('latin1'))) return asRequest(signed)
  }
}
const genuine = (sender: Sender, keys = shop) => {
  if (sender === 'wechatpay') return wechatpay(keys)
  if (sender === 'alipay') return alipay(TRICKY, keys?.alipay)
  if (keys === undefined) throw new Error('no keys')
  return asRequest(createRotatingMerchant(dir, 'shop').sign('worker', keys, 'T1', AT))
}

const withBody = (request: CallbackRequest, body: Buffer | string): Damaged => ({
  request: { ...request, rawBody: Buffer.from(body) },
})
const withHeaders = (request: CallbackRequest, headers: Readonly<Record<string, string | undefined>>): Damaged => ({
  request: {
    ...request,
    headers: Object.fromEntries(
      Object.entries({ ...request.headers, ...headers }).filter(
        (pair): pair is [string, string] => pair[1] !== undefined,
      ),
    ),
  },
})
const text = ({ rawBody }: CallbackRequest) => rawBody.toString()
const json = (request: CallbackRequest) => JSON.parse(text(request)) as Record<string, unknown>
const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, item]) => [key, sorted(item)]),
      )
    : value
/** As a framework sees the fields, and writes them again. */
const params = (request: CallbackRequest) => new URLSearchParams(text(request))
const mapFields = (request: CallbackRequest, change: (value: string, name: string) => string) =>
  withBody(
    request,
    writeForm(
      readForm(request.rawBody).map(({ name, value }) => ({
        name,
        value: Buffer.from(change(value.toString(), name)),
      })),
    ),
  )

type Case = readonly [what: string, sender: Sender, damage: (request: CallbackRequest) => Damaged, fault: string]

const FAULTS: readonly Case[] = [
  [
    'parsed and printed, keys sorted',
    'wechatpay',
    (r) => withBody(r, JSON.stringify(sorted(json(r)))),
    'json_reordered',
  ],
  ['pretty-printed', 'wechatpay', (r) => withBody(r, JSON.stringify(json(r), null, 2)), 'json_reprinted'],
  ['slashes escaped by PHP', 'wechatpay', (r) => withBody(r, text(r).replaceAll('/', '\\/')), 'json_reprinted'],
  [
    'Chinese escaped by Python',
    'wechatpay',
    (r) =>
      withBody(
        r,
        text(r).replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
      ),
    'json_reprinted',
  ],
  ['a line feed added by a log', 'wechatpay', (r) => withBody(r, `${text(r)}\n`), 'newline_added'],
  ['a byte order mark added', 'wechatpay', (r) => withBody(r, `\ufeff${text(r)}`), 'bom_added'],
  ['read as latin1', 'wechatpay', (r) => withBody(r, Buffer.from(r.rawBody.toString('latin1'))), 'utf8_read_as_latin1'],
  ['read as GBK', 'wechatpay', (r) => withBody(r, new TextDecoder('gbk').decode(r.rawBody)), 'utf8_read_as_gbk'],
  ['gzip', 'wechatpay', (r) => withBody(r, gzipSync(r.rawBody)), 'compressed'],
  [
    'in chunks',
    'wechatpay',
    (r) =>
      withBody(
        r,
        Buffer.concat([
          Buffer.from('64\r\n'),
          r.rawBody.subarray(0, 100),
          Buffer.from(`\r\n${(r.rawBody.length - 100).toString(16)}\r\n`),
          r.rawBody.subarray(100),
          Buffer.from('\r\n0\r\n\r\n'),
        ]),
      ),
    'chunked',
  ],
  [
    'as an API gateway hands it to a function',
    'wechatpay',
    (r) => withBody(r, JSON.stringify({ isBase64Encoded: true, body: r.rawBody.toString('base64') })),
    'wrapped',
  ],
  ['HTML entities', 'wechatpay', (r) => withBody(r, text(r).replaceAll('"', '&quot;')), 'html_entities'],
  [
    'the signature as it stands in an address',
    'wechatpay',
    (r) => withHeaders(r, { 'wechatpay-signature': encodeURIComponent(r.headers['wechatpay-signature'] ?? '') }),
    'header_changed',
  ],
  [
    'the signature without its padding',
    'wechatpay',
    (r) => withHeaders(r, { 'wechatpay-signature': (r.headers['wechatpay-signature'] ?? '').replace(/=+$/, '') }),
    'header_changed',
  ],
  [
    'headers as CGI names them',
    'wechatpay',
    (r) => ({
      request: {
        ...r,
        headers: Object.fromEntries(Object.entries(r.headers).map(([n, v]) => [`http_${n.replaceAll('-', '_')}`, v])),
      },
    }),
    'header_renamed',
  ],
  [
    'nonce and timestamp taken for one another',
    'wechatpay',
    (r) =>
      withHeaders(r, {
        'wechatpay-nonce': r.headers['wechatpay-timestamp'],
        'wechatpay-timestamp': r.headers['wechatpay-nonce'],
      }),
    'headers_swapped',
  ],
  [
    'the time in milliseconds',
    'wechatpay',
    (r) => withHeaders(r, { 'wechatpay-timestamp': `${r.headers['wechatpay-timestamp'] ?? ''}000` }),
    'time_reprinted',
  ],
  [
    'a nonce that a proxy added',
    'wechatpay',
    (r) => ({
      request: { ...withHeaders(r, { 'wechatpay-nonce': undefined }).request, repeatedHeaders: ['wechatpay-nonce'] },
      repeated: { 'wechatpay-nonce': ['proxy', r.headers['wechatpay-nonce'] ?? ''] },
    }),
    'header_repeated',
  ],
  [
    'decoded twice: an encoded value',
    'alipay',
    (r) => mapFields(r, (v, n) => (n === 'passback_params' ? decodeURIComponent(v) : v)),
    'form_decoded_twice',
  ],
  [
    'a plus that became a space',
    'alipay',
    (r) => mapFields(r, (v, n) => (n === 'subject' ? v.replaceAll('+', ' ') : v)),
    'plus_to_space',
  ],
  ['plus not read as space', 'alipay', (r) => withBody(r, text(r).replaceAll('+', '%2B')), 'space_to_plus'],
  [
    'the sign with spaces',
    'alipay',
    (r) => mapFields(r, (v, n) => (n === 'sign' ? v.replaceAll('+', ' ') : v)),
    'sign_changed',
  ],
  [
    'HTML entities in values',
    'alipay',
    (r) => mapFields(r, (v) => v.replaceAll('&', '&amp;').replaceAll('"', '&quot;')),
    'html_entities',
  ],
  ['magic quotes', 'alipay', (r) => mapFields(r, (v) => v.replace(/["'\\]/g, '\\$&')), 'backslashes_added'],
  [
    'parameters of the address among the fields',
    'alipay',
    (r) => ({ ...withBody(r, `${text(r)}&tenant=7&sid=x`), query: 'tenant=7&sid=x' }),
    'query_merged',
  ],
  ['fields of a framework', 'alipay', (r) => withBody(r, `${text(r)}&_route=cb&_locale=zh`), 'query_merged'],
  ['encoded twice', 'alipay', (r) => mapFields(r, (v) => encodeURIComponent(v)), 'form_encoded_twice'],
  [
    'decoded as a whole',
    'alipay',
    (r) => withBody(r, decodeURIComponent(text(r).replaceAll('+', ' '))),
    'form_decoded_before_split',
  ],
  [
    'line ends as a form has them',
    'alipay',
    (r) => mapFields(r, (v) => v.replaceAll('\n', '\r\n')),
    'line_ends_to_crlf',
  ],
  ['read as latin1', 'alipay', (r) => mapFields(r, (v) => Buffer.from(v).toString('latin1')), 'utf8_read_as_latin1'],
  [
    'read as Windows-1252',
    'alipay',
    (r) => mapFields(r, (v) => new TextDecoder('windows-1252').decode(Buffer.from(v))),
    'utf8_read_as_latin1',
  ],
  ['passed on as JSON', 'alipay', (r) => withBody(r, JSON.stringify(Object.fromEntries(params(r)))), 'form_to_json'],
  ['a line feed added', 'alipay', (r) => withBody(r, `${text(r)}\r\n`), 'newline_added'],
  ['keys sorted', 'worker', (r) => withBody(r, JSON.stringify(sorted(json(r)))), 'json_reordered'],
  ['a space after each comma', 'worker', (r) => withBody(r, text(r).replace(/([,:])"/g, '$1 "')), 'json_reprinted'],
  [
    'no version before the signature',
    'worker',
    (r) => withHeaders(r, { 'webhook-signature': r.headers['webhook-signature']?.slice(3) }),
    'header_changed',
  ],
  [
    'x- before the names',
    'worker',
    (r) => ({
      request: { ...r, headers: Object.fromEntries(Object.entries(r.headers).map(([n, v]) => [`x-${n}`, v])) },
    }),
    'header_renamed',
  ],
]

describe('one fault', () => {
  test.for(FAULTS)('%s (%s)', ([, sender, damage, fault]) => {
    const request = genuine(sender)
    const damaged = damage(request)
    expect(damaged.request).not.toEqual(request)
    const explanation = explainIt(sender, damaged)
    expect(explanation.verdict.kind).toBe('refused')
    expect(explanation.causes.map((cause) => cause.fault)).toEqual([fault])
    expect(explanation.causes[0]).toMatchObject({
      words: expect.any(String) as string,
      remedy: expect.any(String) as string,
    })
    expect(explanation.before?.verdict).toMatchObject({ kind: 'verified', messages: [{ outTradeNo: 'T1' }] })
    expect(explanation.signedBy).toMatchObject({ merchant: 'shop', provider: sender })
    expect(explanation.keys.map(({ result }) => result)).toContain('made it before the change')
    expect(explanation.effort).toMatchObject({ complete: true })
  })
})

describe('keys and senders', () => {
  test('genuine: verified, by which key, with no cause', () => {
    for (const sender of ['wechatpay', 'alipay', 'worker'] as const) {
      const explanation = explainIt(sender, { request: genuine(sender) })
      expect(explanation).toMatchObject({ verdict: { kind: 'verified' }, causes: [], effort: { tried: 1 }, hints: [] })
      expect(explanation.keys.map(({ result }) => result)).toEqual(['made it', 'did not make it', 'did not make it'])
      expect(isDecided(explanation)).toBe(true)
    }
  })

  test('another key than the serial names', () => {
    const request = withHeaders(genuine('wechatpay'), { 'wechatpay-serial': newer?.serial })
    const explanation = explainIt('wechatpay', request)
    expect(explanation.causes).toMatchObject([{ fault: 'other_key', how: shop?.serial }])
    expect(explanation.named).toBe(newer?.serial)
  })

  test('a serial that nobody has', () => {
    const explanation = explainIt(
      'wechatpay',
      withHeaders(genuine('wechatpay', stranger), { 'wechatpay-serial': 'PUB_KEY_ID_9' }),
    )
    expect(explanation.causes).toMatchObject([{ fault: 'unknown_key' }])
    expect(explanation.causes[0]?.words).toContain('PUB_KEY_ID_9')
  })

  test.each(['wechatpay', 'alipay', 'worker'] as const)('a key that has ended (%s)', (sender) => {
    const explanation = explainIt(sender, { request: genuine(sender, ended) })
    expect(explanation.causes).toMatchObject([{ fault: 'ended_key' }])
    expect(explanation.keys.map(({ result }) => result)).toContain('made it, but has ended')
  })

  test.each(['wechatpay', 'alipay', 'worker'] as const)('for another merchant of ours (%s)', (sender) => {
    const explanation = explainIt(sender, { request: genuine(sender, books) })
    expect(explanation.causes).toMatchObject([{ fault: 'other_merchant', how: 'books' }])
    expect(explanation.signedBy).toMatchObject({ merchant: 'books', provider: sender })
  })

  test('for another merchant, and re-encoded', () => {
    const request = genuine('wechatpay', books)
    const explanation = explainIt('wechatpay', withBody(request, JSON.stringify(json(request), null, 2)))
    expect(explanation.causes).toMatchObject([{ fault: 'other_merchant' }, { fault: 'json_reprinted' }])
  })

  test('to another provider’s address', () => {
    expect(explainIt('wechatpay', { request: genuine('alipay') }).causes).toMatchObject([
      { fault: 'other_provider', how: 'alipay' },
    ])
    expect(explainIt('alipay', { request: genuine('worker') }).causes).toMatchObject([
      { fault: 'other_provider', how: 'worker' },
    ])
  })

  test('well signed, to an app that is not ours', () => {
    const explanation = explainIt('alipay', { request: alipay({ app_id: '2021000000000009' }) })
    expect(explanation.causes).toMatchObject([{ fault: 'wrong_recipient' }])
    expect(explanation.causes[0]?.words).toContain('app_id')
  })
})

describe('time, encryption, probes', () => {
  test('the clock: off by how much', () => {
    const explanation = explainIt('wechatpay', { request: genuine('wechatpay') }, new Date(AT.getTime() + 3_600_000))
    expect(explanation.causes).toMatchObject([{ fault: 'stale' }])
    expect(explanation.causes[0]?.words).toContain('3600 s before')
    expect(explanation).toMatchObject({ signedAt: '2026-11-11T12:00:00.000Z', before: null })
    const ahead = explainIt('worker', { request: genuine('worker') }, new Date(AT.getTime() - 400_000))
    expect(ahead.causes[0]?.words).toContain('400 s after')
  })

  test('stale, and changed: both are said', () => {
    const request = genuine('wechatpay')
    const explanation = explainIt(
      'wechatpay',
      withBody(request, `${text(request)}\n`),
      new Date(AT.getTime() + 86_400_000),
    )
    expect(explanation.causes.map(({ fault }) => fault)).toEqual(['newline_added', 'stale'])
  })

  test('an APIv3 key that was changed in the console', () => {
    const envelope = {
      id: 'EV-1',
      eventType: 'TRANSACTION.SUCCESS',
      originalType: 'transaction',
      resource: transaction('T1', AT),
    }
    const explanation = explainIt('wechatpay', { request: wechatpay(shop, sealEnvelope(envelope, 'n'.repeat(32), AT)) })
    expect(explanation.causes).toMatchObject([{ fault: 'undecryptable' }])
    expect(explanation.keys[0]?.result).toBe('made it')
  })

  test('a probe', () => {
    const request = genuine('wechatpay')
    const probe = withHeaders(request, {
      'wechatpay-signature': `WECHATPAY/SIGNTEST/${request.headers['wechatpay-signature'] ?? ''}`,
    })
    expect(explainIt('wechatpay', probe)).toMatchObject({
      causes: [{ fault: 'signature_probe' }],
      effort: { tried: 1 },
    })
  })

  test('a header that is gone', () => {
    const explanation = explainIt('wechatpay', withHeaders(genuine('wechatpay'), { 'wechatpay-nonce': undefined }))
    expect(explanation.causes).toMatchObject([{ fault: 'missing_header' }])
    expect(explanation.canonical).toBeNull()
  })
})

describe('two faults', () => {
  const PAIRS: readonly (readonly [string, Sender, (request: CallbackRequest) => Damaged, string[]])[] = [
    [
      'entities, then a line feed',
      'alipay',
      (r) => withBody(r, `${text(mapFields(r, (v) => v.replaceAll('"', '&quot;')).request)}\n`),
      ['html_entities', 'newline_added'],
    ],
    [
      'pretty-printed, and the signature quoted',
      'wechatpay',
      (r) =>
        withHeaders(withBody(r, JSON.stringify(json(r), null, 2)).request, {
          'wechatpay-signature': `"${r.headers['wechatpay-signature'] ?? ''}"`,
        }),
      ['header_changed', 'json_reprinted'],
    ],
    [
      'read as latin1, with a query',
      'alipay',
      (r) => ({
        ...withBody(r, `${text(mapFields(r, (v) => Buffer.from(v).toString('latin1')).request)}&t=1`),
        query: 't=1',
      }),
      ['query_merged', 'utf8_read_as_latin1'],
    ],
    ['sorted and indented', 'worker', (r) => withBody(r, JSON.stringify(sorted(json(r)), null, 2)), ['json_reordered']],
  ]
  test.for(PAIRS)('%s (%s)', ([, sender, damage, faults]) => {
    const explanation = explainIt(sender, damage(genuine(sender)))
    expect(explanation.causes.map(({ fault }) => fault).sort()).toEqual(faults)
    expect(explanation.before?.verdict.kind).toBe('verified')
  })
})

test('keys sorted, of an envelope in an order that nobody has seen before', () => {
  const value = json(wechatpay())
  const unheard = { summary: value['summary'], resource: value['resource'], event_type: value['event_type'], ...value }
  const request = wechatpay(shop, Buffer.from(JSON.stringify(unheard)))
  const explanation = explainIt('wechatpay', withBody(request, JSON.stringify(sorted(unheard))))
  expect(explanation.causes).toMatchObject([
    { fault: 'json_reordered', how: 'by the alphabet now; it came without spaces' },
  ])
  expect(explanation.effort.tried).toBeGreaterThan(100)
}, 60_000)

describe('charsets of a form', () => {
  const gbk = (change: (value: string) => Buffer) => {
    const encoded = Object.fromEntries(
      Object.entries({ charset: 'gbk', ...TRICKY }).map(([name, value]) => [name, encodeText(value, 'gbk')]),
    )
    const request = alipay(encoded)
    const fields = readForm(request.rawBody).map(({ name, value }) => ({
      name,
      value: change(new TextDecoder('gbk').decode(value)),
    }))
    return { request, damaged: withBody(request, writeForm(fields)) }
  }
  test('GBK turned into UTF-8', () => {
    const { damaged } = gbk((value) => Buffer.from(value))
    expect(explainIt('alipay', damaged).causes).toMatchObject([{ fault: 'gbk_to_utf8' }])
  })
  test('UTF-8 turned into GBK', () => {
    const damaged = withBody(
      genuine('alipay'),
      writeForm(
        readForm(genuine('alipay').rawBody).map(({ name, value }) => ({
          name,
          value: encodeText(value.toString(), 'gbk'),
        })),
      ),
    )
    expect(explainIt('alipay', damaged).causes).toMatchObject([{ fault: 'utf8_to_gbk' }])
  })
  test('GBK decoded as UTF-8 is lost; that is said', () => {
    const request = alipay({ charset: 'gbk', subject: encodeText('会员', 'gbk') })
    const lost = withBody(
      request,
      writeForm(readForm(request.rawBody).map(({ name, value }) => ({ name, value: Buffer.from(value.toString()) }))),
    )
    const explanation = explainIt('alipay', lost)
    expect([explanation.causes, isDecided(explanation)]).toEqual([[], false])
    expect(explanation.hints).toEqual([expect.stringContaining('U+FFFD')])
  })
})

describe('bounds', () => {
  test('a forgery is not explained, after all that is known was tried', () => {
    const explanation = explainIt('worker', { request: genuine('worker', stranger) })
    expect([explanation.causes, isDecided(explanation), explanation.effort.complete]).toEqual([[], false, true])
  })

  test('keys by the alphabet are a hint where nothing is proven', () => {
    const request = genuine('worker', stranger)
    const { hints } = explainIt('worker', withBody(request, JSON.stringify(sorted({ ...json(request), more: 1 }))))
    expect(hints).toEqual([expect.stringContaining('by the alphabet')])
  })

  test('time and tries end the search', () => {
    const request = genuine('wechatpay', stranger)
    const forged = withHeaders(request, { 'wechatpay-serial': shop?.serial })
    const few = explainIt('wechatpay', forged, AT, { triesMax: 50 })
    expect(few.effort.tried).toBeLessThanOrEqual(51)
    expect(few.effort.complete).toBe(false)
    const startedMs = performance.now()
    expect(explainIt('wechatpay', forged, AT, { timeMs: 100 }).effort.complete).toBe(false)
    expect(performance.now() - startedMs).toBeLessThan(5_000)
  })

  test.each(['wechatpay', 'alipay', 'worker'] as const)(
    'whatever the body is, nothing throws and it ends (%s)',
    (sender) => {
      const bodies = [
        ...[
          '',
          '{',
          '[]',
          'null',
          '"x"',
          '{"a":'.repeat(5_000),
          '['.repeat(60_000),
          '&&&',
          '=',
          '%',
          '%zz=%',
          'a=b&a=c',
        ],
        ...[
          'x'.repeat(1_048_576),
          '&'.repeat(100_000),
          '+'.repeat(10_000),
          `a=${' '.repeat(5_000)}`,
          '0\r\n\r\n',
          'ffffff\r\n',
        ],
        '{"__proto__":{"a":1},"constructor":1}',
        `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
        `{"a":"${'é'.repeat(300_000)}"}`,
      ]
      for (const body of [...bodies, Buffer.from([0xff, 0xfe, 0x80, 0]), gzipSync(Buffer.alloc(5_000_000))]) {
        const explanation = explainIt(sender, withBody(genuine(sender), body), AT, { timeMs: 300 })
        expect(explanation.verdict.kind).toBe('refused')
        expect(JSON.stringify(explanation).length).toBeLessThan(20_000)
      }
    },
    60_000,
  )

  test('a distortion that throws does not apply, and the others are tried', () => {
    const throwing = DISTORTIONS.filter(({ fault }) => fault !== 'newline_added').map((distortion) =>
      vi.spyOn(distortion, 'undo').mockImplementation(() => {
        throw new RangeError('Maximum call stack size exceeded')
      }),
    )
    try {
      const genuine = wechatpay()
      const request = { ...genuine, rawBody: Buffer.concat([genuine.rawBody, Buffer.from('\n')]) }
      expect(explainIt('wechatpay', { request }).causes).toMatchObject([{ fault: 'newline_added' }])
    } finally {
      for (const spy of throwing) spy.mockRestore()
    }
  })

  test('the bytes that are shown are escaped and bounded', () => {
    const { canonical } = explainIt('wechatpay', {
      request: wechatpay(shop, Buffer.from(`\u001b[2J\u202e${'订'.repeat(9_000)}`)),
    })
    expect(canonical?.text).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(canonical?.text.length).toBeLessThan(2_100)
    expect(canonical?.text).toContain('\\u{1b}[2J\\u{202e}')
    expect(canonical?.bytes).toBeGreaterThan(27_000)
  })
})

test('a key that is not one of ours explains nothing', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  expect(isDecided(explainIt('alipay', { request: alipay(TRICKY, privateKey) }))).toBe(false)
})
