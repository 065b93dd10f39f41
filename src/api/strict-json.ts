/** A JSON text that is refused, and where: `orders[3].amount_minor`, or empty for the whole text. */
export class BadJson extends Error {
  override readonly name = 'BadJson'
  readonly path: string
  constructor(path: string, message: string) {
    super(message)
    this.path = path
  }
}

/** Text of an opaque value as it was sent, without the spaces between its tokens. */
export interface RawText {
  readonly raw: string
}
export type Json = null | boolean | number | string | RawText | readonly Json[] | { readonly [key: string]: Json }

const DEPTH_MAX = 32
const SPACE = /[ \t\n\r]*/y
// Any character from the space on, but for the quote and the backslash.
const STRING = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y

/**
 * Reads JSON more strictly than JSON.parse: a key sent twice, `__proto__` and more than 32 levels are refused, as two
 * readers could understand each of them differently (and one of them ships goods). A number that is not written as a
 * safe integer (1.5, 1.0, 1e2, 2^53) is read as NaN, which no field takes: what else is in the text can be used.
 * @param opaqueKey under this key an array or object is not read but kept as text (`RawText`), so that a number in it
 *   (an article's 20-digit id, a price 1.10) reaches the workers digit for digit.
 * @throws BadJson
 */
export function parseStrictJson(text: string, opaqueKey?: string): Json {
  let at = 0
  const token = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found !== undefined) at += found.length
    return found
  }
  const space = () => {
    if (text.charCodeAt(at) <= 0x20) token(SPACE)
  }
  const skip = (char: string) => {
    space()
    if (text[at] !== char) return false
    at++
    return true
  }
  const refuse = (path: string, message: string): never => {
    throw new BadJson(path, message)
  }
  const expected = (path: string, what: string): never =>
    refuse(path, at >= text.length ? `ends where ${what} is expected` : `${what} expected at character ${at + 1}`)

  /** Calls `member` for each element, which reads it. */
  function list(path: string, close: string, member: (index: number) => void) {
    if (skip(close)) return
    let index = 0
    do member(index++)
    while (skip(','))
    if (!skip(close)) expected(path, `"," or "${close}"`)
  }
  function key(path: string, seen: Set<string>): string {
    space()
    const found = token(STRING) ?? expected(path, 'a key in double quotes')
    const name = JSON.parse(found) as string
    if (seen.has(name)) refuse(join(path, name), 'is given twice')
    if (name === '__proto__') refuse(join(path, name), 'is no allowed key')
    seen.add(name)
    if (!skip(':')) expected(path, '":"')
    return name
  }
  function scalar(path: string): Json {
    const string = token(STRING)
    if (string !== undefined) return JSON.parse(string) as string
    const word = token(WORD)
    if (word !== undefined) return JSON.parse(word) as boolean | null
    const number = token(NUMBER) ?? expected(path, 'a value')
    const value = Number(number)
    return /[.eE]/.test(number) || !Number.isSafeInteger(value) ? NaN : value
  }
  function value(path: string, depth: number, opaque: boolean): Json {
    if (depth > DEPTH_MAX) refuse(path, `is nested deeper than ${DEPTH_MAX} levels`)
    space()
    const nested = text[at] === '{' || text[at] === '['
    if (opaque && nested) return { raw: compact(path, depth) }
    if (skip('[')) {
      const items: Json[] = []
      list(path, ']', (index) => items.push(value(`${path}[${index}]`, depth + 1, false)))
      return items
    }
    if (!skip('{')) return scalar(path)
    const members: [string, Json][] = []
    const seen = new Set<string>()
    list(path, '}', () => {
      const name = key(path, seen)
      members.push([name, value(join(path, name), depth + 1, name === opaqueKey)])
    })
    return Object.fromEntries(members)
  }
  /** The same walk, but the tokens are kept as they are. */
  function compact(path: string, depth: number): string {
    if (depth > DEPTH_MAX) refuse(path, `is nested deeper than ${DEPTH_MAX} levels`)
    space()
    const parts: string[] = []
    if (skip('[')) {
      list(path, ']', () => parts.push(compact(path, depth + 1)))
      return `[${parts.join(',')}]`
    }
    if (skip('{')) {
      const seen = new Set<string>()
      list(path, '}', () => parts.push(`${JSON.stringify(key(path, seen))}:${compact(path, depth + 1)}`))
      return `{${parts.join(',')}}`
    }
    return token(STRING) ?? token(WORD) ?? token(NUMBER) ?? expected(path, 'a value')
  }
  const result = value('', 1, false)
  space()
  if (at < text.length) refuse('', `more text after the value, at character ${at + 1}`)
  return result
}

const join = (path: string, name: string) => (path === '' ? name : `${path}.${name}`)
