import Table from 'cli-table3'
import { relative } from 'node:path'
import { FULFILLMENT_TOPICS } from '../../src/schemas/topics.ts'
import { say } from '../parts/progress.ts'
import type { Played } from './play.ts'
import { problemsOf } from './problems.ts'
import { judge, percentile } from './verdict.ts'

/** Prints the table and, as the last line of stdout, one JSON object. @returns the exit code */
export function report(played: Played, dir: string): number {
  const { tally, expected, seen, killedLanes, takeovers, answersMs, eventsMs, workers } = played
  const verdict = judge(expected, seen)
  const refused = tally.deliveries + tally.reports - tally.heard.success
  const table = new Table({ style: { head: [], border: [] } })
  const row = (name: string, value: string | number) => table.push([name, String(value)])
  const orders = expected.paid.length + expected.uncertain.length + expected.unpaid.length
  row('orders', `${orders}, ${tally.orders} created, ${expected.paid.length} rightly paid`)
  row('deliveries', tally.deliveries)
  row('accepted', tally.heard.success)
  for (const [reason, count] of played.refusedByReason) row(`refused: ${reason}`, count)
  for (const [outcome, count] of played.outcomes) row(`processor: ${outcome}`, count)
  row('orders whose callbacks were all lost', `${played.silent}, providers were asked ${played.asked} times`)
  row('orders with all their events', verdict.paid)
  for (const topic of FULFILLMENT_TOPICS) row(topic, seen.filter((event) => event.topic === topic).length)
  row('shipped, counted at the carrier', `${workers.shipped} orders in ${workers.shipments} parcels`)
  row('stock deducted, points granted', `${workers.stockDeducted}, ${workers.pointsGranted} orders`)
  row("workers' reports accepted", workers.reportsAccepted)
  row('lost', verdict.lost.length)
  row('duplicated', verdict.duplicated.length)
  row('of orders not paid', verdict.phantom.length)
  row('forgeries accepted', expected.wronglyAccepted.length)
  row('lanes killed between Postgres and Kafka', killedLanes.length)
  row('takeovers (unemitted events found)', takeovers)
  row('answer p50 / p99', `${percentile(answersMs, 50)} / ${percentile(answersMs, 99)} ms`)
  row('callback → event p50 / p99', `${percentile(eventsMs, 50)} / ${percentile(eventsMs, 99)} ms (with the kill)`)
  say(table.toString())

  const problems = problemsOf(played, verdict)
  for (const problem of problems.slice(0, 20)) say(`✖ ${problem}`)
  if (problems.length > 20) say(`✖ and ${problems.length - 20} more`)
  say(
    problems.length === 0 ? '✔ every paid order has its events once and was shipped once, and no other order was' : '',
  )
  say(
    `logs: ${relative(process.cwd(), dir)}/logs, what was sent and heard: ${relative(process.cwd(), dir)}/simulation.jsonl`,
  )
  process.stdout.write(
    `${JSON.stringify({
      ...{ orders, deliveries: tally.deliveries, accepted: tally.heard.success, refused },
      ...{
        paid: verdict.paid,
        shipped: workers.shipped,
        events: seen.length,
        lost: verdict.lost.length,
        duplicated: verdict.duplicated.length,
      },
      ...{ takeovers, answer_p99_ms: percentile(answersMs, 99), event_p99_ms: percentile(eventsMs, 99) },
    })}\n`,
  )
  return problems.length === 0 ? 0 : 1
}
