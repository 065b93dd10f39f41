import type { Refusal } from './decision.ts'

export interface RefusalText {
  readonly detail: string
  readonly remedy?: string
}

/** Why a command changed nothing, and what whoever sent it can do. */
export function sayRefusal(refusal: Refusal): RefusalText {
  switch (refusal.reason) {
    case 'unknown_order':
      return {
        detail: 'The order is known only from callbacks; it was never created.',
        remedy: 'Create it first.',
      }
    case 'already_paid':
      return { detail: 'The order is paid already.', remedy: 'Refund the payment at its provider.' }
    case 'already_refunded':
      return { detail: 'The order is refunded already.' }
    case 'unknown_anomaly':
      return { detail: 'There is no such anomaly of this order.' }
    case 'already_resolved':
      return {
        detail: `It was resolved before, ${refusal.by === null ? '' : `by ${refusal.by}: `}${refusal.resolution}.`,
      }
    case 'claimed':
      return { detail: `${refusal.owner} works on it.`, remedy: 'Ask them; or release their claim, with a reason.' }
    case 'not_allowed':
      return {
        detail: `An anomaly ${refusal.anomaly} of an order in this status takes: ${refusal.allowed.join(', ')}.`,
        remedy: 'Choose one of these.',
      }
    case 'group_is_paid':
      return {
        detail: 'Another order of its group is paid.',
        remedy: 'Refund this payment at its provider and answer refund_outside; or refund the other order first.',
      }
    default:
      // While versions change, a lane may be newer than whoever reads what it wrote.
      refusal satisfies never
      return {
        detail: 'The order does not allow it, for a reason that this version does not know.',
        remedy: 'Ask again when the newer version is everywhere, or look the reason up in its documentation.',
      }
  }
}
