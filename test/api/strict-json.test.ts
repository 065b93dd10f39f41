import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BadJson, parseStrictJson } from '../../src/api/strict-json.ts'

const failure = (text: string) => {
  try {
    parseStrictJson(text, 'payload')
  } catch (error) {
    if (error instanceof BadJson) return `${error.path}: ${error.message}`
    throw error
  }
  return 'accepted'
}

test.each([
  ['', ': ends where a value is expected'],
  ['{', ': ends where a key in double quotes is expected'],
  ['{"a":1,}', ': a key in double quotes expected at character 8'],
  ['{"a" 1}', ': ":" expected at character 6'],
  ['[1 2]', ': "," or "]" expected at character 4'],
  ["{'a':1}", ': a key in double quotes expected at character 2'],
  ['{"a":01}', ': "," or "}" expected at character 7'],
  ['{"a":1} x', ': more text after the value, at character 9'],
  ['{"a":"\t"}', 'a: a value expected at character 6'],
  ['{"a":1,"a":2}', 'a: is given twice'],
  ['{"a":1,"\\u0061":2}', 'a: is given twice'],
  ['{"orders":[{"b":1,"b":1}]}', 'orders[0].b: is given twice'],
  ['{"__proto__":{}}', '__proto__: is no allowed key'],
  ['{"payload":{"x":1,"x":2}}', 'payload.x: is given twice'],
  ['NaN', ': a value expected at character 1'],
])('%s is refused', (text, expected) => {
  expect(failure(text)).toBe(expected)
})

test.each(['1.5', '1.0', '1e2', '0.1', '9007199254740993', '-9007199254740992', '1E400'])(
  '%s is no number that a field could take',
  (number) => {
    expect(parseStrictJson(`{"orders":[{"amount_minor":1},{"amount_minor":${number}}]}`)).toEqual({
      orders: [{ amount_minor: 1 }, { amount_minor: NaN }],
    })
  },
)

test('is not deeper than 32 levels, opaque or not', () => {
  expect(failure('['.repeat(32) + ']'.repeat(32))).toBe('accepted')
  expect(failure('['.repeat(33) + ']'.repeat(33))).toContain('nested deeper than 32 levels')
  expect(failure(`{"payload":${'['.repeat(100_000)}`)).toContain('payload: is nested deeper than 32 levels')
})

test('an opaque value keeps its digits and loses only its spaces', () => {
  const text = '{"payload": { "sku" : 12345678901234567890 , "price":1.10, "s": "a \\u4e2d b", "l":[ true, null ] } }'
  expect(parseStrictJson(text, 'payload')).toEqual({
    payload: { raw: '{"sku":12345678901234567890,"price":1.10,"s":"a \\u4e2d b","l":[true,null]}' },
  })
  expect(parseStrictJson('{"payload":"plain"}', 'payload')).toEqual({ payload: 'plain' })
})

const onlySafeIntegers = (_key: string, value: unknown) =>
  typeof value === 'number' && !Number.isSafeInteger(value) ? NaN : value

test('where it accepts a text, it agrees with JSON.parse', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom('', ' ', '\n\t'), (text, space) => {
      const spaced = space + text + space
      const said = failure(spaced)
      if (said === 'accepted') expect(parseStrictJson(spaced)).toEqual(JSON.parse(spaced, onlySafeIntegers))
      else expect(said).toMatch(/no allowed key|nested deeper/)
    }),
    { numRuns: 500 },
  )
})

test('any text gives a value or a BadJson, nothing else', () => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    'a',
    '1',
    '-',
    '.',
    'e',
    'null',
    ' ',
    '\u0000',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
      const text = parts.join('')
      let legal = true
      try {
        JSON.parse(text)
      } catch {
        legal = false
      }
      if (!legal) expect(failure(text)).not.toBe('accepted')
    }),
    { numRuns: 2_000 },
  )
})
