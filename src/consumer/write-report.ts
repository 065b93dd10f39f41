import type { Transaction } from '../runtime/postgres.ts'
import type { Fulfillment } from '../schemas/fulfillment.ts'
import { orderKey } from './take-in.ts'

export const REPORT_TYPES = ['shipment_completed', 'fulfillment_failed', 'goods_returned'] as const
export type ReportType = (typeof REPORT_TYPES)[number]

/**
 * Leaves a report for the gateway, in the transaction of the effect that it tells of.
 * @param says a tracking number, or the reason of a failure; at most 900 characters are kept
 */
export type WriteReport = (type: ReportType, says: string) => Promise<void>

const SAYS_CHARS_MAX = 900

/** A report's id follows from its event, so that a report that is written or sent twice is one fact. */
export function reportsOf(tx: Transaction, consumer: string, event: Fulfillment): WriteReport {
  return async (type, says) => {
    const { eventId, merchant, outTradeNo } = event
    const words = says.replaceAll('\0', '').slice(0, SAYS_CHARS_MAX).toWellFormed() || 'no details'
    const saying = type === 'fulfillment_failed' ? { reason: words } : { reference: words }
    const report = {
      type,
      timestamp: new Date().toISOString(),
      data: { out_trade_no: outTradeNo, event_id: eventId, ...saying },
    }
    await tx.query({
      name: 'paidonce-write-report',
      text: `insert into paidonce_consumer.reports (id, consumer, merchant, order_key, body) values ($1, $2, $3, $4, $5)
             on conflict do nothing`,
      values: [`${type}-${eventId}`, consumer, merchant, orderKey(event), JSON.stringify(report)],
    })
  }
}
