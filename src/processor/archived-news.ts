import { replayOf } from '../schemas/headers.ts'
import type { DeadLetter } from '../store/dead-letter.ts'
import { fingerprint } from '../store/fingerprint.ts'
import type { Views } from '../store/read-views.ts'
import type { Arrival } from './arrivals.ts'
import { deadLetterOf } from './dead-letter-notice.ts'
import type { LaneRecord } from './lane-types.ts'

/**
 * Puts its outcome to each fact of an archived order: what the order knew is `archived`, a late duplicate; anything else
 * (a refund after two years) is news, which nobody decides any more and a person must see.
 * @returns the records with news, by offset, each once
 */
export function newsOfArchived(
  unknown: readonly (Arrival & { readonly orderId: number })[],
  { archived }: Pick<Views, 'archived'>,
): Map<number, DeadLetter> {
  const news = new Map<number, DeadLetter>()
  if (archived.size === 0) return news
  for (const arrival of unknown) {
    const tombstone = archived.get(arrival.orderId)
    if (tombstone === undefined) continue
    const { record, fact, callback: about } = arrival
    // Not the stub's, which goes again.
    ;(arrival as Arrival).orderId = tombstone.orderId ?? undefined
    arrival.outcome = tombstone.facts.has(fingerprint(fact)) ? 'archived' : 'dead_letter'
    if (arrival.outcome === 'archived' || news.has(record.offset)) continue
    const { offset, key, value, headers, timestampMs: recordTimeMs } = record
    const detail = `${fact.eventType} ${fact.providerRef} is new, and its order was archived on ${tombstone.archivedOn}`
    const replay = replayOf(headers)
    news.set(offset, { offset, key, value, headers, reason: 'archived_order', detail, recordTimeMs, about, replay })
  }
  return news
}

/** All that is to be kept, in record order. */
export const lettersOf = (records: readonly LaneRecord[], news: ReadonlyMap<number, DeadLetter>): DeadLetter[] =>
  records.flatMap((record) => news.get(record.offset) ?? deadLetterOf(record) ?? [])
