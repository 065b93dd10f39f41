const DEPTH_MAX = 20

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/**
 * Parses JSON, refusing what `JSON.parse` lets pass though two readers could disagree about it: the same key twice in
 * one object (it keeps the last, others the first) and nesting deeper than 20.
 * @returns the value in a box; undefined if the text is refused
 */
export function parseStrictJson(text: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isUnambiguous(text) ? { value } : undefined
  } catch {
    return undefined
  }
}

/** Walks text that is known to be valid JSON; jumps over strings, which are most of it. */
function isUnambiguous(json: string): boolean {
  /** Keys seen in each open object; null for an open array. */
  const open: (Set<string> | null)[] = []
  let keys: Set<string> | null = null
  let keyNext = false
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(json, at)
        if (keyNext && keys !== null) {
          const raw = json.slice(at + 1, end)
          const key = raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw
          if (keys.has(key)) return false
          keys.add(key)
          keyNext = false
        }
        at = end
        break
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        keyNext = json.charCodeAt(at) === OPEN_OBJECT
        keys = keyNext ? new Set() : null
        if (open.push(keys) > DEPTH_MAX) return false
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        open.pop()
        keys = open[open.length - 1] ?? null
        keyNext = false
        break
      case COMMA:
        keyNext = keys !== null
        break
      default:
    }
  }
  return true
}

/** The closing quote of the string that opens at `start`: the first one with an even number of backslashes before. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); ; end = json.indexOf('"', end + 1)) {
    let backslashes = 0
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
}
