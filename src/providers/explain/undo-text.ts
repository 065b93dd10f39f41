import { isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'
import { encodeText } from '../alipay/encode-text.ts'
import { withBody, type Restored, type Seen } from './distortion.ts'
import { inTexts, type ChangeBack } from './in-texts.ts'

const BOM = '\u00ef\u00bb\u00bf'
const ENTITIES: Readonly<Record<string, string>> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&' }

/** What one wants of the raw body alone. */
const inBody = (back: (text: string) => Iterable<string>) =>
  function* (seen: Seen): Generator<Restored> {
    const text = seen.request.rawBody.toString('latin1')
    for (const other of back(text)) if (other !== text) yield withBody(seen, other)
  }

export const undoBomAdded = inBody((text) => (text.startsWith(BOM) ? [text.slice(BOM.length)] : []))
export const undoBomRemoved = inBody((text) => [BOM + text])
export const undoNewlineAdded = inBody((text) => [
  text.replace(/\r?\n$/, ''),
  text.replace(/[\r\n]+$/, ''),
  text.trimEnd(),
  text.trimStart(),
  text.trim(),
])
export const undoNewlineRemoved = inBody((text) => [`${text}\n`, `${text}\r\n`, `${text}\n\n`, `\n${text}`])

const texts = (back: ChangeBack) => (seen: Seen) => inTexts(seen, back)

export const undoLineFeeds = texts((text) => text.replace(/\r\n|\r|\n/g, '\r\n'))
export const undoCarriageReturns = texts((text) => text.replaceAll('\r\n', '\n').replaceAll('\r', '\n'))
/** As `addslashes` and "magic quotes" add them. */
export const undoBackslashes = texts((text) => text.replace(/\\(["'\\])/g, '$1'))

/** In a form also in the raw text, where the `&` of an entity has split a field. */
export function* undoEntities(seen: Seen): Generator<Restored> {
  yield* inTexts(seen, unescape)
  const text = seen.request.rawBody.toString('latin1')
  if (seen.form === 'form' && unescape(text) !== text) yield withBody(seen, unescape(text))
}

const unescape = (text: string) =>
  text.replace(
    /&(?:(quot|apos|lt|gt|amp)|#0*(34|39|38|60|62)|#x0*(22|27|26|3c|3e));/gi,
    (_, name?: string, dec?: string, hex?: string) =>
      name === undefined
        ? String.fromCharCode(dec === undefined ? Number.parseInt(hex ?? '0', 16) : Number(dec))
        : (ENTITIES[name.toLowerCase()] ?? ''),
  )

const bytesOf = (text: string) => Buffer.from(text, 'latin1')
const isForeign = (text: string) => /[\x80-\xff]/.test(text)

/** UTF-8 text, if it is that and more than ASCII. */
const utf8 = (text: string) => (isForeign(text) && isUtf8(bytesOf(text)) ? bytesOf(text).toString() : undefined)

/** UTF-8 was taken for latin1 (as servers, and Java, take it) or for Windows-1252 (as browsers do), and encoded again. */
export const undoReadAsLatin1 = texts((text) => {
  const shown = utf8(text)
  if (shown === undefined) return undefined
  const bytes = Array.from(shown, (char) => (char <= '\u00ff' ? char.charCodeAt(0) : WINDOWS_1252.get(char)))
  return bytes.includes(undefined) ? undefined : Buffer.from(bytes as number[]).toString('latin1')
})

/** UTF-8 was written as latin1: one byte a character. */
export const undoWrittenAsLatin1 = texts((text) =>
  isForeign(text) && !isUtf8(bytesOf(text)) ? Buffer.from(text).toString('latin1') : undefined,
)

/** The way back is the same for UTF-8 read as GBK and for GBK turned into UTF-8; what it leads to tells them apart. */
export const undoReadAsGbk = texts((text) => ofGbk(text, true))
export const undoGbkToUtf8 = texts((text) => ofGbk(text, false))

function ofGbk(text: string, toUtf8: boolean): string | undefined {
  const shown = utf8(text)
  if (shown === undefined) return undefined
  try {
    const bytes = encodeText(shown, 'gbk')
    return isUtf8(bytes) === toUtf8 ? bytes.toString('latin1') : undefined
  } catch {
    return undefined
  }
}

export const undoUtf8ToGbk = texts((text) => {
  if (!isForeign(text) || isUtf8(bytesOf(text))) return undefined
  try {
    return Buffer.from(GB18030.decode(bytesOf(text))).toString('latin1')
  } catch {
    return undefined
  }
})

const GB18030 = new TextDecoder('gb18030', { fatal: true })
const WINDOWS_1252: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 0x20 }, (_, at) => {
    const byte = 0x80 + at
    return [new TextDecoder('windows-1252').decode(Uint8Array.of(byte)), byte] as const
  }),
)
