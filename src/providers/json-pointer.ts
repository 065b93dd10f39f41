/** A JSON Pointer (RFC 6901), taken apart. */
export interface Pointer {
  /** As it was written, for messages. */
  readonly text: string
  readonly tokens: readonly string[]
}

const POINTER = /^(?:\/(?:[^~/]|~[01])*)+$/
const INDEX = /^(?:0|[1-9]\d{0,5})$/
const CHARS_MAX = 256

/** Undefined if the text is no pointer into a value: the empty one, to the value itself, is none here. */
export function parsePointer(text: string): Pointer | undefined {
  if (text.length > CHARS_MAX || !POINTER.test(text)) return undefined
  const tokens = text.slice(1).split('/')
  return { text, tokens: tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~')) }
}

/** The value that a pointer shows in parsed JSON; undefined if there is none. What an object inherits is not in it. */
export function valueAt(json: unknown, { tokens }: Pick<Pointer, 'tokens'>): unknown {
  let value = json
  for (const token of tokens) {
    if (typeof value !== 'object' || value === null) return undefined
    if (Array.isArray(value) ? !INDEX.test(token) : !Object.hasOwn(value, token)) return undefined
    value = (value as Record<string, unknown>)[token]
  }
  return value
}
