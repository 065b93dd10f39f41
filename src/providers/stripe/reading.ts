import type { Fact } from '../../orders/model.ts'

/** What one of Stripe's objects says. */
export type Reading =
  | { readonly kind: 'fact'; readonly fact: Fact }
  /** A field that is not as documented; nothing of the object is taken. */
  | { readonly kind: 'malformed'; readonly field: string }
  /** It changes nothing, or not yet. */
  | { readonly kind: 'no_effect' }
  /** It is about something that we do not follow. */
  | { readonly kind: 'unmapped' }

export const factRead = (fact: Fact): Reading => ({ kind: 'fact', fact })
export const badField = (field: string): Reading => ({ kind: 'malformed', field })
export const NO_EFFECT: Reading = { kind: 'no_effect' }
export const UNMAPPED: Reading = { kind: 'unmapped' }
