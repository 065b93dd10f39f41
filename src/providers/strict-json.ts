const DEPTH_MAX = 20

const QUOTE = 34
const COLON = 58
const BACKSLASH = 92

/**
 * Parses JSON, refusing what `JSON.parse` lets pass though two readers could disagree about it: the same key twice in
 * one object (it keeps the last, others the first) and nesting deeper than 20.
 * A key that came twice is in the text twice and in the value once, so it is enough to count: 1.0 µs a notification,
 * where remembering each object's keys took 2.9.
 * A whole number that is not written in digits alone (1e2, 100.0, 100.0000000000000000001, which a double holds as 100)
 * is read as NaN, which no amount or time takes: what else is in the text can be used. So are digits of which a double
 * would change one.
 * @returns the value in a box; undefined if the text is refused
 */
export function parseStrictJson(text: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = ODD_NUMBER.test(text) ? JSON.parse(text, onlyWritten) : JSON.parse(text)
    return keysIn(text) === countKeys(value, 1) ? { value } : undefined
  } catch {
    return undefined
  }
}

/** What a number that is not written in up to 15 digits has, and little else: looked for first, as it is cheap. */
const ODD_NUMBER = /\d[.eE]|\d{16}/
const DIGITS = /^-?\d+$/

/** The third argument is missing in the compiler's library; Node has it since 21. */
function onlyWritten(_name: string, value: unknown, ...[context]: readonly unknown[]): unknown {
  if (typeof value !== 'number' || value % 1 !== 0) return value
  return DIGITS.test((context as { source: string }).source) && Number.isSafeInteger(value) ? value : NaN
}

/** Keys of all objects in the value; NaN, which equals nothing, if it is nested too deeply. */
function countKeys(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth > DEPTH_MAX) return NaN
  let count = 0
  if (Array.isArray(value)) for (const item of value) count += countKeys(item, depth + 1)
  else for (const key in value) count += 1 + countKeys((value as Record<string, unknown>)[key], depth + 1)
  return count
}

/** Colons outside of strings, in text that is known to be valid JSON; jumps over strings, which are most of it. */
function keysIn(json: string): number {
  let colons = 0
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at)
    if (char === COLON) colons += 1
    else if (char === QUOTE) at = endOfString(json, at)
  }
  return colons
}

/** The closing quote of the string that opens at `start`: the first one with an even number of backslashes before. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); ; end = json.indexOf('"', end + 1)) {
    let backslashes = 0
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
}
