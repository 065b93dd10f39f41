import { DETAIL_CHARS_MAX } from './limits.ts'

/**
 * A fact's `detail` from the sender's words, `; ` between them; null if there are none. Words serve people only, so
 * nothing in them is a reason to refuse a message: controls become spaces, what is too long is cut.
 */
export function detailOf(...words: readonly (string | undefined)[]): string | null {
  const said = words.filter((word) => word !== undefined && word !== '').join('; ')
  const clean = withoutControls(said.slice(0, DETAIL_CHARS_MAX))
  return clean === '' ? null : clean
}

/** A text for people with spaces for its controls. */
export const withoutControls = (text: string): string => text.replace(/\p{Cc}/gu, ' ').toWellFormed()
