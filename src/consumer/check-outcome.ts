import type { Answer, CallOutcome, Outcome } from './effect.ts'

/** What handlers give is checked: JavaScript has no compiler that does, and what is misread here ships twice or never. */
type Given = Readonly<Record<string, unknown>> | null | undefined

/** @throws TypeError what a handler returned is no outcome */
export function checkOutcome(given: unknown): Outcome | undefined {
  if (given === undefined) return undefined
  switch (kindOf(given)) {
    case 'done':
      return { kind: 'done' }
    case 'retry':
      return { kind: 'retry', reason: reasonOf(given), ...afterOf(given) }
    case 'refused':
      return { kind: 'refused', reason: reasonOf(given) }
    default:
      throw new TypeError(`the handler returned no outcome but ${shown(given)}`)
  }
}

/** What is no outcome says nothing of what happened: `unknown`. */
export function checkCallOutcome(given: unknown): CallOutcome {
  switch (kindOf(given)) {
    case 'happened':
      return { kind: 'happened', ...referenceOf(given) }
    case 'retry':
      return { kind: 'retry', reason: reasonOf(given), ...afterOf(given) }
    case 'refused':
      return { kind: 'refused', reason: reasonOf(given) }
    case 'unknown':
      return { kind: 'unknown', reason: reasonOf(given) }
    default:
      return { kind: 'unknown', reason: `call returned no outcome but ${shown(given)}` }
  }
}

export function checkAnswer(given: unknown): Answer {
  switch (kindOf(given)) {
    case 'happened':
      return { kind: 'happened', ...referenceOf(given) }
    case 'did_not_happen':
      return { kind: 'did_not_happen' }
    case 'unknown':
      return { kind: 'unknown', reason: reasonOf(given) }
    default:
      return { kind: 'unknown', reason: `ask returned no answer but ${shown(given)}` }
  }
}

const kindOf = (given: unknown) => (given as Given)?.['kind']
const field = (given: unknown, name: string) => (given as Given)?.[name]

/** Anybody's words. */
const wordsOf = (value: unknown) => (typeof value === 'string' ? value : shown(value))
const reasonOf = (given: unknown) => wordsOf(field(given, 'reason') ?? 'no reason was given')

function afterOf(given: unknown): { readonly afterMs?: number } {
  const afterMs = field(given, 'afterMs')
  return typeof afterMs === 'number' && Number.isFinite(afterMs) ? { afterMs } : {}
}

const REFERENCE_CHARS_MAX = 1_000

/** Postgres refuses a NUL: a reference with one would be asked for until a person comes. */
function referenceOf(given: unknown): { readonly reference?: string } {
  const reference = field(given, 'reference') ?? undefined
  if (reference === undefined) return {}
  return { reference: wordsOf(reference).replaceAll('\0', '').slice(0, REFERENCE_CHARS_MAX).toWellFormed() }
}

function shown(value: unknown): string {
  try {
    return JSON.stringify(value).slice(0, 200) // Undefined has none.
  } catch {
    return typeof value
  }
}
