import type { AmountKind, FactKind } from '../orders/model.ts'
import type { Callback, Instead, Source } from './callback.ts'

// Written out, as this folder imports only types; the compiler sees to it that they are complete.
const EVENT_TYPES = {
  payment_succeeded: true,
  payment_failed: true,
  refund_succeeded: true,
  refund_failed: true,
  disputed: true,
  provider_closed: true,
  shipment_completed: true,
  fulfillment_failed: true,
  goods_returned: true,
  bill_differs: true,
} satisfies Record<FactKind, true>
const AMOUNT_TYPES = { none: true, individual: true, cumulative: true } satisfies Record<AmountKind, true>
const SOURCES = { callback: true, query: true, bill: true, worker: true, replay: true } satisfies Record<Source, true>
const INSTEADS = { no_effect: true, hint: true } satisfies Record<Instead['kind'], true>

const BYTES_MAX = 256
const DETAIL_CHARS_MAX = 1_024

/** A UTF-16 unit takes at most 3 bytes, so the usual short reference needs no counting. */
const fits = (text: string) => text.length <= 85 || Buffer.byteLength(text) <= BYTES_MAX
const reference = (text: string) => text !== '' && fits(text) && !text.includes('\0')
const instant = (ms: number) => Number.isSafeInteger(ms) && ms >= 0

function badFact(fact: Callback['facts'][number]): string | undefined {
  if (!Object.hasOwn(EVENT_TYPES, fact.eventType)) return 'eventType'
  if (!reference(fact.providerRef)) return 'providerRef'
  if (fact.paymentRef !== null && !reference(fact.paymentRef)) return 'paymentRef'
  if (!Number.isSafeInteger(fact.amountMinor) || fact.amountMinor < 0) return 'amountMinor'
  if (fact.currency !== '' && !/^[A-Z]{3}$/.test(fact.currency)) return 'currency'
  if (!Object.hasOwn(AMOUNT_TYPES, fact.amountKind)) return 'amountKind'
  if (!instant(fact.eventTimeMs)) return 'eventTimeMs'
  if (fact.detail !== null && (fact.detail.length > DETAIL_CHARS_MAX || fact.detail.includes('\0'))) return 'detail'
  return undefined
}

function badInstead({ instead, facts }: Callback): string | undefined {
  if (instead === null) return undefined
  if (facts.length > 0) return 'instead'
  // Avro alone has seen them: the two may not belong together.
  const { kind, ref }: { kind: string; ref: string | null } = instead
  if (!Object.hasOwn(INSTEADS, kind)) return 'instead.kind'
  return (kind === 'hint' ? ref !== null && reference(ref) : ref === null) ? undefined : 'instead.ref'
}

/**
 * What Avro cannot say: Avro's strings may hold any word, a NUL (which Postgres refuses) or a megabyte.
 * @returns the path of the first field that breaks its rule; undefined if the callback is sound.
 */
export function badField(callback: Callback): string | undefined {
  if (!reference(callback.merchant)) return 'merchant'
  if (callback.outTradeNo !== null && !reference(callback.outTradeNo)) return 'outTradeNo'
  if (!reference(callback.provider)) return 'provider'
  if (!Object.hasOwn(SOURCES, callback.source)) return 'source'
  if (!fits(callback.messageType) || callback.messageType.includes('\0')) return 'messageType'
  if (!fits(callback.messageId) || callback.messageId.includes('\0')) return 'messageId'
  if (!instant(callback.receivedAtMs)) return 'receivedAtMs'
  for (const [index, fact] of callback.facts.entries()) {
    const field = badFact(fact)
    if (field !== undefined) return `facts[${index}].${field}`
  }
  return badInstead(callback)
}
