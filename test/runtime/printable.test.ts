import { expect, test } from 'vitest'
import { printable, printableJson, printableLines } from '../../src/runtime/printable.ts'

const HIDDEN = [
  ...[0x00, 0x07, 0x1b, 0x7f, 0x80, 0x9b, 0x9d, 0x9f, 0xad, 0x61c, 0x180e, 0x115f, 0x3164, 0xffa0, 0x200b, 0x200f],
  ...[0x2028, 0x2029, 0x202e, 0x2066, 0x2069, 0xfeff, 0xfe0f, 0xe0041, 0xe0100, 0xd800, 0xe000, 0xffff, 0x10ffff],
  ...[0xa0, 0x2003, 0x2800, 0x34f],
]

test.each(HIDDEN.map((code) => [code.toString(16), String.fromCodePoint(code)]))('U+%s is escaped', (hex, char) => {
  expect(printable(`a${char}b`)).toBe(`a\\u{${hex}}b`)
  const json = printableJson(JSON.stringify({ a: `a${char}b` }, null, 2))
  expect(json).not.toContain(char)
  expect(JSON.parse(json)).toEqual({ a: `a${char}b` })
})

test('what people write stays as it is', () => {
  const text = 'Grüße, 会员　"5% off" — ¥1.00 \u{1f600} e\u0301 ┌─┐ العربية'
  expect(printable(text)).toBe(text)
  expect(printableLines(`${text}\n\u001b[2J\r\n`)).toBe(`${text}\n\\u{1b}[2J\\u{d}\n`)
})
