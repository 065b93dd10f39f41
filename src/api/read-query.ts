import type { Refusal } from './refusal.ts'

export type QueryRead =
  | { readonly kind: 'query'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

/** A parameter that is not known here, or is there twice, is refused: a filter that is overheard shows too much. */
export function readQuery(sent: object, known: readonly string[]): QueryRead {
  const values: Record<string, string> = {}
  for (const [name, value] of Object.entries(sent) as [string, unknown][]) {
    const field = name.slice(0, 100)
    const refuse = (detail: string): QueryRead => ({
      kind: 'refused',
      refusal: { kind: 'invalid_field', field, detail, remedy: 'Leave it out.' },
    })
    if (known.length === 0) return refuse('This route takes no query parameters.')
    if (!known.includes(name)) return refuse(`This route takes the query parameters ${known.join(', ')}.`)
    if (typeof value !== 'string') return refuse(`${name} is given twice.`)
    // No column holds such a text, and Postgres refuses to compare with it.
    if (!value.isWellFormed() || value.includes('\0')) return refuse(`${name} must be well-formed text without NUL.`)
    values[name] = value
  }
  return { kind: 'query', values }
}
