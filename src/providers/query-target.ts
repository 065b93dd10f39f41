import { isIdentity, isOrderNumber } from './limits.ts'
import type { QueryTarget } from './query.ts'

const REFUND = /^refund:(.+)$/s

/** The merchant's number of the refund that a hint's `ref` names; undefined: it names none. */
export function refundNoIn(ref: string): string | undefined {
  const number = REFUND.exec(ref)?.[1]
  return isIdentity(number) ? number : undefined
}

/**
 * The field of what is asked that cannot be a number of this provider's; undefined: it can be asked.
 * @param transactionId as the provider's own numbers look: with a prefix of ours it would only not be found
 */
export function badField(target: QueryTarget, transactionId: RegExp): string | undefined {
  if (!isOrderNumber(target.outTradeNo)) return 'outTradeNo'
  if (target.kind === 'refund') return refundNoIn(target.ref) === undefined ? 'ref' : undefined
  return target.transactionId === undefined || transactionId.test(target.transactionId) ? undefined : 'transactionId'
}
