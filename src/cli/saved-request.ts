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
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/

/** Reads a request as it was on the wire (or as an editor shows it: bare line feeds do). The body is not touched. */
export function parseSavedRequest(bytes: Buffer): SavedRequest {
  const [at, length] = endOfHead(bytes)
  if (at < 0) return { kind: 'malformed', detail: 'has no empty line between its headers and its body' }
  const lines = bytes.subarray(0, at).toString('latin1').split(/\r?\n/)
  const target = REQUEST_LINE.exec(lines[0] ?? '')?.[1]
  if (target !== undefined) lines.shift()
  const headers = new Map<string, string[]>()
  for (const [index, line] of lines.entries()) {
    const [, name, value] = HEADER.exec(line) ?? []
    if (name === undefined || value === undefined)
      return { kind: 'malformed', detail: `has no header in line ${index + (target === undefined ? 1 : 2)}` }
    const key = name.toLowerCase()
    headers.set(key, [...(headers.get(key) ?? []), value])
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

function endOfHead(bytes: Buffer): [at: number, length: number] {
  const [crlf, lf] = [bytes.indexOf('\r\n\r\n'), bytes.indexOf('\n\n')]
  if (crlf >= 0 && (lf < 0 || crlf < lf)) return [crlf, 4]
  return [lf, 2]
}
