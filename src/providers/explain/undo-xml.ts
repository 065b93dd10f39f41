import { withBody, type Restored, type Seen } from './distortion.ts'
import { isObject, parsed } from './json-text.ts'

const FIELD = /<([A-Za-z_][A-Za-z0-9_]{0,63})>(?:<!\[CDATA\[([^]*?)\]\]>|([^<]*))<\/\1>/g
const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
  '&amp;': '&',
}
const TEXT_CHARS_MAX = 65_536

/** A reader of XML printed it again: a prolog, entities for CDATA, attributes, another root. */
export function* undoXmlReprinted(seen: Seen): Generator<Restored> {
  const text = seen.request.rawBody.toString('latin1')
  if (text.length > TEXT_CHARS_MAX) return
  const fields = [...text.matchAll(FIELD)].map(([, name = '', cdata, plain = '']): [string, string] => [
    name,
    cdata ?? plain.replace(/&(lt|gt|quot|apos|amp);/g, (entity) => ENTITIES[entity] ?? entity),
  ])
  if (fields.length > 0) yield withBody(seen, xmlOf(fields))
}

/** A layer in front read the XML and passed JSON on. */
export function* undoJsonForXml(seen: Seen): Generator<Restored> {
  const value = parsed(seen.request.rawBody.toString())
  const root = isObject(value) && isObject(value['xml']) ? value['xml'] : value
  if (!isObject(root)) return
  const first = (item: unknown): unknown => (Array.isArray(item) ? item[0] : item)
  const fields = Object.entries(root).map(([name, item]): [string, string] => [name, scalar(first(item))])
  if (fields.length > 0) yield withBody(seen, xmlOf(fields))
}

const scalar = (item: unknown) =>
  Buffer.from(typeof item === 'string' ? item : ((JSON.stringify(item) as string | undefined) ?? '')).toString('latin1')
const xmlOf = (fields: readonly (readonly [string, string])[]) =>
  `<xml>${fields.map(([name, value]) => `<${name}><![CDATA[${value}]]></${name}>`).join('')}</xml>`
