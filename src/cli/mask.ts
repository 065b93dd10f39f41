/** Shorter ones are no secrets, and hiding them would hide everything. */
const SECRET_CHARS_MIN = 8
const HIDDEN = '[secret]'

/**
 * Takes secrets out of what is printed. Nothing that we print is made of one; but a request may carry one, as when
 * somebody sends the key itself in a header.
 */
export function createMask() {
  const secrets = new Set<string>()
  const hideIn = (text: string) => {
    let hidden = text
    for (const secret of secrets) hidden = hidden.replaceAll(secret, HIDDEN)
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
      for (const form of [secret, secret.replace(/^wh[a-z]{2}_/, '')])
        if (form.length >= SECRET_CHARS_MIN) secrets.add(form)
    },
    /** The same value without them, in whatever depth. */
    hide: <T>(value: T): T => hide(value) as T,
  }
}
