import { sayFact, type End, type ExpectedEvent } from '../life.ts'
import type { Row } from '../capture.ts'
import { possibleEnds } from '../possible-ends.ts'
import type { CloseLine, OrderLine } from '../capture.ts'
import { nameOf, type Oracle, type ReadCallback, type Reading, type Violation } from '../reading.ts'

/** O3: the tables hold what the documented table makes of the input, order by order. */
export const replayed: Oracle = {
  id: 'O3',
  about: 'orders, facts, events and anomalies are what docs/order-states.md makes of the input',
  clauses: ['order_differs', 'facts_differ', 'events_differ', 'anomalies_differ'],
  check: (reading) => {
    const { log, callbacks, tables } = reading
    const orders = Map.groupBy(
      log.filter((line): line is OrderLine => line.line === 'order'),
      nameOf,
    )
    const closes = Map.groupBy(
      log.filter((line): line is CloseLine => line.line === 'close'),
      nameOf,
    )
    const heard = Map.groupBy(
      callbacks.filter(({ callback }) => callback.facts.length > 0),
      ({ callback }) => nameOf(callback),
    )
    const rows = new Map(tables.orders.map((row) => [rowName(row), row]))
    const by = (some: readonly Row[]) => Map.groupBy(some, (row) => Number(row['order_id']))
    const [facts, events, anomalies] = [by(tables.facts), by(tables.events), by(tables.anomalies)]
    const sentMs = firstSent(reading)
    const violations: Violation[] = []
    const names = new Set([...orders.keys(), ...heard.keys(), ...rows.keys()])
    for (const name of names) {
      const asked = orders.get(name)
      const order = asked?.find((line) => line.heard === 'created') ?? asked?.at(-1)
      const ends = possibleEnds(order, closes.get(name) ?? [], messagesOf(heard.get(name) ?? [], sentMs))
      const row = rows.get(name)
      if (row === undefined) {
        const mayBeUnknown = order?.heard !== 'created' && !heard.has(name)
        if (!mayBeUnknown) violations.push({ clause: 'order_differs', what: `${name}: there is no row` })
        continue
      }
      const id = Number(row['id'])
      const is = stored(row, facts.get(id) ?? [], events.get(id) ?? [], anomalies.get(id) ?? [])
      violations.push(...judge(name, ends, is, order))
    }
    return { examined: names.size, violations }
  },
}

/** When a statement was first sent, whichever delivery of it: a record cannot lie in the lane before that. */
function firstSent({ sent }: Reading): ReadonlyMap<string, number> {
  const first = new Map<string, number>()
  for (const { requestSha256 = '', atMs } of sent)
    first.set(requestSha256, Math.min(atMs, first.get(requestSha256) ?? atMs))
  return first
}

/** In the lane's order, each message once: the same facts again change nothing. */
function messagesOf(heard: readonly ReadCallback[], sentMs: ReadonlyMap<string, number>) {
  const unique = new Map<string, { facts: ReadCallback['callback']['facts']; sentMs: number | null }>()
  for (const { callback, requestSha256 } of heard.toSorted((a, b) => a.record.offset - b.record.offset)) {
    const name = callback.facts.map((fact) => `${sayFact(fact, '')} ${fact.paymentRef ?? ''}`).join()
    if (!unique.has(name)) unique.set(name, { facts: callback.facts, sentMs: sentMs.get(requestSha256) ?? null })
  }
  return [...unique.values()]
}

const rowName = (row: Row) => `${String(row['merchant'])}/${String(row['out_trade_no'])}`

interface Stored {
  readonly order: string
  readonly facts: string
  readonly events: string
  readonly anomalies: string
}
const PARTS = {
  order: 'order_differs',
  facts: 'facts_differ',
  events: 'events_differ',
  anomalies: 'anomalies_differ',
} as const

function stored(row: Row, facts: readonly Row[], events: readonly Row[], anomalies: readonly Row[]): Stored {
  const held = facts.filter(({ outcome }) => outcome === 'held').length
  return {
    order: sayOrder(row as never, held === Number(row['held_count']) ? '' : 'held_count'),
    facts: facts
      .map((fact) =>
        sayFact(
          {
            ...{ eventType: String(fact['event_type']), providerRef: String(fact['provider_ref']), paymentRef: null },
            ...{ amountMinor: Number(fact['amount_minor']), currency: String(fact['currency']), eventTimeMs: 0 },
            amountKind: String(fact['amount_kind']),
          },
          String(fact['outcome']),
        ),
      )
      .sort()
      .join('\n'),
    events: inOrder(
      events
        .toSorted((a, b) => Number(a['lane_seq']) - Number(b['lane_seq']))
        .map((event) => ({
          ...{ kind: String(event['kind']), topic: String(event['topic']), cause: String(event['cause']) },
          ...{ sequence: number(event['sequence']), amountMinor: number(event['amount_minor']) },
          ...{ currency: text(event['currency']), paymentRef: text(event['payment_ref']) },
        })),
    ),
    anomalies: anomalies
      .map(
        ({ kind, cause, resolved_at }) =>
          `${String(kind)}:${String(cause)} ${resolved_at === null ? 'open' : 'closed'}`,
      )
      .sort()
      .join('\n'),
  }
}

/** Events go out one after another, and so do notices; between the two there is no order, as a brake keeps back only one. */
const inOrder = (events: readonly ExpectedEvent[]) =>
  [...events.filter(({ sequence }) => sequence !== null), ...events.filter(({ sequence }) => sequence === null)]
    .map(sayEvent)
    .join('\n')
const number = (value: unknown) => (value === null || value === undefined ? null : Number(value))
const text = (value: unknown) =>
  value === null || value === undefined ? null : JSON.stringify(value).replace(/^"|"$/g, '')
const sayOrder = (
  order: {
    status: string
    accepted_ref: string | null
    closed_by: string | null
    sequence: number
    amount_minor: number | null
    currency: string | null
  },
  wrong: string,
) =>
  [order.status, order.accepted_ref, order.closed_by, order.sequence, order.amount_minor, order.currency, wrong].join(
    ' ',
  )
const sayEvent = (event: ExpectedEvent) =>
  [event.kind, event.topic, event.cause, event.sequence, event.amountMinor, event.currency, event.paymentRef].join(' ')

function judge(name: string, ends: readonly End[], is: Stored, order: OrderLine | undefined): Violation[] {
  const candidates = ends.map((end): Stored => {
    const isKnown = end.status !== 'awaited'
    const money = {
      amount_minor: isKnown ? (order?.amountMinor ?? null) : null,
      currency: isKnown ? (order?.currency ?? null) : null,
    }
    const said = { status: end.status, accepted_ref: end.acceptedRef, closed_by: end.closedBy, sequence: end.sequence }
    return {
      order: sayOrder({ ...said, ...money }, ''),
      facts: end.facts.join('\n'),
      events: inOrder(end.events),
      anomalies: end.anomalies.join('\n'),
    }
  })
  const differing = (candidate: Stored) =>
    (Object.keys(PARTS) as (keyof Stored)[]).filter((part) => candidate[part] !== is[part])
  const [nearest] = candidates.toSorted((a, b) => differing(a).length - differing(b).length)
  if (nearest === undefined) return [{ clause: 'order_differs', what: `${name}: no end is possible` }]
  return differing(nearest).map((part) => ({
    clause: PARTS[part],
    what: `${name}: ${JSON.stringify(is[part])}, but the table makes ${JSON.stringify(nearest[part])}`,
  }))
}
