import { isDeepStrictEqual } from 'node:util'
import type { CallbackRequest, Provider, Verdict, VerifiedMessage } from '../../src/providers/provider.ts'

export interface Originals {
  readonly provider: Pick<Provider, 'inspect'>
  readonly genuine: readonly CallbackRequest[]
  /** What each of `genuine` says, in their order. */
  readonly expected: readonly (readonly VerifiedMessage[])[]
  /** Where text could be cut anew under the same signature: what reads so is kept, but never with an order or a fact. */
  readonly keepsAmbiguous?: true
}

/**
 * What may come of a mutated request: a refusal, or what its own original says. To say what another genuine request
 * says is as wrong as to say what none does. The original is the one whose signed bytes it has, however they were
 * spelled; where none has exactly these (fields that may be left out of them), the one that its body came from.
 */
export function lawOf({ provider, genuine, expected, keepsAmbiguous }: Originals) {
  const signedBy = (request: CallbackRequest) => provider.inspect.canonical(request)?.toString('latin1')
  const byCanonical = new Map(genuine.map((request, index) => [signedBy(request) ?? index, index]))

  return (verdict: Verdict, request: CallbackRequest, origin: CallbackRequest): boolean => {
    if (verdict.kind === 'refused' || (keepsAmbiguous === true && isKeptAsAmbiguous(verdict))) return true
    const index = byCanonical.get(signedBy(request) ?? -1) ?? genuine.indexOf(origin)
    return isDeepStrictEqual(verdict.messages, expected[index])
  }
}

/** Whether a verdict is that a text could say several things, and says none of them. */
export const isKeptAsAmbiguous = (verdict: Verdict): boolean =>
  verdict.kind === 'verified' &&
  verdict.messages.every(
    ({ outTradeNo, messageType, facts, instead }) =>
      messageType.startsWith('ambiguous ') && outTradeNo === null && facts.length === 0 && instead === undefined,
  )
