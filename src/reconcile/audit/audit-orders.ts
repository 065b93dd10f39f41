import { createHash } from 'node:crypto'
import type pg from 'pg'
import type { Routes } from '../../orders/routes.ts'
import { snapshotOn } from '../../runtime/postgres.ts'
import { readAuditOrders } from '../../store/audit-orders.ts'
import type { AuditedOrder } from './audited-order.ts'
import { keptSince } from './kept-since.ts'
import { lineOf, noCounts, type Counts, type Finding } from './finding.ts'
import { judgeOrder } from './judge-order.ts'

/** What the orders up to one came to: kept between pages, so that a run that was stopped goes on. */
export interface OrdersReport {
  readonly orders: number
  readonly events: number
  readonly counts: Counts
  /** Of all orders so far, one after another. */
  readonly digest: string
}
export const NO_ORDERS: OrdersReport = { orders: 0, events: 0, counts: noCounts(), digest: '' }

export interface OrdersOptions {
  readonly client: pg.ClientBase
  readonly sinceMs: number
  readonly untilMs: number
  readonly routes: Routes
  readonly inputTopic: string
}

export interface OrdersPage {
  readonly report: OrdersReport
  readonly findings: readonly Finding[]
  /** The last order that is judged. */
  readonly afterId: number
}

/** Judges the orders that changed in the window, a page at a time, in the order of their ids. */
export async function* auditOrders(
  { client, sinceMs, untilMs, routes, inputTopic }: OrdersOptions,
  from: { readonly afterId: number; readonly report: OrdersReport },
): AsyncGenerator<OrdersPage> {
  let { afterId, report } = from
  for (;;) {
    const { orders, found: all } = await snapshotOn(client, async (tx) => {
      const page = await readAuditOrders(tx, { afterId, sinceMs, untilMs })
      const found = page.map((order) => judgeOrder(order, routes))
      if (found.every(({ length }) => length === 0)) return { orders: page, found }
      // A day may be dropped at any time, and takes its events with it: what lacks those is asked about at this moment.
      const kept = await keptSince(tx, inputTopic)
      return { orders: page, found: page.map((order) => judgeOrder(order, routes, kept.get(order.lane))) }
    })
    const last = orders.at(-1)
    if (last === undefined) return
    const findings: Finding[] = []
    let { digest } = report
    const counts = { ...report.counts }
    for (const [index, order] of orders.entries()) {
      const found = all[index] ?? []
      for (const { finding } of found) counts[finding] += 1
      findings.push(...found)
      digest = createHash('sha256').update(digest).update(digestLine(order, found)).digest('hex')
    }
    const events = orders.reduce((sum, order) => sum + order.events.length, 0)
    report = { orders: report.orders + orders.length, events: report.events + events, counts, digest }
    afterId = last.id
    yield { report, findings, afterId }
  }
}

/** Without ids of rows and times of writing, which a copy may have otherwise. */
function digestLine(order: AuditedOrder, findings: readonly Finding[]): string {
  const { merchant, outTradeNo, status, amountMinor, currency, acceptedRef, sequence } = order
  return JSON.stringify([
    ...[merchant, outTradeNo, status, amountMinor, currency, acceptedRef, sequence],
    order.facts.map((fact) => [fact.eventType, fact.providerRef, fact.amountMinor, fact.currency, fact.outcome]),
    order.anomalies.map(({ kind, cause, resolution }) => [kind, cause, resolution]),
    order.events.map(({ eventId, amountMinor: minor }) => [eventId, minor]).sort(),
    findings.map(lineOf).sort(),
  ])
}
