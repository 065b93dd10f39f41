/** Shorter ones are no secrets, and hiding them would hide everything. */
const SECRET_CHARS_MIN = 8
const HIDDEN = '[secret]'

/**
 * Takes secrets out of what is printed. Nothing that we print is made of one; but a request may carry one, as when
 * somebody sends the key itself in a header.
 */
export function createMask() {
  const patterns = new Map<string, RegExp>()
  const hideIn = (text: string) => {
    let hidden = text
    for (const pattern of patterns.values()) hidden = hidden.replace(pattern, HIDDEN)
    return hidden
  }
  const hide = (value: unknown): unknown => {
    if (typeof value === 'string') return hideIn(value)
    if (Array.isArray(value)) return value.map(hide)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hide(item)]))
  }
  return {
    secret: (secret: string): void => {
      for (const form of [secret, secret.replace(/^wh[a-z]{2,3}_/, '')])
        if (form.length >= SECRET_CHARS_MIN) patterns.set(form, spelled(form))
    },
    /** The same value without them, in whatever depth. */
    hide: <T>(value: T): T => hide(value) as T,
  }
}

/** However a form, JSON or our own escaping spell it; without the padding of base64 too. */
function spelled(secret: string): RegExp {
  const parts = Array.from(secret.replace(/=+$/, ''), (char) => {
    if (/[A-Za-z0-9]/.test(char)) return char
    const encoded = Array.from(Buffer.from(char), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
    const spellings = [`\\\\*${/[!-~]/.test(char) ? `\\${char}` : char}`, encoded, ...(char === '+' ? [' '] : [])]
    return `(?:${spellings.join('|')}|${encoded.toUpperCase()})`
  })
  return new RegExp(parts.join(''), 'g')
}
