import { v5 as uuidV5 } from 'uuid'
import type { Fact } from './model.ts'

/** Fixed for ever: another namespace would give every old event a new id. */
const NAMESPACE = '6f1d3a52-9c0e-5b7a-8e44-2d1b7c9a0f36'

const lengthPrefixed = (parts: readonly string[]) => parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join('')

/** A fact's identity within its order; also the `cause` of what follows from it. */
export const factCause = (fact: Pick<Fact, 'eventType' | 'providerRef'>) => `${fact.eventType}/${fact.providerRef}`

/**
 * The stable id of one message: UUIDv5 over the length-prefixed parts, so that no two different causes share one.
 * @param cause a fact's identity, or `close`, `expire`, `resolve:<cause>`
 */
export const eventId = (merchant: string, outTradeNo: string, cause: string, kind: string, topic: string) =>
  uuidV5(lengthPrefixed([merchant, outTradeNo, cause, kind, topic]), NAMESPACE)
