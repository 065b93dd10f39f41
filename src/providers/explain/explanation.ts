import type { Verdict } from '../provider.ts'
import type { EscapedBytes } from './escaped.ts'
import type { Words } from './refusal-words.ts'
import type { Effort } from './search.ts'

/** Why a request is refused. */
export interface Cause extends Words {
  /** A distortion's name, `other_key`, `ended_key`, `other_merchant`, `other_provider`, or the refusal's kind. */
  readonly fault: string
  /** Where, in a few words. */
  readonly how: string | null
}

export interface KeyTried {
  readonly id: string
  readonly fingerprint: string | null
  readonly validUntil: string | null
  /** Before the change: over the request as it was then, which the causes lead back to. */
  readonly result: 'made it' | 'made it, but has ended' | 'made it before the change' | 'did not make it'
}

export interface Explanation {
  readonly provider: string
  readonly merchant: string
  readonly at: string
  readonly verdict: Verdict
  readonly named: string | null
  readonly signedAt: string | null
  /** What the signature would be over, as the request is now; null if a part of it is missing. */
  readonly canonical: EscapedBytes | null
  readonly keys: readonly KeyTried[]
  /** In the order in which things happened; empty where it is verified, or nothing explains it. */
  readonly causes: readonly Cause[]
  /** Who signed it, where the causes' way back leads to a good signature. */
  readonly signedBy: { readonly provider: string; readonly merchant: string; readonly key: string } | null
  /** The same request before the change: what the signature is over, and what the gateway would have said. */
  readonly before: { readonly canonical: EscapedBytes | null; readonly verdict: Verdict } | null
  readonly hints: readonly string[]
  readonly effort: Effort
}

/** Whether the cause is proven, or the refusal says all; else nobody can tell a forgery from an unknown fault. */
export const isDecided = ({ verdict, causes }: Explanation): boolean => verdict.kind === 'verified' || causes.length > 0
