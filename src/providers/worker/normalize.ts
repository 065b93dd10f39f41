import { isUtf8 } from 'node:buffer'
import type { FactKind } from '../../orders/model.ts'
import { withoutControls } from '../detail.ts'
import { isFields } from '../fields.ts'
import { DETAIL_CHARS_MAX, isIdentity, isOrderNumber, isTimeMs, traceable } from '../limits.ts'
import type { Verdict } from '../provider.ts'
import { malformed, verified } from '../refuse.ts'
import { parseStrictJson } from '../strict-json.ts'

/** What a worker reports, and which field of `data` says more about it. */
const REPORTS: ReadonlyMap<string, { eventType: FactKind; says: 'reference' | 'reason' }> = new Map([
  ['shipment_completed', { eventType: 'shipment_completed', says: 'reference' }],
  ['fulfillment_failed', { eventType: 'fulfillment_failed', says: 'reason' }],
  ['goods_returned', { eventType: 'goods_returned', says: 'reference' }],
])

/**
 * Reads a verified report:
 * `{"type":"shipment_completed","timestamp":"2026-01-02T03:04:05Z","data":{"out_trade_no","event_id","reference"}}`.
 * `event_id` is the event that asked for the work; `reference` (a tracking number) or `reason` says more.
 * Its identity is its `webhook-id`, which stays the same when it is sent again.
 */
export function normalize(rawBody: Buffer, reportId: string): Verdict {
  const report = isUtf8(rawBody) ? parseStrictJson(rawBody.toString())?.value : undefined
  if (!isFields(report)) return malformed('body', 'no unambiguous JSON object')
  const { type, timestamp, data } = report
  if (!isIdentity(type)) return malformed('type')
  const known = REPORTS.get(type)
  if (known === undefined) {
    const outTradeNo = isFields(data) && isOrderNumber(data['out_trade_no']) ? data['out_trade_no'] : null
    return verified({ outTradeNo, messageType: type, messageId: traceable(reportId), facts: [] })
  }
  if (!isFields(data)) return malformed('data')
  const { out_trade_no: outTradeNo, event_id: eventId } = data
  const words = data[known.says]
  if (!isOrderNumber(outTradeNo)) return malformed('data.out_trade_no')
  if (!isIdentity(eventId)) return malformed('data.event_id')
  if (typeof words !== 'string' || words === '' || words.includes('\0') || !words.isWellFormed())
    return malformed(`data.${known.says}`)
  const detail = withoutControls(`${words} (event ${eventId})`)
  if (detail.length > DETAIL_CHARS_MAX) return malformed(`data.${known.says}`)
  const happenedMs = typeof timestamp === 'string' ? Date.parse(timestamp) : NaN
  if (!isTimeMs(happenedMs)) return malformed('timestamp')
  return verified({
    outTradeNo,
    messageType: type,
    messageId: traceable(reportId),
    facts: [
      {
        eventType: known.eventType,
        providerRef: `worker:${reportId}`,
        paymentRef: null,
        amountMinor: 0,
        currency: '',
        amountKind: 'none',
        eventTimeMs: happenedMs,
        detail,
      },
    ],
  })
}
