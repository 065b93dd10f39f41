import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { explain } from '../../src/providers/explain/explain.ts'
import { isDecided } from '../../src/providers/explain/explanation.ts'
import type { Bound } from '../../src/providers/explain/search.ts'
import { undoCompressed } from '../../src/providers/explain/undo-transfer.ts'
import type { CallbackRequest, Provider } from '../../src/providers/provider.ts'
import { signWebhook } from '../../src/providers/standard-webhooks/sign.ts'
import * as webhooks from './standard-webhooks-subject.ts'
import * as stripe from './stripe-subject.ts'
import * as v2 from './wechatpay-v2-subject.ts'

const FORMS: Readonly<Record<string, { bound: Provider; other: Provider; now: Date; genuine: CallbackRequest }>> = {
  'wechatpay-v2': {
    ...{ bound: v2.provider, other: v2.bound({ apiKeys: [v2.OTHER_KEY] }), now: v2.NOW },
    genuine: v2.notice({ ...v2.payment, attach: '会员 "A&B" <1>' }),
  },
  stripe: {
    ...{ bound: stripe.provider, other: stripe.bound({}, stripe.stranger), now: stripe.NOW },
    genuine: stripe.signed(stripe.eventOf('payment_intent.succeeded', stripe.intent)),
  },
  'standard-webhooks': {
    ...{ bound: webhooks.provider, other: webhooks.bound([webhooks.stranger]), now: webhooks.NOW },
    genuine: {
      ...signWebhook(webhooks.payment, 'msg_1', [webhooks.secret], webhooks.NOW),
      repeatedHeaders: [],
    },
  },
}

const subjectOf = (provider: string) => {
  const subject = FORMS[provider]
  if (subject === undefined) throw new Error(`no ${provider}`)
  return subject
}
function explainIt(provider: string, request: CallbackRequest, to: 'bound' | 'other' = 'bound') {
  const { bound, other, now } = subjectOf(provider)
  const all: Bound[] = [
    { provider, merchant: 'shop', bound },
    { provider, merchant: 'books', bound: other },
  ]
  const [addressed, ...others] = to === 'bound' ? all : all.reverse()
  if (addressed === undefined) throw new Error('nobody')
  return explain({ request, query: '', repeated: new Map() }, addressed, others, now, {
    ...{ triesMax: 200_000, timeMs: 60_000, elapsedMs: () => performance.now(), hide: (text: string) => text },
  })
}

const text = ({ rawBody }: CallbackRequest) => rawBody.toString()
const withBody = (request: CallbackRequest, body: string | Buffer) => ({ ...request, rawBody: Buffer.from(body) })
const withHeaders = (request: CallbackRequest, rename: (name: string, value: string) => [string, string]) => ({
  ...request,
  headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => rename(name, value))),
})
const json = (request: CallbackRequest): unknown => JSON.parse(text(request))
const sorted = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, item]) => [key, sorted(item)]),
      )
    : value
const fields = (request: CallbackRequest) =>
  [...text(request).matchAll(/<(\w+)>(?:<!\[CDATA\[(.*?)\]\]>|([^<]*))<\/\w+>/g)].map(
    ([, name = '', cdata, plain = '']) => [name, cdata ?? plain] as const,
  )
const entities = (value: string) =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const FAULTS: readonly (readonly [
  what: string,
  provider: string,
  damage: (r: CallbackRequest) => CallbackRequest,
  fault: string,
])[] = [
  [
    'printed by an XML library',
    'wechatpay-v2',
    (r) =>
      withBody(
        r,
        `<?xml version="1.0" encoding="UTF-8"?>\n<xml>${fields(r)
          .map(([name, value]) => `\n  <${name}>${entities(value)}</${name}>`)
          .join('')}\n</xml>\n`,
      ),
    'xml_reprinted',
  ],
  [
    'passed on as JSON',
    'wechatpay-v2',
    (r) => withBody(r, JSON.stringify({ xml: Object.fromEntries(fields(r).map(([name, value]) => [name, [value]])) })),
    'xml_to_json',
  ],
  ['a byte order mark', 'wechatpay-v2', (r) => withBody(r, `\ufeff${text(r)}`), 'bom_added'],
  ['read as latin1', 'wechatpay-v2', (r) => withBody(r, r.rawBody.toString('latin1')), 'utf8_read_as_latin1'],
  ['read as GBK', 'wechatpay-v2', (r) => withBody(r, new TextDecoder('gbk').decode(r.rawBody)), 'utf8_read_as_gbk'],
  ['backslashes', 'wechatpay-v2', (r) => withBody(r, text(r).replaceAll('"', '\\"')), 'backslashes_added'],
  [
    'printed again with other spaces',
    'stripe',
    (r) => withBody(r, text(r).includes('\n') ? JSON.stringify(json(r)) : JSON.stringify(json(r), null, 2)),
    'json_reprinted',
  ],
  ['the header in quotes', 'stripe', (r) => withHeaders(r, (name, value) => [name, `"${value}"`]), 'header_changed'],
  [
    'spaces after the commas of the header',
    'stripe',
    (r) => withHeaders(r, (name, value) => [name, value.replaceAll(',', ', ')]),
    'header_changed',
  ],
  [
    'another name',
    'stripe',
    (r) => withHeaders(r, (name, value) => [`http_${name.replaceAll('-', '_')}`, value]),
    'header_renamed',
  ],
  ['gzip', 'stripe', (r) => withBody(r, gzipSync(r.rawBody)), 'compressed'],
  ['a line feed', 'stripe', (r) => withBody(r, `${text(r)}\n`), 'newline_added'],
  ['keys sorted', 'standard-webhooks', (r) => withBody(r, JSON.stringify(sorted(json(r)))), 'json_reordered'],
  [
    'Svix’s names',
    'standard-webhooks',
    (r) => withHeaders(r, (n, v) => [n.replace('webhook-', 'svix-'), v]),
    'header_renamed',
  ],
  [
    'the time in milliseconds',
    'standard-webhooks',
    (r) => withHeaders(r, (n, v) => [n, n === 'webhook-timestamp' ? `${v}000` : v]),
    'time_reprinted',
  ],
]

test.for(FAULTS)('%s (%s)', ([, provider, damage, fault]) => {
  const damaged = damage(subjectOf(provider).genuine)
  const explanation = explainIt(provider, damaged)
  expect(explanation.verdict.kind).toBe('refused')
  expect(explanation.causes.map((cause) => cause.fault)).toEqual([fault])
  expect(explanation.before?.verdict.kind).toBe('verified')
})

test.each(Object.keys(FORMS))('genuine, to another merchant, forged (%s)', (provider) => {
  const { genuine } = subjectOf(provider)
  expect(explainIt(provider, genuine)).toMatchObject({ verdict: { kind: 'verified' }, causes: [] })
  expect(explainIt(provider, genuine, 'other').causes).toMatchObject([{ fault: 'other_merchant', how: 'shop' }])
  const forged = withBody(genuine, text(genuine).replace('T1', 'T2'))
  expect(isDecided(explainIt(provider, forged))).toBe(false)
})

test('what unpacks to more than a megabyte is left alone', () => {
  const seen = { query: '', repeated: new Map<string, string[]>(), signedHeaders: [], form: 'json' } as const
  const restored = (bytes: number) => [
    ...undoCompressed({ ...seen, request: withBody(stripe.signed('{}'), gzipSync(Buffer.alloc(bytes))) }),
  ]
  expect([restored(1_000_000).length, restored(1_100_000).length]).toEqual([1, 0])
})
