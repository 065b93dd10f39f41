import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chinaTimeMs } from '../../src/providers/china-time.ts'
import { isIdentity, isMinorAmount } from '../../src/providers/limits.ts'
import { parseStrictJson } from '../../src/providers/strict-json.ts'

test('reads what JSON.parse reads, but for whole numbers that are not written so', () => {
  const written = (_name: string, value: unknown) =>
    Number.isInteger(value) && !(Number.isSafeInteger(value) && /^-?\d+$/.test(String(value))) ? NaN : value
  fc.assert(
    fc.property(fc.json({ maxDepth: 6, stringUnit: 'binary' }), (text) => {
      // Minus nothing is written in digits, and stays: no amount takes it.
      expect(parseStrictJson(text)).toEqual({ value: JSON.parse(text, written) as unknown })
    }),
  )
})

test.for([
  '{"a":1,"a":2}',
  '{"a":1,"b":{"x":1},"a":1}',
  '[{"a":1},{"b":1,"c":[{"d":1, "d" : 2}]}]',
  String.raw`{"a":1,"\u0061":2}`,
  String.raw`{"a\"":1,"a\"":2}`,
  String.raw`{"x":"\\","a":1,"a":2}`,
  '{"":1,"":2}',
  '{"a":[],"a":{}}',
  '{"__proto__":1,"__proto__":2}',
  `${'['.repeat(21)}${']'.repeat(21)}`,
  `${'{"a":'.repeat(21)}1${'}'.repeat(21)}`,
  '{"a":1',
  '',
])('refuses %s', (text) => expect(parseStrictJson(text)).toBeUndefined())

test.for([
  '{"a":"a","b":"a"}',
  '{"a":["a","a","b","b"],"b":["a"]}',
  '{"a":{"a":{"a":1}},"b":{"a":1}}',
  '[{"a":1},{"a":1}]',
  String.raw`{"a":"\"a\":1,\"a\":2","b":"\\"}`,
  String.raw`{"a":"x\",\"a\":1","b":"\\\\\",\"a\":1"}`,
  `${'['.repeat(20)}${']'.repeat(20)}`,
])('takes %s', (text) => expect(parseStrictJson(text)).toEqual({ value: JSON.parse(text) as unknown }))

test('a whole number that is not written in digits is none', () => {
  for (const odd of ['1e2', '1E2', '100.0', '100.0000000000000000001', '99.99999999999999999', '9007199254740993'])
    expect(parseStrictJson(`{"a":${odd},"b":[7,"1e2"]}`)).toEqual({ value: { a: NaN, b: [7, '1e2'] } })
  for (const plain of ['0', '100', '-5', '2.5', '0.876', '9007199254740991'])
    expect(parseStrictJson(`{"a":${plain},"x":"1e2"}`)).toEqual({ value: { a: Number(plain), x: '1e2' } })
})

test('an identity is 1 to 256 bytes of well-formed text without control characters', () => {
  for (const good of ['a', '00012', 'x'.repeat(256), '订'.repeat(85), 'T|*@-_ 1']) expect(isIdentity(good)).toBe(true)
  for (const bad of [
    '',
    'x'.repeat(257),
    '订'.repeat(86),
    'a\0',
    'a\r',
    'a\u0085',
    '\ud800',
    5,
    null,
    undefined,
    ['a'],
  ])
    expect(isIdentity(bad)).toBe(false)
})

test('an amount is an integer that Kafka can carry', () => {
  for (const good of [0, 1, 2 ** 53 - 2]) expect(isMinorAmount(good)).toBe(true)
  for (const bad of [-1, -0, 0.5, 2 ** 53 - 1, 2 ** 53, NaN, Infinity, '1', 1n, null])
    expect(isMinorAmount(bad)).toBe(false)
})

test.for([
  ['2024-05-20T13:29:35+08:00', '2024-05-20T05:29:35.000Z'],
  ['2024-05-20T13:29:35.120+08:00', '2024-05-20T05:29:35.120Z'],
  ['2024-05-20T05:29:35Z', '2024-05-20T05:29:35.000Z'],
  ['2024-05-20 13:29:35', '2024-05-20T05:29:35.000Z'],
  ['2024-05-20 13:29:35.32', '2024-05-20T05:29:35.320Z'],
  ['20240520132935', '2024-05-20T05:29:35.000Z'],
  ['2024-01-01 07:59:59', '2023-12-31T23:59:59.000Z'],
] as const)('%s is %s', ([text, iso]) => expect(chinaTimeMs(text)).toBe(Date.parse(iso)))

test.for([
  '',
  'now',
  '2024-05-20',
  '2024-13-20 13:29:35',
  '9999-12-31 23:59:59', // beyond what the processor keeps
  '1716182975',
  '2024-05-20T13:29:35+8',
  'x'.repeat(50),
  5,
  null,
])('%j is no time', (text) => expect(chinaTimeMs(text)).toBeUndefined())
