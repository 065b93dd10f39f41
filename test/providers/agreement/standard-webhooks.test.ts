import { createSecretKey } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { CallbackRequest } from '../../../src/providers/provider.ts'
import { webhookSecret } from '../../../src/providers/standard-webhooks/keys.ts'
import { signWebhook } from '../../../src/providers/standard-webhooks/sign.ts'
import { verifySignature } from '../../../src/providers/standard-webhooks/verify.ts'
import { bound, ed25519, newer, NOW, payment, secret, stranger } from '../standard-webhooks-subject.ts'

// The package asks the system for the time.
beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW }))
afterAll(() => void vi.useRealTimers())

const text = (key = secret) => `whsec_${key.export().toString('base64')}`
const theirs = new Webhook(text())
const payload = JSON.stringify(payment)
type Headers = Record<string, string>
const ourHeaders = (body: string | Buffer = payload, id = 'msg_1', keys = [secret], at = NOW): Headers =>
  signWebhook(body, id, keys, at).headers
const theirHeaders = (body = payload, id = 'msg_1', at = NOW): Headers => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
  'webhook-signature': theirs.sign(id, at, body),
})
const request = (headers: Headers, body: string | Buffer = payload): CallbackRequest => ({
  headers,
  repeatedHeaders: [],
  rawBody: Buffer.from(body),
})
const oursTakes = (headers: Headers, body?: string | Buffer) =>
  verifySignature(request(headers, body), [{ value: secret, validToMs: Infinity }], NOW) === undefined
const theirsTakes = (headers: Headers, body: string | Buffer = payload) => {
  try {
    theirs.verify(body, headers, { jsonParse: false })
    return true
  } catch {
    return false
  }
}

describe('the standardwebhooks package and we agree', () => {
  test('on what it signs', () => {
    expect(theirHeaders()).toEqual({ ...ourHeaders(), 'content-type': undefined })
    expect(bound([secret]).verify(request(theirHeaders()), NOW)).toMatchObject({ messages: [{ outTradeNo: 'T1' }] })
  })

  test('on what we sign, with one secret or two, and an ed25519 signature beside it', () => {
    expect(theirs.verify(payload, ourHeaders())).toEqual(payment)
    for (const keys of [
      [secret, newer],
      [newer, secret],
      [ed25519.privateKey, secret],
    ])
      expect(theirsTakes(ourHeaders(payload, 'msg_1', keys))).toBe(true)
  })

  test.for([
    ['another body', ourHeaders(), `${payload}\n`],
    ['another secret', ourHeaders(payload, 'msg_1', [stranger]), payload],
    ['another id', { ...ourHeaders(), 'webhook-id': 'msg_2' }, payload],
    ['no time', { ...ourHeaders(), 'webhook-timestamp': '' }, payload],
    ['a time that is no number', { ...ourHeaders(), 'webhook-timestamp': 'abc' }, payload],
    [
      'no v1',
      { ...ourHeaders(), 'webhook-signature': ourHeaders()['webhook-signature']?.replace('v1', 'v2') ?? '' },
      payload,
    ],
    ['301 seconds of age', ourHeaders(payload, 'msg_1', [secret], new Date(NOW.getTime() - 301_000)), payload],
    ['301 seconds of lead', ourHeaders(payload, 'msg_1', [secret], new Date(NOW.getTime() + 301_000)), payload],
  ] as const)('on refusing %s', ([, headers, body]) => {
    expect(oursTakes(headers, body)).toBe(false)
    expect(theirsTakes(headers, body)).toBe(false)
  })

  test('on 300 seconds, either way', () => {
    for (const seconds of [-300, 300]) {
      const headers = ourHeaders(payload, 'msg_1', [secret], new Date(NOW.getTime() + seconds * 1_000))
      expect([oursTakes(headers), theirsTakes(headers)]).toEqual([true, true])
    }
  })
})

describe('where the standardwebhooks package differs', () => {
  test('it reads a number before other characters, and checks the signature of the number', () => {
    for (const mangled of ['$&abc', '$&.5', '+$&', ' $&']) {
      const headers = ourHeaders()
      headers['webhook-timestamp'] = headers['webhook-timestamp']?.replace(/\d+/, mangled) ?? ''
      expect([theirsTakes(headers), oursTakes(headers)]).toEqual([true, false])
    }
  })

  test('it decodes bytes as UTF-8 before it signs them, so that different bodies have one signature', () => {
    const broken = Buffer.concat([Buffer.from(payload.slice(0, -1)), Buffer.from([0xff]), Buffer.from('}')])
    const headers = ourHeaders(broken.toString())
    expect([theirsTakes(headers, broken), oursTakes(headers, broken)]).toEqual([true, false])
    const right = ourHeaders(broken)
    expect([theirsTakes(right, broken), oursTakes(right, broken)]).toEqual([false, true])
  })

  test('it takes an id with a dot, which separates what is signed: one signature is then good for two messages', () => {
    expect([theirsTakes(ourHeaders(payload, 'msg.1')), oursTakes(ourHeaders(payload, 'msg.1'))]).toEqual([true, false])
    const time = ourHeaders()['webhook-timestamp'] ?? ''
    const of = ourHeaders(`${time}.${payload}`, 'a')
    const moved = { ...of, 'webhook-id': `a.${time}` }
    expect([theirsTakes(moved), oursTakes(moved)]).toEqual([true, false])
  })

  test('it takes any secret that is base64, of one byte too; we ask for 24 to 64', () => {
    const short = createSecretKey(Buffer.alloc(1, 1))
    expect(() => new Webhook(text(short))).not.toThrow()
    expect(webhookSecret(text(short))).toBeUndefined()
    expect(() => new Webhook('whsec_not base64!')).toThrow()
    expect(webhookSecret('whsec_not base64!')).toBeUndefined()
  })

  test('it takes an empty body', () => {
    expect([theirsTakes(ourHeaders(''), ''), oursTakes(ourHeaders(''), '')]).toEqual([true, false])
  })

  test('it knows no ed25519 keys', () => {
    expect(theirsTakes(ourHeaders(payload, 'msg_1', [ed25519.privateKey]))).toBe(false)
    expect(bound().verify(request(ourHeaders(payload, 'msg_1', [ed25519.privateKey])), NOW).kind).toBe('verified')
  })
})
