import { isFields, type Fields } from '../fields.ts'
import { parseStrictJson } from '../strict-json.ts'
import { mappingShape } from './mapping-shape.ts'
import type { Mapping, Rule } from './mapping.ts'

/** A mistake in a mapping file, and where it is. */
export interface MappingProblem {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

export type ParsedMapping =
  | { readonly kind: 'mapping'; readonly mapping: Mapping }
  /** All of them at once. */
  | { readonly kind: 'problems'; readonly problems: readonly MappingProblem[] }

export function parseMapping(text: string): ParsedMapping {
  const json = parseStrictJson(text)
  if (json === undefined)
    return { kind: 'problems', problems: [{ path: [], message: 'must hold JSON without a name twice in one object' }] }
  const parsed = mappingShape.safeParse(json.value)
  const problems: MappingProblem[] = [...contradictionsIn(json.value)]
  if (!parsed.success) problems.unshift(...parsed.error.issues.map(({ path, message }) => ({ path, message })))
  if (!parsed.success || problems.length > 0) return { kind: 'problems', problems }
  const { ignore, rules, ...mapping } = parsed.data
  const byType = new Map<string, Rule[]>()
  for (const { when, rule } of rules)
    for (const type of when) byType.set(type, [...(byType.get(type) ?? []), rule].sort(paymentLast))
  return { kind: 'mapping', mapping: { ...mapping, ignore: new Set(ignore), rules: byType } }
}

/** A full refund of a payment that nobody had heard of then ships nothing (docs/decisions/003). */
const paymentLast = (a: Rule, b: Rule) =>
  Number(a.fact === 'payment_succeeded') - Number(b.fact === 'payment_succeeded')

/** What is well formed field by field and wrong together. Reads the file as it is, so that it finds all in one start. */
function* contradictionsIn(json: unknown): Generator<MappingProblem> {
  const { rules, ignore } = isFields(json) ? json : ({} as Fields)
  const ignored = Array.isArray(ignore) ? ignore : []
  const seen = new Set<string>()
  for (const [index, rule] of (Array.isArray(rules) ? rules : []).entries()) {
    if (!isFields(rule)) continue
    const { when, fact, reference, paymentRef, amountKind } = rule
    for (const type of Array.isArray(when) ? when : [when]) {
      if (ignored.includes(type)) yield { path: ['rules', index, 'when'], message: `${String(type)} is in ignore too` }
      const identity = JSON.stringify([type, fact, reference])
      if (seen.has(identity))
        yield { path: ['rules', index], message: 'states the same fact as another rule for the same type' }
      seen.add(identity)
    }
    if (fact === 'refund_succeeded' && amountKind === 'individual' && reference === paymentRef)
      yield {
        path: ['rules', index, 'reference'],
        message: "must be the refund's own number and not its payment's: two refunds of one payment would be one",
      }
  }
}
