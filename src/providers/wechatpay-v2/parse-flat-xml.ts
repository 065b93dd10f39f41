import { isUtf8 } from 'node:buffer'

/** The fields of a flat document, in their order, each value as it lies in the bytes: nothing is coerced or trimmed. */
export type XmlFields = ReadonlyMap<string, string>

/** What the gateway reads at most. */
const BYTES_MAX = 65_536
/** A payment has about 25 fields and 3 more for each coupon, an answer about refunds 8 and more for each refund. */
const FIELDS_MAX = 400

const NAME = /[A-Za-z_][A-Za-z0-9_]{0,63}/y
const SPACE = /[ \t\r\n]*/y
const CDATA = '<![CDATA['
const CDATA_END = ']]>'

/**
 * Reads `<root><a><![CDATA[text]]></a><b>1</b></root>` and nothing else, so that there is nothing in it to attack: no
 * entity is ever resolved, since none is read, and no two readers could take one text for two values. WeChat Pay writes
 * text in CDATA, where `&` means itself, and only figures without, so that the five predefined entities are refused as
 * well; so are a byte order mark, a prolog, comments, attributes, nesting and a field that comes twice.
 * @returns the fields, or why there are none (for the log, without a word of the document)
 * @see binarywang/WxJava#660: WeChat Pay's mail of July 2018 about external entities in merchants' parsers
 */
export function parseFlatXml(bytes: Buffer, root: 'xml' | 'root'): XmlFields | string {
  if (bytes.length > BYTES_MAX) return `more than ${BYTES_MAX} bytes`
  if (!isUtf8(bytes)) return 'not UTF-8'
  const text = bytes.toString()
  const after = (pattern: RegExp, from: number) => {
    pattern.lastIndex = from
    return pattern.test(text) ? pattern.lastIndex : from
  }
  let at = after(SPACE, 0)
  if (!text.startsWith(`<${root}>`, at)) return describe(text, at, `no <${root}> at the beginning`)
  at += root.length + 2

  const fields = new Map<string, string>()
  for (;;) {
    at = after(SPACE, at)
    if (text.startsWith(`</${root}>`, at)) break
    const nameEnd = text.charAt(at) === '<' ? after(NAME, at + 1) : at
    const name = text.slice(at + 1, nameEnd)
    if (name === '') return describe(text, at, 'no field where one must begin')
    if (fields.has(name)) return 'a field that comes twice'
    if (fields.size === FIELDS_MAX) return `more than ${FIELDS_MAX} fields`
    const value = readValue(text, nameEnd, name)
    if (typeof value === 'string') return value
    fields.set(name, text.slice(value.start, value.end))
    at = value.next
  }
  const end = after(SPACE, at + root.length + 3)
  return end === text.length ? fields : describe(text, end, 'something after the end')
}

interface Value {
  readonly start: number
  readonly end: number
  /** After the closing tag. */
  readonly next: number
}

/** What follows a field's name up to its closing tag, or why that is no value. */
function readValue(text: string, at: number, name: string): Value | string {
  if (text.startsWith('/>', at)) return { start: at, end: at, next: at + 2 }
  if (text.charAt(at) !== '>') return 'an attribute, or a name longer than 64'
  let start = at + 1
  const isCdata = text.startsWith(CDATA, start)
  if (isCdata) start += CDATA.length
  const end = text.indexOf(isCdata ? CDATA_END : '<', start)
  if (end === -1) return 'cut off'
  const close = isCdata ? end + CDATA_END.length : end
  if (!isCdata && /[&>]/.test(text.slice(start, end))) return 'an entity, or a bracket outside CDATA'
  if (!text.startsWith(`</${name}>`, close)) return describe(text, close, 'nesting, or a tag that closes another')
  return { start, end, next: close + name.length + 3 }
}

/** Names what an attack would begin with, for whoever reads the log. */
function describe(text: string, at: number, otherwise: string): string {
  if (text.startsWith('<?', at)) return 'a prolog or instruction'
  if (text.startsWith('<!--', at)) return 'a comment'
  if (text.startsWith(CDATA, at)) return 'CDATA beside a value'
  return text.startsWith('<!', at) ? 'a document type' : otherwise
}
