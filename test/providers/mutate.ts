import type { CallbackRequest } from '../../src/providers/provider.ts'
import type { Random } from '../helpers/seed.ts'

/** What a request is changed with: random choices, and other genuine requests to take parts from. */
export interface Mutation {
  readonly random: Random
  readonly others: readonly CallbackRequest[]
}

const BODY_BYTES_MAX = 20_000
/** Bytes that mean something to a parser of JSON, XML, forms or numbers. */
const SPECIAL = Buffer.from('\0\n\r\t "\'&=%+<>{}[]:,.;-_/\\0123456789eE\u00ff', 'latin1')
const TEXTS = [
  '',
  '0',
  '-1',
  '1e9',
  'null',
  'NaN',
  '"',
  '%00',
  '&amp;',
  ']]>',
  '<!DOCTYPE x>',
  '订',
  '\ufeff',
  '\ud800',
]
const BYPASSES = [
  'host',
  'x-forwarded-host',
  'x-forwarded-for',
  'x-real-ip',
  'content-type',
  'content-encoding',
  'x-test',
]

/** One to three changes of a request, what they were called, and of which genuine request the body is (or most of it). */
export function mutate(request: CallbackRequest, mutation: Mutation) {
  const { random, others } = mutation
  let [changed, origin] = [request, request]
  const names: string[] = []
  for (let times = 1 + random.below(3); times > 0; times--) {
    const [name, change] = random.pick(random.chance(0.55) ? OF_BODY : OF_HEADERS)
    changed = change(changed, mutation)
    origin = others.find(({ rawBody }) => rawBody.equals(changed.rawBody)) ?? origin
    names.push(name)
  }
  return { request: changed, how: names.join(', '), origin }
}

/** One to three changes of a body. */
export function mutateBody(body: Buffer, mutation: Mutation): Buffer {
  const { random } = mutation
  let changed: CallbackRequest = { headers: {}, repeatedHeaders: [], rawBody: body }
  for (let times = 1 + random.below(3); times > 0; times--) changed = random.pick(OF_BODY)[1](changed, mutation)
  return changed.rawBody
}

/** Values that JSON can hold and no sender means: without a text form, with names of ours, of another kind, or deep. */
const HOSTILE = [
  '{"toString":1,"valueOf":1}',
  '{"toJSON":1,"then":1,"length":-1}',
  '{"__proto__":{"toString":1}}',
  '{"constructor":{"prototype":{}},"hasOwnProperty":1}',
  ...['[]', '[true]', '[[["T1"]]]', '{}', '{"0":"T1"}', 'null', 'true', '1e400', '-0', '"\\ud800"', '"\\u0000"'],
  `${'['.repeat(2_000)}${']'.repeat(2_000)}`,
]

/** A JSON body, each of its values in turn replaced by each hostile one; none of a body that is no JSON. */
export function hostileBodies(body: Buffer): Buffer[] {
  let json: unknown
  try {
    json = JSON.parse(body.toString())
  } catch {
    return []
  }
  const found: Buffer[] = []
  // The hole is a text that stands nowhere else, so that what replaces it may be no value of JavaScript's.
  const hole = 'HOLE\u2603'
  for (const path of pathsIn(json)) {
    const [before = '', after = ''] = JSON.stringify(withValueAt(json, path, hole)).split(JSON.stringify(hole))
    for (const value of HOSTILE) found.push(Buffer.from(before + value + after))
  }
  return found
}

type Path = readonly string[]
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

function pathsIn(value: unknown, path: Path = []): Path[] {
  return [path, ...(isObject(value) ? Object.entries(value).flatMap(([key, of]) => pathsIn(of, [...path, key])) : [])]
}

function withValueAt(json: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined || !isObject(json)) return value
  const put = (name: string, item: unknown) => (name === key ? withValueAt(item, rest, value) : item)
  if (Array.isArray(json)) return json.map((item: unknown, index) => put(String(index), item))
  return Object.fromEntries(Object.entries(json).map(([name, item]) => [name, put(name, item)]))
}

type Change = readonly [name: string, (request: CallbackRequest, mutation: Mutation) => CallbackRequest]

const ofBody = (name: string, change: (body: Buffer, random: Random, other: Buffer) => Buffer): Change => [
  name,
  (request, { random, others }) => {
    const body = change(request.rawBody, random, random.pick(others).rawBody)
    return { ...request, rawBody: body.length > BODY_BYTES_MAX ? body.subarray(0, BODY_BYTES_MAX) : body }
  },
]
const splice = (body: Buffer, start: number, end: number, inserted: Buffer) =>
  Buffer.concat([body.subarray(0, start), inserted, body.subarray(end)])
const range = (body: Buffer, random: Random, lengthMax: number): [number, number] => {
  const start = random.below(body.length + 1)
  return [start, Math.min(body.length, start + random.below(lengthMax + 1))]
}

const flip = ofBody('flip', (body, random) => {
  const copy = Buffer.from(body)
  const at = random.below(body.length || 1)
  if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8))
  return copy
})
const byte = ofBody('byte', (body, random) => {
  const copy = Buffer.from(body)
  const at = random.below(body.length || 1)
  if (at < copy.length) copy[at] = random.chance(0.7) ? random.pick([...SPECIAL]) : random.below(256)
  return copy
})
const digit = ofBody('digit', (body, random) => {
  const text = body.toString('latin1')
  const digits = [...text.matchAll(/\d/g)]
  if (digits.length === 0) return body
  const { index } = random.pick(digits)
  return Buffer.from(text.slice(0, index) + String(random.below(10)) + text.slice(index + 1), 'latin1')
})
const remove = ofBody('remove', (body, random) => splice(body, ...range(body, random, 40), Buffer.alloc(0)))
const insert = ofBody('insert', (body, random) => {
  const [at] = range(body, random, 0)
  return splice(body, at, at, Buffer.from(random.pick(TEXTS)))
})
const cut = ofBody('cut', (body, random) => body.subarray(0, random.below(body.length + 1)))
const repeat = ofBody('repeat', (body, random) => {
  const [start, end] = range(body, random, 200)
  return splice(body, end, end, body.subarray(start, end))
})
const graft = ofBody('graft', (body, random, other) => {
  const [start, end] = range(body, random, 200)
  return splice(body, start, end, other.subarray(...range(other, random, 200)))
})
const cross = ofBody('cross', (body, random, other) => {
  const at = random.below(body.length + 1)
  return Buffer.concat([body.subarray(0, at), other.subarray(at)])
})
const wholeOther = ofBody('other body', (_, __, other) => other)

/** Fields as JSON, XML and forms write them: pieces between separators. */
const separatorOf = (body: Buffer) => (body[0] === 0x7b ? ',' : body[0] === 0x3c ? '<' : '&')
const ofFields = (name: string, change: (fields: string[], random: Random, others: string[]) => void): Change =>
  ofBody(name, (body, random, other) => {
    const separator = separatorOf(body)
    const fields = body.toString('latin1').split(separator)
    change(fields, random, other.toString('latin1').split(separator))
    return Buffer.from(fields.join(separator), 'latin1')
  })
const put = (fields: string[], at: number, value: string | undefined) => {
  if (value !== undefined) fields[at] = value
}
const swapFields = ofFields('swap fields', (fields, random) => {
  const [a, b] = [random.below(fields.length), random.below(fields.length)]
  const [first, second] = [fields[a], fields[b]]
  put(fields, a, second)
  put(fields, b, first)
})
const swapValues = ofFields('swap values', (fields, random) => {
  const [a, b] = [random.below(fields.length), random.below(fields.length)]
  const [first = '', second = ''] = [fields[a], fields[b]]
  const mark = /[=:>]/
  const [atFirst, atSecond] = [first.search(mark), second.search(mark)]
  put(fields, a, first.slice(0, atFirst) + second.slice(atSecond))
  put(fields, b, second.slice(0, atSecond) + first.slice(atFirst))
})
const doubleField = ofFields('double field', (fields, random) => {
  const field = random.pick(fields)
  fields.splice(random.below(fields.length + 1), 0, field)
})
const dropField = ofFields('drop field', (fields, random) => fields.splice(random.below(fields.length), 1))
const foreignField = ofFields('foreign field', (fields, random, others) => {
  fields.splice(random.below(fields.length + 1), random.below(2), random.pick(others))
})

const OF_BODY: readonly Change[] = [
  ...[flip, byte, digit, remove, insert, cut, repeat, graft, cross, wholeOther],
  ...[swapFields, swapValues, doubleField, dropField, foreignField],
]

const ofHeader = (
  name: string,
  change: (
    value: string,
    random: Random,
    headers: Record<string, string>,
    others: CallbackRequest,
  ) => string | undefined,
): Change => [
  name,
  (request, { random, others }) => {
    const headers = { ...request.headers }
    const names = Object.keys(headers)
    if (names.length === 0) return request
    const header = random.pick(names)
    const value = change(headers[header] ?? '', random, headers, random.pick(others))
    if (value !== undefined) headers[header] = value
    return { ...request, headers }
  },
]
const editHeader = ofHeader('edit header', (value, random) => {
  const at = random.below(value.length + 1)
  const inserted = random.chance(0.5) ? String.fromCharCode(33 + random.below(94)) : random.pick(TEXTS)
  return value.slice(0, at) + inserted + value.slice(at + random.below(3))
})
const emptyHeader = ofHeader('empty header', () => '')
const listHeader = ofHeader('list header', (value, random) => value + random.pick([', ', ',', ' ', ';']) + value)
const longHeader = ofHeader('long header', (value) => value.repeat(20))
const swapHeaders = ofHeader('swap headers', (value, random, headers) => {
  const name = random.pick(Object.keys(headers))
  const other = headers[name]
  headers[name] = value
  return other
})
const caseOfHeader = ofHeader('case of header', (value, random) =>
  random.chance(0.5) ? value.toUpperCase() : value.toLowerCase(),
)
const dropHeader: Change = [
  'drop header',
  (request, { random }) => {
    const entries = Object.entries(request.headers)
    entries.splice(random.below(entries.length || 1), 1)
    return { ...request, headers: Object.fromEntries(entries) }
  },
]
const repeatHeader: Change = [
  'repeat header',
  (request, { random }) => {
    const names = Object.keys(request.headers)
    if (names.length === 0) return request
    const repeated = random.pick(names)
    const headers = Object.entries(request.headers).filter(([name]) => name !== repeated)
    return { ...request, headers: Object.fromEntries(headers), repeatedHeaders: [...request.repeatedHeaders, repeated] }
  },
]
const otherHeaders: Change = [
  'other headers',
  (request, { random, others }) => {
    const theirs = Object.entries(random.pick(others).headers).filter(() => random.chance(0.5))
    return { ...request, headers: { ...request.headers, ...Object.fromEntries(theirs) } }
  },
]
const bypass: Change = [
  'bypass',
  (request, { random }) => ({
    ...request,
    headers: { ...request.headers, [random.pick(BYPASSES)]: random.pick(['localhost', '127.0.0.1', 'gzip', 'x']) },
  }),
]

const OF_HEADERS: readonly Change[] = [
  ...[editHeader, emptyHeader, listHeader, longHeader, swapHeaders, caseOfHeader],
  ...[dropHeader, repeatHeader, otherHeaders, bypass],
]
