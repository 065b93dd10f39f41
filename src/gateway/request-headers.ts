import type { IncomingMessage } from 'node:http'

export interface RequestHeaders {
  readonly headers: Readonly<Record<string, string>>
  /** Names that came more than once; they are not in `headers`. */
  readonly repeated: readonly string[]
}

const NONE: readonly string[] = []

/**
 * The headers by lower-case name. Node joins or drops a header that is sent twice, so that a proxy in front may have
 * judged another value than we would: such headers are named apart, and a signed one among them is refused.
 */
export function headersOf(request: IncomingMessage): RequestHeaders {
  const { headers, rawHeaders } = request
  // As many names as lines: nothing was repeated, and Node's own object will do. `set-cookie` alone is a list there.
  if (Object.keys(headers).length * 2 === rawHeaders.length && headers['set-cookie'] === undefined)
    return { headers: headers as Record<string, string>, repeated: NONE }

  const values = new Map<string, string>()
  const repeated = new Set<string>()
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    if (values.has(name)) repeated.add(name)
    values.set(name, rawHeaders[i + 1] ?? '')
  }
  for (const name of repeated) values.delete(name)
  return { headers: Object.fromEntries(values), repeated: [...repeated] }
}
