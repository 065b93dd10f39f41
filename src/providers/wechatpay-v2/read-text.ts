import type { XmlFields } from './parse-flat-xml.ts'

/** A field's value. An empty one is absent: it takes no part in the signature, so that anybody could have put it there. */
export function textOf(fields: XmlFields, name: string): string | undefined {
  const value = fields.get(name)
  return value === '' ? undefined : value
}

/** Fen, or whatever a currency's minor unit is, in plain digits. No sign, no zero before them, nothing to round. */
const WHOLE = /^(?:0|[1-9]\d{0,15})$/

/** An amount as WeChat Pay v2 writes it; undefined for any other text. */
export const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && WHOLE.test(text) ? Number(text) : undefined
