import { hash } from 'node:crypto'
import type { Fact } from './model.ts'

/** Fixed for ever: another namespace would give every old event a new id. */
const NAMESPACE = Buffer.from('6f1d3a529c0e5b7a8e442d1b7c9a0f36', 'hex')

/** A fact's identity within its order; also the `cause` of what follows from it, and the ref of its held limit. */
export const factCause = (fact: Pick<Fact, 'eventType' | 'providerRef'>) => `${fact.eventType}/${fact.providerRef}`

/**
 * The stable id of one message: UUIDv5 (RFC 9562, 5.5) over the length-prefixed parts, so that no two different causes
 * share one. Hashed in one shot: 0.8 µs, where the `uuid` package takes 4.5.
 * @param cause a fact's identity, or `close`, `expire`, `resolve:<cause>`; of a notice, its anomaly's identity
 */
export function eventId(merchant: string, outTradeNo: string, cause: string, kind: string, topic: string): string {
  const name = prefixed(merchant) + prefixed(outTradeNo) + prefixed(cause) + prefixed(kind) + prefixed(topic)
  const hex = hash('sha1', inNamespace(name), 'hex')
  const variant = VARIANT.charAt(Number.parseInt(hex.charAt(16), 16))
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** The hexadecimal digit with its two upper bits set to 10. */
const VARIANT = '89ab89ab89ab89ab'

const prefixed = (part: string) => `${Buffer.byteLength(part)}:${part}`

/** One buffer for all ids: written and read within one call. */
let scratch = Buffer.concat([NAMESPACE, Buffer.alloc(4_096)])

function inNamespace(name: string): Buffer {
  const bytesMax = NAMESPACE.length + name.length * 3 // UTF-8 takes at most 3 bytes per UTF-16 unit.
  if (scratch.length < bytesMax) scratch = Buffer.concat([NAMESPACE, Buffer.alloc(bytesMax)])
  return scratch.subarray(0, NAMESPACE.length + scratch.write(name, NAMESPACE.length))
}
