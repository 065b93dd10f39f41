import { TextDecoder } from 'node:util'
import { asciiField, type Form } from './parse-form.ts'

/** `charset` of a notice is what the merchant asked for when ordering; these are the ones that Alipay documents. */
const CHARSETS: ReadonlyMap<string, TextDecoder> = new Map(
  ['utf-8', 'gbk', 'gb2312', 'gb18030'].map((name) => [name, new TextDecoder(name, { fatal: true, ignoreBOM: true })]),
)

/** Reads a field as text; null if its bytes are not of the notice's charset. Empty counts as absent: undefined. */
export type ReadText = (name: string) => string | undefined | null

/** A reader of a verified form's fields; undefined if its charset is none that Alipay documents. */
export function textReader(form: Form): ReadText | undefined {
  const decoder = CHARSETS.get(asciiField(form, 'charset')?.toLowerCase() ?? 'utf-8')
  if (decoder === undefined) return undefined
  return (name) => {
    const span = form.spans.get(name)
    if (span === undefined || span.start === span.end) return undefined
    const text = form.latin1.slice(span.start, span.end)
    if (isAscii(text)) return text
    try {
      return decoder.decode(form.bytes.subarray(span.start, span.end))
    } catch {
      return null
    }
  }
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false
  return true
}
