const DEPTH_MAX = 20

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
  let keyNext = false
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case '"': {
        const end = endOfString(json, at)
        const keys = open[open.length - 1]
        if (keyNext && keys) {
          const raw = json.slice(at + 1, end)
          const key = raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw
          if (keys.has(key)) return false
          keys.add(key)
          keyNext = false
        }
        at = end
        break
      }
      case '{':
        if (open.push(new Set()) > DEPTH_MAX) return false
        keyNext = true
        break
      case '[':
        if (open.push(null) > DEPTH_MAX) return false
        keyNext = false
        break
      case '}':
      case ']':
        open.pop()
        keyNext = false
        break
      case ',':
        keyNext = open[open.length - 1] !== null
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
    while (json[end - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return end
  }
}
