/** Shorter ones are no secrets, and hiding them would hide everything. */
const SECRET_CHARS_MIN = 8
const HIDDEN = '[secret]'

/**
 * Takes secrets out of what is printed. Nothing that we print is made of one; but a request may carry one, as when
 * somebody sends the key itself in a header.
 */
export function createMask() {
  const forms = new Map<string, Form>()
  const hideIn = (text: string) => {
    let hidden = text
    for (const { letters, pattern } of forms.values())
      if (hidden.includes(letters)) hidden = hidden.replace(pattern(), HIDDEN)
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
      if (secret.length < SECRET_CHARS_MIN) return
      const bare = secret.replace(/^wh[a-z]{2,3}_/, '')
      for (const form of [secret, bare, ...inBase64(secret), ...inBase64(bare)])
        if (form.length >= SECRET_CHARS_MIN && !forms.has(form)) forms.set(form, formOf(form))
    },
    /** The same value without them, in whatever depth. */
    hide: <T>(value: T): T => hide(value) as T,
  }
}

/** A text that is hidden; its pattern is made when it may be needed, as merchants may have thousands of secrets. */
interface Form {
  /** The longest run of letters and digits in it, which stand for themselves in every spelling. */
  readonly letters: string
  readonly pattern: () => RegExp
}

function formOf(text: string): Form {
  const runs = text.match(/[A-Za-z0-9]+/g) ?? []
  let pattern: RegExp | undefined
  return {
    letters: runs.reduce((longest, run) => (run.length > longest.length ? run : longest), ''),
    pattern: () => (pattern ??= spelled(text)),
  }
}

/** Base64 of a text, alone or somewhere in what was encoded (`Basic` has `name:secret`): what each place leaves sure. */
const inBase64 = (text: string): string[] =>
  [0, 1, 2].map((before) => {
    const bytes = Buffer.from('\0'.repeat(before) + text)
    return bytes.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6))
  })

/** So many backslashes before a character are escapes of it: without an end, a text of backslashes alone takes a minute. */
const ESCAPES_MAX = 8
/** In base64url. */
const IN_URL: Readonly<Record<string, string>> = { '+': '-', '/': '_' }

/** However a form, JSON or our own escaping spell it; without the padding of base64 too. */
function spelled(secret: string): RegExp {
  const parts = Array.from(secret.replace(/=+$/, ''), (char) => {
    if (/[A-Za-z0-9]/.test(char)) return char
    const encoded = Array.from(Buffer.from(char), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
    const plain = /[!-~]/.test(char) ? `\\${char}` : char
    const other = IN_URL[char] === undefined ? [] : [IN_URL[char]]
    const spellings = [`\\\\{0,${ESCAPES_MAX}}${plain}`, ...other, encoded, ...(char === '+' ? [' '] : [])]
    return `(?:${spellings.join('|')}|${encoded.toUpperCase()})`
  })
  return new RegExp(parts.join(''), 'g')
}
