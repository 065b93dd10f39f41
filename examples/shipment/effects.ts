import { inbox, once, skip, type Effect } from '../../src/consumer/consumer.ts'
import { askCarrier, callCarrier, type CarrierPath } from './carrier-client.ts'

export const TABLES = `
create table if not exists parcels (event_id text primary key, out_trade_no text not null, tracking_no text not null);
create table if not exists expected_returns (event_id text primary key, out_trade_no text not null)`

export interface CarrierTerms {
  readonly url: string
  readonly callMs: number
  /** From its manual: what it has received it does within this time, or not at all. */
  readonly lateMs: number
  readonly settleMsMax?: number
  readonly takesFence?: boolean
}

/** What a warehouse does with the events of the shipment topic. */
export function shipmentEffects({ url, ...terms }: CarrierTerms): Readonly<Record<string, Effect>> {
  const atCarrier = (path: CarrierPath) => ({
    call: callCarrier.bind(undefined, url, path),
    ask: askCarrier.bind(undefined, url, path),
    ...terms,
  })
  return {
    ship: once({
      ...atCarrier('shipments'),
      settled: async (tx, { eventId, outTradeNo }, { reference = 'unknown', report }) => {
        await tx.query('insert into parcels values ($1, $2, $3)', [eventId, outTradeNo, reference])
        await report('shipment_completed', reference)
      },
    }),
    cancel: once(atCarrier('cancellations')),
    return: inbox(async (tx, { eventId, outTradeNo }) => {
      await tx.query('insert into expected_returns values ($1, $2)', [eventId, outTradeNo])
    }),
    refund: skip,
  }
}
