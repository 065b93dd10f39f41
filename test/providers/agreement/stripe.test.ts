import Stripe from 'stripe'
import { describe, expect, test } from 'vitest'
import type { CallbackRequest } from '../../../src/providers/provider.ts'
import { signEvent } from '../../../src/providers/stripe/sign.ts'
import { bound, eventOf, intent, newer, NOW, SECRET, secret, seconds, stranger } from '../stripe-subject.ts'

const { webhooks } = Stripe
const ours = bound({}, secret)
const event = eventOf('payment_intent.succeeded', intent)
const payload = JSON.stringify(event)
const request = (header: string, body: string | Buffer = payload): CallbackRequest => ({
  headers: { 'stripe-signature': header },
  repeatedHeaders: [],
  rawBody: Buffer.from(body),
})
const oursTakes = (header: string, body?: string | Buffer) =>
  ours.verify(request(header, body), NOW).kind === 'verified'
interface Choice {
  readonly body?: string | Buffer
  readonly tolerance?: number
}
const theirsTakes = (header: string, { body = payload, tolerance = 300 }: Choice = {}) => {
  try {
    webhooks.constructEvent(body, header, SECRET, tolerance, undefined, NOW.getTime())
    return true
  } catch {
    return false
  }
}
const theirHeader = (timestamp: number, body = payload) =>
  webhooks.generateTestHeaderString({ payload: body, secret: SECRET, timestamp })
const ourHeader = (body: object | string | Buffer = event, at = NOW) =>
  signEvent(body, [secret], at).headers['stripe-signature']

describe('the stripe package and we agree', () => {
  test('on what it signs', () => {
    const header = theirHeader(seconds(NOW))
    expect(header).toBe(ourHeader())
    expect(ours.verify(request(header), NOW)).toMatchObject({
      messages: [{ facts: [{ providerRef: `stripe:${intent.id}` }] }],
    })
  })

  test('on what we sign, with one secret or two, as text or bytes', () => {
    expect(webhooks.constructEvent(payload, ourHeader(), SECRET, 300, undefined, NOW.getTime())).toEqual(event)
    expect(theirsTakes(ourHeader(), { body: Buffer.from(payload) })).toBe(true)
    for (const secrets of [
      [secret, newer],
      [newer, secret],
    ])
      expect(theirsTakes(signEvent(event, secrets, NOW).headers['stripe-signature'])).toBe(true)
  })

  test.for([
    ['another body', ourHeader(), `${payload} `],
    ['another secret', signEvent(event, [stranger], NOW).headers['stripe-signature'], payload],
    ['no v1', `t=${seconds(NOW)}`, payload],
    ['only v0', ourHeader().replace('v1', 'v0'), payload],
    ['no t', ourHeader().split(',')[1] ?? '', payload],
    ['a t that is no number', ourHeader().replace(/t=\d+/, 't=abc'), payload],
    ['an old one', ourHeader(event, new Date(NOW.getTime() - 301_000)), payload],
    ['an empty body', ourHeader(''), ''],
  ] as const)('on refusing %s', ([, header, body]) => {
    expect(oursTakes(header, body)).toBe(false)
    expect(theirsTakes(header, { body })).toBe(false)
  })

  test('on 300 seconds of age', () => {
    const at = new Date(NOW.getTime() - 300_000)
    expect(oursTakes(ourHeader(event, at))).toBe(true)
    expect(theirsTakes(ourHeader(event, at))).toBe(true)
  })
})

describe('where the stripe package is more lenient than we are', () => {
  test('it takes any time in the future: its window has one side', () => {
    const future = theirHeader(seconds(NOW) + 86_400)
    expect(theirsTakes(future)).toBe(true)
    expect(oursTakes(future)).toBe(false)
  })

  test('a tolerance of 0 takes events of any age; earlier versions made 300 s of it without a word. Ours is no option', () => {
    const old = theirHeader(seconds(NOW) - 86_400)
    expect(theirsTakes(old, { tolerance: 0 })).toBe(true)
    expect(theirsTakes(old)).toBe(false)
    expect(oursTakes(old)).toBe(false)
  })

  test('it reads a number before other characters, and checks the signature of the number', () => {
    const mangled = ourHeader().replace(/t=(\d+)/, 't=$1abc')
    expect(theirsTakes(mangled)).toBe(true)
    expect(oursTakes(mangled)).toBe(false)
  })

  test('of two times it takes the last', () => {
    const twice = `t=1,${ourHeader()}`
    expect(theirsTakes(twice)).toBe(true)
    expect(oursTakes(twice)).toBe(false)
  })

  test('it decodes bytes as UTF-8 before it signs them, so that different bodies have one signature', () => {
    const broken = Buffer.concat([Buffer.from(payload.slice(0, -1)), Buffer.from([0xff]), Buffer.from('}')])
    const replaced = Buffer.from(broken.toString())
    const header = ourHeader(replaced)
    expect(() => webhooks.signature?.verifyHeader(broken, header, SECRET, 300, undefined, NOW.getTime())).not.toThrow()
    expect(ours.verify(request(header, broken), NOW)).toMatchObject({ rejection: { kind: 'bad_signature' } })
  })
})
