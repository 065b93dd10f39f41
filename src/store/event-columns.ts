import type { Column, Columns } from './binder.ts'
import type { EventRow } from './event-row.ts'
import { int, intOrNull, ms } from './statement.ts'

/** An event before it is numbered. */
export type UnnumberedEvent = Omit<EventRow, 'laneSeq' | 'payload'>

const PLAIN = [
  ...['topic', 'event_id', 'kind', 'order_id', 'merchant', 'key', 'sequence', 'cause'],
  ...['amount_minor', 'currency', 'payment_ref'],
]

/** What is selected of an event, whether it has its number or waits for it, in the order of `EventColumns`. */
export const eventColumns = (table: string, receivedAtMs: string): string =>
  [
    ...PLAIN.map((column) => `${table}.${column}`),
    ...[ms(`${table}.occurred_at`), receivedAtMs, `${table}.attrs`, `${table}.traceparent`],
  ].join(', ')

/** The same columns of events that are handed to a statement, whatever their rows hold beside. */
export const bindEvent = <Row>(is: Columns<Row>, of: (row: Row) => UnnumberedEvent): Column<Row>[] => [
  is.text('topic', (row) => of(row).topic),
  is.uuid('event_id', (row) => of(row).eventId),
  is.text('kind', (row) => of(row).kind),
  is.int8('order_id', (row) => of(row).orderId),
  is.text('merchant', (row) => of(row).merchant),
  is.text('key', (row) => of(row).key),
  is.int4('sequence', (row) => of(row).sequence),
  is.text('cause', (row) => of(row).cause),
  is.int8('amount_minor', (row) => of(row).amountMinor),
  is.text('currency', (row) => of(row).currency),
  is.text('payment_ref', (row) => of(row).paymentRef),
  is.timestamp('occurred_at', (row) => of(row).occurredAtMs),
  is.timestamp('received_at', (row) => of(row).receivedAtMs),
  is.text('attrs', (row) => of(row).attrs),
  is.text('traceparent', (row) => of(row).traceparent),
]

export type EventColumns = [
  topic: string,
  eventId: string,
  kind: string,
  orderId: unknown,
  merchant: string | null,
  key: string,
  sequence: number | null,
  cause: string,
  amountMinor: unknown,
  currency: string | null,
  paymentRef: string | null,
  occurredAtMs: unknown,
  receivedAtMs: unknown,
  attrs: string | null,
  traceparent: string | null,
]

/** A row that begins with these columns. */
export const eventOf = (row: readonly [...EventColumns, ...unknown[]]): UnnumberedEvent => ({
  topic: row[0],
  eventId: row[1],
  kind: row[2],
  orderId: intOrNull(row[3]),
  merchant: row[4],
  key: row[5],
  sequence: row[6],
  cause: row[7],
  amountMinor: intOrNull(row[8]),
  currency: row[9],
  paymentRef: row[10],
  occurredAtMs: int(row[11]),
  receivedAtMs: intOrNull(row[12]),
  attrs: row[13],
  traceparent: row[14],
})
