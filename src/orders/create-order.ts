import type { Status } from './model.ts'
import { bodyHash, firstDifference, type BodyField, type OrderBody, type OrderTerms } from './order-body.ts'

/** An order as its row and its payload say; read after the order's lock. */
export type ExistingOrder =
  /** Known only from callbacks: a stub without terms. */
  | { readonly status: 'awaited' }
  | {
      readonly status: Exclude<Status, 'awaited'>
      readonly bodyHash: Buffer | null
      readonly terms: OrderTerms
    }

export type CreateDecision =
  /** To write as `pending`, with its expiry timer; the stub may have held facts, so its lane gets a wake item. */
  | { readonly kind: 'create' }
  /** The same body: nothing to write, the same answer. */
  | { readonly kind: 'same' }
  /** Another body: a 409 that names the first field that differs. */
  | { readonly kind: 'differs'; readonly field: BodyField }

export const becomePending = (): CreateDecision => ({ kind: 'create' })

export function compareBodies(existing: ExistingOrder, body: OrderBody): CreateDecision {
  if (existing.status === 'awaited') throw new Error('An awaited order has no body to compare with.')
  if (existing.bodyHash?.equals(bodyHash(body)) === true) return { kind: 'same' }
  const field = firstDifference(existing.terms, body)
  // No field: a hash of an older canonical form.
  return field === undefined ? { kind: 'same' } : { kind: 'differs', field }
}
