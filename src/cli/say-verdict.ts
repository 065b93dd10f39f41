import type { VerifiedMessage, Verdict } from '../providers/provider.ts'

/** What came of a request, in words that claim no more than is proven. */
export function sayVerdict(verdict: Verdict): string {
  if (verdict.kind === 'refused') return `refused: ${verdict.rejection.kind}`
  return verdict.messages.every(isHint) ? `not refused, and not verified: an ${HINT}` : 'verified'
}

/** What a message does that states no fact. */
export function sayWithoutFacts({ instead }: VerifiedMessage): string {
  if (instead === undefined) return '(kind not mapped)'
  return instead.kind === 'hint' ? HINT : 'changes nothing'
}

/** A hint is taken from whoever sends it, as nothing in it is signed. */
const HINT = 'unsigned hint: proves nothing, asks for a query'
const isHint = ({ instead }: VerifiedMessage) => instead?.kind === 'hint'
