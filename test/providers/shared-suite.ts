import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CallbackRequest, Provider, VerifiedMessage, Verdict } from '../../src/providers/provider.ts'

/** What a provider hands to the suite that all of them must pass. Every request in it is signed at `now`. */
export interface Subject {
  readonly name: string
  readonly now: Date
  readonly provider: Provider
  /** The same provider, bound to another of our merchants. */
  readonly otherMerchant: Provider
  readonly otherMerchantRefuses: 'wrong_recipient' | 'bad_signature'
  readonly genuine: CallbackRequest
  readonly message: VerifiedMessage
  /** Signed as `genuine`, by a key that we do not hold. */
  readonly forged: CallbackRequest
  /** Whether a time is part of what is signed. */
  readonly signsTime: boolean
  /** Header in which the time is, and header in which the signature is; undefined: in the body. */
  readonly headers: { readonly timestamp?: string; readonly signature?: string }
  /** The value of the header that has the time, with another time in it; undefined: that header is the time alone. */
  readonly timeIn?: (header: string, time: string) => string
  /** Other bytes may say the same (`%2F`, `%2f`): then the verdict must be the same too. */
  readonly bytesHaveSpellings: boolean
  /** Space before and after the document says nothing, as in XML. */
  readonly spaceAroundIsFree?: boolean
  /** Properly signed, its body these bytes. */
  readonly signed: (rawBody: Buffer) => CallbackRequest
  /** A properly signed message with one field changed; what the refusal names. */
  readonly withField: (field: string, value: unknown) => CallbackRequest
  /** Fields that are identities, as `withField` and refusals name them. */
  readonly identities: readonly string[]
  readonly wrongTypes: readonly (readonly [field: string, value: unknown])[]
  /** Properly signed, one field in it twice with different values. */
  readonly duplicateField: CallbackRequest
  /** Properly signed messages of kinds that are not mapped, with the order that they name. */
  readonly unmapped: readonly (readonly [what: string, request: CallbackRequest, outTradeNo: string | null])[]
  /** Properly signed messages of further kinds that state facts, each with all that it says. */
  readonly kinds?: readonly (readonly [what: string, request: CallbackRequest, messages: readonly VerifiedMessage[]])[]
  /** Properly signed messages that are understood and change nothing, with the order that they name. */
  readonly noEffect?: readonly (readonly [what: string, request: CallbackRequest, outTradeNo: string | null])[]
}

const refusalOf = (verdict: Verdict) => (verdict.kind === 'refused' ? verdict.rejection.kind : verdict.kind)
const withHeader = (request: CallbackRequest, name: string, value: string): CallbackRequest => ({
  ...request,
  headers: { ...request.headers, [name]: value },
})
/** A law that does not concern the provider is no test of it, and no skipped one either. */
const none: (what: string, law: () => void) => void = () => undefined
export const withoutHeader = ({ headers }: CallbackRequest, name: string) =>
  Object.fromEntries(Object.entries(headers).filter(([header]) => header !== name))
const altered = (bytes: Buffer, at: number, flip: number) => {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ flip
  return copy
}

/** The laws of a provider, whoever it is. */
export function passesSharedSuite(subject: Subject) {
  const { provider, now, genuine, message } = subject
  const verified: Verdict = { kind: 'verified', messages: [message] }
  const at = (seconds: number) => new Date(now.getTime() + seconds * 1_000)

  describe(`${subject.name}: what every provider must do`, () => {
    test('takes a genuine message, and says the same each time it comes', () => {
      expect(provider.verify(genuine, now)).toEqual(verified)
      expect(provider.verify(genuine, at(20))).toEqual(verified)
    })

    test('refuses a message that a stranger signed', () =>
      expect(refusalOf(provider.verify(subject.forged, now))).toBe('bad_signature'))

    test('can be taken apart: one key made the signature, and none a forged one', () => {
      const { inspect } = provider
      const made = inspect.keys.filter(({ id }) => inspect.verifies(genuine, id))
      expect(made.length).toBeGreaterThan(0)
      const named = inspect.namedKey(genuine)
      if (named !== undefined) expect(made.map(({ id }) => id)).toContain(named)
      expect(inspect.canonical(genuine)?.length).toBeGreaterThan(0)
      for (const { id } of inspect.keys) expect(inspect.verifies(subject.forged, id)).toBe(false)
      expect(inspect.verifies(genuine, 'no such key')).toBe(false)
      const nothing = { headers: {}, repeatedHeaders: [], rawBody: Buffer.alloc(0) }
      expect(inspect.canonical(nothing)).toBeUndefined()
      const signedAtSec = inspect.signedAtSec(genuine)
      if (subject.signsTime) expect(signedAtSec).toBe(Math.floor(now.getTime() / 1_000))
      else expect(signedAtSec).toBeUndefined()
    })

    test('refuses a message to another merchant', () => {
      const verdict = subject.otherMerchant.verify(genuine, now)
      expect(refusalOf(verdict)).toBe(subject.otherMerchantRefuses)
    })

    test('refuses a body of which any byte was altered', () => {
      const { rawBody } = genuine
      const position = fc.integer({ min: 0, max: rawBody.length - 1 })
      fc.assert(
        fc.property(position, fc.integer({ min: 1, max: 255 }), (index, flip) => {
          const verdict = provider.verify({ ...genuine, rawBody: altered(rawBody, index, flip) }, now)
          if (subject.bytesHaveSpellings && verdict.kind === 'verified') expect(verdict).toEqual(verified)
          else expect(verdict.kind).toBe('refused')
        }),
        { numRuns: 400 },
      )
    })

    test('refuses a body that was cut or lengthened', () => {
      for (const cut of [1, 2, 10, genuine.rawBody.length - 1]) {
        const shorter = { ...genuine, rawBody: genuine.rawBody.subarray(0, -cut) }
        expect(provider.verify(shorter, now).kind).toBe('refused')
      }
      for (const more of ['\n', ' ', '\0', 'a']) {
        const longer = { ...genuine, rawBody: Buffer.concat([genuine.rawBody, Buffer.from(more)]) }
        if (subject.spaceAroundIsFree === true && more.trim() === '')
          expect(provider.verify(longer, now)).toEqual(verified)
        else expect(provider.verify(longer, now).kind).toBe('refused')
      }
    })

    test('refuses an empty body, signed or not', () => {
      expect(refusalOf(provider.verify({ ...genuine, rawBody: Buffer.alloc(0) }, now))).toBe('malformed')
      expect(refusalOf(provider.verify(subject.signed(Buffer.alloc(0)), now))).toBe('malformed')
    })

    test.for(provider.signedHeaders)('needs the header %s once, as it was signed', (header) => {
      const value = genuine.headers[header] ?? ''
      const others = withoutHeader(genuine, header)
      const missing = { kind: 'refused', rejection: { kind: 'missing_header', header } }
      expect(provider.verify({ ...genuine, headers: others }, now)).toEqual(missing)
      expect(provider.verify(withHeader(genuine, header, ''), now)).toEqual(missing)
      const repeated = { ...genuine, headers: others, repeatedHeaders: [header] }
      expect(provider.verify(repeated, now)).toEqual({
        kind: 'refused',
        rejection: { kind: 'repeated_header', header },
      })
      for (let index = 0; index < value.length; index++) {
        const other = value[index] === 'A' ? 'B' : 'A'
        const changed = withHeader(genuine, header, value.slice(0, index) + other + value.slice(index + 1))
        expect(provider.verify(changed, now).kind).toBe('refused')
      }
      expect(provider.verify(withHeader(genuine, header, `${value},${value}`), now).kind).toBe('refused')
    })

    const ifTimeIsSigned = subject.signsTime ? test : none
    ifTimeIsSigned('takes 300 seconds of age or lead, and not one more', () => {
      for (const seconds of [-300, -299, 0, 299, 300]) expect(provider.verify(genuine, at(seconds))).toEqual(verified)
      for (const seconds of [-301, 301, -86_400, 86_400])
        expect(provider.verify(genuine, at(seconds))).toEqual({
          kind: 'refused',
          rejection: { kind: 'stale', ageSec: seconds },
        })
    })

    const ifNoTimeIsSigned = subject.signsTime ? none : test
    ifNoTimeIsSigned('takes a message however old it is, as nothing in it says when it was sent', () => {
      for (const seconds of [25 * 3_600, -3_600]) expect(provider.verify(genuine, at(seconds))).toEqual(verified)
    })

    ifTimeIsSigned('refuses a time in any other form than ten digits', () => {
      const { timestamp = '' } = subject.headers
      const header = genuine.headers[timestamp] ?? ''
      const sec = String(provider.inspect.signedAtSec(genuine))
      const forms = [
        'abc',
        '1e9',
        '0x5f5e100',
        '-1',
        `+${sec}`,
        ` ${sec}`,
        `${sec}.0`,
        `${sec}000`,
        'NaN',
        '１７０００００００００',
      ]
      for (const form of forms)
        expect(
          refusalOf(provider.verify(withHeader(genuine, timestamp, subject.timeIn?.(header, form) ?? form), now)),
        ).toBe('malformed')
    })

    const ifSignedInHeader = subject.headers.signature === undefined ? none : test
    ifSignedInHeader('refuses every other spelling of the signature', () => {
      const { signature: header = '' } = subject.headers
      const signature = genuine.headers[header] ?? ''
      const spellings = [
        signature.slice(0, -1),
        `${signature}=`,
        `${signature.slice(0, 8)} ${signature.slice(8)}`,
        signature.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''),
        'é'.repeat(64),
        'A'.repeat(344),
        'null',
      ]
      for (const other of spellings.filter((spelling) => spelling !== signature))
        expect(provider.verify(withHeader(genuine, header, other), now).kind).toBe('refused')
    })

    test('reads the bytes, whatever the content type says', () => {
      for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'nonsense; ; ='])
        expect(provider.verify(withHeader(genuine, 'content-type', type), now)).toEqual(verified)
      expect(provider.verify({ ...genuine, headers: withoutHeader(genuine, 'content-type') }, now)).toEqual(verified)
    })

    test('lets no header talk it out of checking', () => {
      for (const header of ['host', 'x-forwarded-host', 'x-forwarded-for', 'x-real-ip', 'x-test'])
        expect(provider.verify(withHeader(subject.forged, header, 'localhost'), now).kind).toBe('refused')
    })

    test('refuses a field that comes twice', () =>
      expect(refusalOf(provider.verify(subject.duplicateField, now))).toBe('malformed'))

    test.for(subject.identities)('bounds the identity %s', (field) => {
      const refusal = { kind: 'refused', rejection: { kind: 'malformed', field } }
      for (const value of ['x'.repeat(257), '订'.repeat(86), '', 'a\0b', 'a\nb', 'a\u007fb'])
        expect(provider.verify(subject.withField(field, value), now)).toEqual(refusal)
      expect(provider.verify(subject.withField(field, '00012'), now).kind).toBe('verified')
    })

    test.for(subject.identities.filter((field) => field.endsWith('out_trade_no')))(
      'lets no %s in that the processor has no room for',
      (field) => {
        const refusal = { kind: 'refused', rejection: { kind: 'malformed', field } }
        for (const value of ['x'.repeat(65), '订'.repeat(22)])
          expect(provider.verify(subject.withField(field, value), now)).toEqual(refusal)
        for (const value of ['x'.repeat(64), '订'.repeat(21)])
          expect(provider.verify(subject.withField(field, value), now)).toMatchObject({
            messages: [{ outTradeNo: value }],
          })
      },
    )

    test.for(subject.wrongTypes.map(([field, value]) => [field, value, inspect(value).slice(0, 30)] as const))(
      'refuses %s = %3$s',
      ([field, value]) => expect(refusalOf(provider.verify(subject.withField(field, value), now))).toBe('malformed'),
    )

    test.for(subject.unmapped)('keeps %s without a fact', ([, request, outTradeNo]) => {
      const verdict = provider.verify(request, now)
      expect(verdict).toMatchObject({ kind: 'verified', messages: [{ outTradeNo, facts: [] }] })
      if (verdict.kind === 'verified') expect(verdict.messages[0].instead).toBeUndefined()
    })

    test.for(subject.noEffect ?? [])('understands %s, which changes nothing', ([, request, outTradeNo]) => {
      const verdict = provider.verify(request, now)
      const instead = { kind: 'no_effect' }
      expect(verdict).toMatchObject({ kind: 'verified', messages: [{ outTradeNo, facts: [], instead }] })
    })

    test.for(subject.kinds ?? [])('takes %s for what it says', ([, request, messages]) => {
      expect(provider.verify(request, now)).toEqual({ kind: 'verified', messages })
      for (const { facts } of messages) {
        // A refund is held until its payment is known: so a full one of an unknown payment ships nothing.
        const kinds = facts.map(({ eventType }) => eventType)
        if (kinds.includes('payment_succeeded')) expect(kinds.at(-1)).toBe('payment_succeeded')
      }
      expect(refusalOf(subject.otherMerchant.verify(request, now))).toBe(subject.otherMerchantRefuses)
    })

    test('never throws, whatever comes', () => {
      const headers = fc.dictionary(fc.constantFrom(...Object.keys(genuine.headers)), fc.string({ unit: 'binary' }))
      fc.assert(
        fc.property(headers, fc.uint8Array({ maxLength: 400 }), (changed, body) => {
          const request = { ...genuine, headers: { ...genuine.headers, ...changed }, rawBody: Buffer.from(body) }
          expect(provider.verify(request, now).kind).toBe('refused')
        }),
        { numRuns: 300 },
      )
    })

    test('never throws at a body that is well signed', () => {
      const body = fc.oneof(
        fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
        fc.json({ maxDepth: 4 }).map((text) => Buffer.from(text)),
        fc.constant(Buffer.from('['.repeat(30_000))),
        fc.constant(Buffer.from(`${'['.repeat(30_000)}${']'.repeat(30_000)}`)),
        fc.constant(Buffer.from('{"__proto__":{"polluted":1},"constructor":1}')),
      )
      fc.assert(
        fc.property(body, (rawBody) =>
          ['refused', 'verified'].includes(provider.verify(subject.signed(rawBody), now).kind),
        ),
        { numRuns: 150 },
      )
      expect({}).not.toHaveProperty('polluted')
    })
  })
}
