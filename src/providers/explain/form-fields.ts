/** A field of a form, decoded once; its value in whatever charset it is. */
export interface FormField {
  readonly name: string
  readonly value: Buffer
}

const FIELDS_MAX = 200

/** Reads what may be a broken form: a `%` that begins nothing stays as it is, a field may come twice. */
export const readForm = (body: Buffer): FormField[] =>
  body
    .toString('latin1')
    .split('&', FIELDS_MAX)
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=')
      const [name, value] = equals < 0 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)]
      return { name: decoded(name), value: Buffer.from(decoded(value), 'latin1') }
    })

/** Percent-encodes what is not unreserved; a space becomes `+`. */
export const writeForm = (fields: readonly FormField[]): Buffer =>
  Buffer.from(fields.map(({ name, value }) => `${name}=${encoded(value.toString('latin1'))}`).join('&'), 'latin1')

/** Bytes as latin1 text. */
export const decoded = (text: string): string =>
  text
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))

export const encoded = (text: string): string =>
  text.replace(/[^A-Za-z0-9_.*-]/g, (char) =>
    char === ' ' ? '+' : `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
