import { expect, test } from 'vitest'
import { csv } from '../../src/cli/csv.ts'

const cell = (text: string) =>
  csv(['title'], [[text]])
    .split('\r\n')
    .slice(1)
    .join('\r\n')

test.for(['=1+1', '+1', '-1', '@SUM(A1)', ' =1+1', '＝1+1', '＋1', '－1', '＠SUM(A1)', '\u3000=1'])(
  'a spreadsheet takes %j for text',
  (text) => expect(cell(text)).toBe(`'${text}`),
)

test('no value ends its cell or its line, and numbers stay numbers', () => {
  expect(cell('a"b,c')).toBe('"a""b,c"')
  expect(cell('a\r\n=1+1')).not.toContain('\n')
  expect(cell('\t=1+1')).toBe('\\u{9}=1+1')
  expect(cell('=HYPERLINK("http://x","y")')).toBe(`"'=HYPERLINK(""http://x"",""y"")"`)
  expect(csv(['a', 'b'], [[-5, null]])).toBe('a,b\r\n-5,')
})
