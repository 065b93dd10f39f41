import type { Restored, Seen } from './distortion.ts'
import { withBody } from './distortion.ts'
import { readForm, writeForm } from './form-fields.ts'

/** A text changed back, as bytes in latin1; the same text if there is nothing to change. */
export type ChangeBack = (text: string) => string | undefined

/**
 * Undoes a change where it may have happened: in a form in every value, in one alone, or in all but one, as middleware
 * does it; in other bodies in the whole text. The signature of a form is left out: it has a fault of its own.
 */
export function* inTexts(seen: Seen, back: ChangeBack): Generator<Restored> {
  if (seen.form !== 'form') {
    const text = seen.request.rawBody.toString('latin1')
    const changed = back(text)
    if (changed !== undefined && changed !== text) yield withBody(seen, changed)
    return
  }
  yield* inFields(seen, (value) => {
    const changed = back(value)
    return changed === undefined ? [] : [changed]
  })
}

/** So many combinations of what each value may have been are tried. */
const COMBINATIONS_MAX = 600

/**
 * The same for one way among several: `back` gives what a value may have been, the likeliest first. All values are
 * changed back, one alone, all but one, and if they are few enough in every combination.
 * @param isCertain a value that cannot have been sent as it is now
 */
export function* inFields(
  seen: Seen,
  back: (value: string) => Iterable<string>,
  isCertain: (value: string) => boolean = () => false,
): Generator<Restored> {
  const fields = readForm(seen.request.rawBody)
  const choices = fields.flatMap(({ name, value }, at): Choice[] => {
    const now = value.toString('latin1')
    const before = name === 'sign' ? [] : [...new Set(back(now))].filter((text) => text !== now)
    return before.length === 0 ? [] : [{ at, name, now, before, isCertain: isCertain(now) }]
  })
  if (choices.length === 0) return
  const restore = (texts: readonly string[]) => {
    const restored = [...fields]
    const changed: string[] = []
    for (const [index, { at, name, now }] of choices.entries()) {
      const text = texts[index] ?? now
      restored[at] = { name, value: Buffer.from(text, 'latin1') }
      if (text !== now) changed.push(printableName(name))
    }
    return withBody(seen, writeForm(restored), `in ${changed.length > NAMES_MAX ? 'many values' : changed.join(', ')}`)
  }
  const first = choices.map(({ now, before }) => before[0] ?? now)
  yield restore(first)
  const certain = choices.map(({ now, before, isCertain: is }) => (is ? (before[0] ?? now) : now))
  for (const [index, { before }] of choices.entries())
    for (const text of before) yield restore(certain.with(index, text))
  for (const [index, { now }] of choices.entries()) yield restore(first.with(index, now))
  const options = choices.map(({ now, before, isCertain: is }) => (is ? before : [...before, now]))
  if (options.reduce((product, { length }) => product * length, 1) <= COMBINATIONS_MAX)
    for (const texts of combinations(options)) yield restore(texts)
}

interface Choice {
  readonly at: number
  readonly name: string
  readonly now: string
  readonly before: readonly string[]
  readonly isCertain: boolean
}

const NAMES_MAX = 5

function* combinations<T>([first, ...rest]: readonly (readonly T[])[]): Generator<T[]> {
  if (first === undefined) yield []
  for (const item of first ?? []) for (const others of combinations(rest)) yield [item, ...others]
}

/** Names come from the request. */
export const printableName = (name: string): string => name.replace(/[^\x20-\x7e]/g, '?').slice(0, 64)
