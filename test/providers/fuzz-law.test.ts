import { expect, test } from 'vitest'
import type { CallbackRequest, Verdict, VerifiedMessage } from '../../src/providers/provider.ts'
import { randomOf } from '../helpers/seed.ts'
import { lawOf } from './fuzz-law.ts'
import { mutate } from './mutate.ts'

const request = (body: string): CallbackRequest => ({ headers: {}, repeatedHeaders: [], rawBody: Buffer.from(body) })
const says = (outTradeNo: string): readonly [VerifiedMessage] => [
  { outTradeNo, messageType: 'paid', messageId: '', facts: [] },
]
const verified = (outTradeNo: string): Verdict => ({ kind: 'verified', messages: says(outTradeNo) })
const [first, second] = [request('a=1&order=T1'), request('a=1&order=T2')]
/** The signed bytes are the fields by name; a body that begins with ? has none. */
const canonical = ({ rawBody }: CallbackRequest) =>
  rawBody[0] === 0x3f ? undefined : Buffer.from(rawBody.toString().split('&').sort().join('&'))
const isLawful = lawOf({
  provider: { inspect: { keys: [], canonical, verifies: () => true, namedKey: () => undefined, signedAtSec: () => 0 } },
  genuine: [first, second],
  expected: [says('T1'), says('T2')],
})

test('a mutated request that says what another genuine one says is found', () => {
  expect(isLawful(verified('T1'), first, first)).toBe(true)
  expect(isLawful(verified('T2'), first, first)).toBe(false)
  expect(isLawful(verified('T3'), first, first)).toBe(false)
  expect(isLawful({ kind: 'refused', rejection: { kind: 'bad_signature' } }, first, first)).toBe(true)
})

test('its original is the one whose signed bytes it has, or else the one that its body came from', () => {
  const reordered = request('order=T2&a=1')
  expect(isLawful(verified('T2'), reordered, first)).toBe(true)
  expect(isLawful(verified('T1'), reordered, first)).toBe(false)
  for (const other of [request('?order=T2'), request('a=1&b=&order=T2')]) {
    expect(isLawful(verified('T2'), other, second)).toBe(true)
    expect(isLawful(verified('T1'), other, second)).toBe(false)
  }
})

test('a mutation knows which genuine request its body came from', () => {
  const others = [first, second]
  const origins = new Set<CallbackRequest>()
  for (let seed = 1; seed < 500; seed++) {
    const { request: mutated, origin } = mutate(first, { random: randomOf(seed), others })
    origins.add(origin)
    for (const other of others) if (mutated.rawBody.equals(other.rawBody)) expect(origin).toBe(other)
  }
  expect(origins).toEqual(new Set(others))
})
