import type { Command } from 'commander'
import { KAFKA, readConfig } from '../runtime/config.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { findOrder } from '../store/find-order.ts'
import { readTimeline, type Timeline } from '../store/order-timeline.ts'
import { orderView, timelineView } from '../store/order-view.ts'
import { withDatabase } from './connect.ts'
import { merchantName, orderNumber } from './options.ts'
import { known } from './order-show.ts'
import { isoOf, listing, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

export const addOrderTimeline = (noun: Command, run: Run) =>
  noun
    .command('timeline')
    .description('all that happened to an order: deliveries, facts, events, anomalies')
    .argument('<merchant>', 'its merchant', merchantName)
    .argument('<out_trade_no>', 'its number', orderNumber)
    .action((merchant: string, outTradeNo: string, _options, command: Command) =>
      run((context) => show(context, merchant, outTradeNo), command),
    )

function show({ env }: CliContext, merchant: string, outTradeNo: string): Promise<Output> {
  const { TOPIC_PREFIX } = readConfig({ TOPIC_PREFIX: KAFKA.TOPIC_PREFIX }, env)
  return withDatabase(env, async (pool) => {
    const found = known(await findOrder(pool, merchant, outTradeNo), merchant, outTradeNo)
    const timeline = await readTimeline(pool, found.order.id, TOPIC_PREFIX + INPUT_TOPIC)
    const order = orderView(found)
    const { status, amount_minor, currency, expires_at, payment, lane, version } = order
    const rows = stepsOf(timeline).map(({ atMs, what, detail }) => [isoOf(atMs), what, detail])
    const cut = timeline.truncated.length > 0 ? `\nOnly the latest of: ${timeline.truncated.join(', ')}` : ''
    return {
      json: { order, ...timelineView(timeline) },
      text: [
        listing({
          order: `${merchant} ${outTradeNo}`,
          status,
          amount_minor,
          currency,
          expires_at,
          payment,
          lane,
          version,
        }),
        table(['time', 'what', 'detail'], rows) + cut,
      ].join('\n\n'),
    }
  })
}

/** One list by time. A delivery counts when the gateway received it, a fact and an event when they were written. */
function stepsOf(timeline: Timeline): { atMs: number; what: string; detail: string }[] {
  const steps = [
    ...timeline.deliveries.map((d) => ({
      atMs: d.receivedAtMs,
      what: `delivery ${d.outcome}`,
      detail: `${d.source ?? '?'} ${d.eventType ?? ''} ${d.providerRef ?? ''} at ${d.lane}/${d.offset}`,
    })),
    ...timeline.facts.map((f) => ({
      atMs: f.recordedAtMs,
      what: `fact ${f.outcome}`,
      detail: `${f.eventType} ${f.providerRef} ${f.amountMinor} ${f.currency}`,
    })),
    ...timeline.events.map((e) => ({
      atMs: e.createdAtMs,
      what: `event ${e.kind}`,
      detail: `${e.topic} lane ${e.lane} no. ${e.laneSeq}${e.isSettled ? '' : ', maybe not emitted yet'}`,
    })),
    ...timeline.anomalies.map((a) => ({ atMs: a.openedAtMs, what: 'anomaly', detail: `${a.kind} by ${a.cause}` })),
    ...timeline.anomalies
      .filter(({ resolvedAtMs }) => resolvedAtMs !== null)
      .map((a) => ({
        atMs: a.resolvedAtMs ?? 0,
        what: 'anomaly resolved',
        detail: `${a.kind}: ${a.resolution ?? ''} ${a.reason ?? ''}`,
      })),
  ]
  return steps.sort((a, b) => a.atMs - b.atMs)
}
