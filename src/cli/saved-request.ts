import type { CallbackRequest } from '../providers/provider.ts'

export type SavedRequest =
  | {
      readonly kind: 'request'
      readonly request: CallbackRequest
      /** From a request line to `/callbacks/:provider/:merchant`. */
      readonly path: { readonly provider: string; readonly merchant: string } | undefined
      /** Of the address, without the question mark; empty if there is none. */
      readonly query: string
      /** Values of the headers that came more than once, which are not in `request`. */
      readonly repeated: ReadonlyMap<string, readonly string[]>
    }
  | { readonly kind: 'malformed'; readonly detail: string }

const REQUEST_LINE = /^[A-Z]+ (\S+)(?: HTTP\/\d(?:\.\d)?)?$/
const CALLBACK_PATH = /^(?:https?:\/\/[^/]+)?\/callbacks\/([a-z0-9_-]+)\/([a-z0-9_-]+)\/?(?:\?.*)?$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** The gateway takes a head of 16 KiB and 64 lines, and a body of 64 KiB; what a proxy made of them may be longer. */
export const HEAD_BYTES_MAX = 65_536
export const HEAD_LINES_MAX = 256
export const BODY_BYTES_MAX = 1_048_576

/** Reads a request as it was on the wire (or as an editor shows it: bare line feeds do). The body is not touched. */
export function parseSavedRequest(bytes: Buffer): SavedRequest {
  const [at, length] = endOfHead(bytes.subarray(0, HEAD_BYTES_MAX + 4))
  if (at < 0 || at > HEAD_BYTES_MAX)
    return malformed(
      bytes.length > HEAD_BYTES_MAX
        ? `has no empty line in its first ${HEAD_BYTES_MAX} bytes: so much is no head of a request`
        : 'has no empty line between its headers and its body',
    )
  if (bytes.length - at - length > BODY_BYTES_MAX) return malformed(`has a body of more than ${BODY_BYTES_MAX} bytes`)
  const lines = bytes.subarray(0, at).toString('latin1').split(/\r?\n/)
  if (lines.length > HEAD_LINES_MAX) return malformed(`has more than ${HEAD_LINES_MAX} lines before its body`)
  const target = REQUEST_LINE.exec(lines[0] ?? '')?.[1]
  if (target !== undefined) lines.shift()
  const headers = new Map<string, string[]>()
  for (const [index, line] of lines.entries()) {
    const header = readHeader(line)
    if (header === undefined) return malformed(`has no header in line ${index + (target === undefined ? 1 : 2)}`)
    const values = headers.get(header.name)
    if (values === undefined) headers.set(header.name, [header.value])
    else values.push(header.value)
  }
  const repeated = [...headers].filter(([, values]) => values.length > 1)
  const once = [...headers].flatMap(([name, [value, ...more]]) => (more.length > 0 ? [] : [[name, value ?? '']]))
  const [, provider, merchant] = CALLBACK_PATH.exec(target ?? '') ?? []
  return {
    kind: 'request',
    request: {
      headers: Object.fromEntries(once) as Record<string, string>,
      repeatedHeaders: repeated.map(([name]) => name),
      rawBody: bytes.subarray(at + length),
    },
    path: provider === undefined || merchant === undefined ? undefined : { provider, merchant },
    query: target?.includes('?') === true ? target.slice(target.indexOf('?') + 1) : '',
    repeated: new Map(repeated),
  }
}

const malformed = (detail: string): SavedRequest => ({ kind: 'malformed', detail })

/** By hand: a pattern that lets the spaces around the value go is slow over a line of nothing else. */
function readHeader(line: string): { name: string; value: string } | undefined {
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(colon, 0))
  if (!HEADER_NAME.test(name) || line.includes('\r')) return undefined
  let [start, end] = [colon + 1, line.length]
  while (start < end && isSpace(line, start)) start++
  while (end > start && isSpace(line, end - 1)) end--
  return { name: name.toLowerCase(), value: line.slice(start, end) }
}

const isSpace = (text: string, at: number) => text[at] === ' ' || text[at] === '\t'

function endOfHead(bytes: Buffer): [at: number, length: number] {
  const [crlf, lf] = [bytes.indexOf('\r\n\r\n'), bytes.indexOf('\n\n')]
  if (crlf >= 0 && (lf < 0 || crlf < lf)) return [crlf, 4]
  return [lf, 2]
}
