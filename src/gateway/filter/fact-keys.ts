import { hash } from 'node:crypto'
import type { Source } from '../../schemas/callback.ts'
import type { VerifiedMessage } from '../../providers/provider.ts'

/**
 * One key per fact of a verified callback; undefined if it must go through in any case: a message without facts may be
 * a hint that is to be asked again, one without an order is kept as a dead letter, and a worker sends few.
 * @param scope the Kafka cluster, and the topic with its id: what is in another one is news in this one
 */
export function factKeys(
  scope: string,
  target: { readonly merchant: string; readonly source: Source },
  messages: readonly VerifiedMessage[],
): readonly string[] | undefined {
  if (target.source !== 'callback') return undefined
  const keys: string[] = []
  for (const { outTradeNo, facts } of messages) {
    if (outTradeNo === null || facts.length === 0) return undefined
    for (const { eventType, providerRef, amountMinor, currency, amountKind } of facts)
      keys.push(keyOf([scope, target.merchant, outTradeNo, eventType, providerRef, amountMinor, currency, amountKind]))
  }
  return keys
}

/**
 * With amount, currency and kind beside the identity: the same fact with another amount is an anomaly, not a repeat.
 * A hash, so that keys are short (100 bytes in Redis) and no order number is readable there; of all 256 bits, so that
 * nobody can make two facts with one key.
 */
const keyOf = (parts: readonly (string | number)[]) =>
  `pay_idempotent:{${hash('sha256', JSON.stringify(parts), 'base64url')}}`
