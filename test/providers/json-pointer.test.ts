import { expect, test } from 'vitest'
import { parsePointer, valueAt } from '../../src/providers/json-pointer.ts'

/** RFC 6901, section 5. */
const DOCUMENT: unknown = JSON.parse(
  '{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\\\j":5,"k\\"l":6," ":7,"m~n":8,"~1":9}',
)
const at = (text: string) => {
  const pointer = parsePointer(text)
  return pointer === undefined ? 'no pointer' : valueAt(DOCUMENT, pointer)
}

test.for([
  ['/foo', ['bar', 'baz']],
  ['/foo/0', 'bar'],
  ['/foo/1', 'baz'],
  ['/', 0],
  ['/a~1b', 1],
  ['/c%d', 2],
  ['/e^f', 3],
  ['/g|h', 4],
  ['/i\\j', 5],
  ['/k"l', 6],
  ['/ ', 7],
  ['/m~0n', 8],
  // Unescaped in the other order it would be "/".
  ['/~01', 9],
] as const)('%s shows %j', ([text, value]) => expect(at(text)).toEqual(value))

test.for([
  '/foo/2',
  '/foo/-',
  '/foo/01',
  '/foo/+1',
  '/foo/length',
  '/foo/map',
  '/foo/0/length',
  '/x',
  '/foo/0/0',
  '/toString',
])('%s shows nothing', (text) => expect(at(text)).toBeUndefined())

test.for(['', 'foo', '#/foo', '/~', '/~2', '/a~', `/${'x'.repeat(256)}`])('%s is no pointer', (text) =>
  expect(at(text)).toBe('no pointer'),
)

test('what every object inherits is nowhere, and a name of its own is, whatever it is called', () => {
  for (const name of ['__proto__', 'constructor']) expect(at(`/${name}`)).toBeUndefined()
  expect(valueAt(JSON.parse('{"__proto__":1}'), { tokens: ['__proto__'] })).toBe(1)
})
