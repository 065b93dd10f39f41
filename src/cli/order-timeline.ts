import type { Command } from 'commander'
import { COMMON, KAFKA, POSTGRES, readConfig } from '../runtime/config.ts'
import { INPUT_TOPIC, ledgerGroup } from '../schemas/topics.ts'
import { readTimeline, type Timeline, type TimelineEvent } from '../store/order-timeline.ts'
import { orderView, timelineView } from '../store/order-view.ts'
import { assertOurs } from './assert-ours.ts'
import { cliLog, isSet, readKafka, withDatabase } from './connect.ts'
import { merchantName, orderNumber } from './options.ts'
import { findKnown } from './order-show.ts'
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

async function show({ env }: CliContext, merchant: string, outTradeNo: string): Promise<Output> {
  const kafka = isSet(env, 'KAFKA_BROKERS') ? KAFKA : { TOPIC_PREFIX: KAFKA.TOPIC_PREFIX }
  const { APP_ID, TOPIC_PREFIX } = readConfig({ APP_ID: COMMON.APP_ID, ...kafka, ...POSTGRES }, env)
  const inputTopic = TOPIC_PREFIX + INPUT_TOPIC
  const { found, timeline } = await withDatabase(env, async (pool) => {
    // By another APP_ID's ledger nothing would be in Kafka.
    await assertOurs(pool, APP_ID, TOPIC_PREFIX)
    const found = await findKnown(pool, merchant, outTradeNo)
    return { found, timeline: await readTimeline(pool, found.order.id, inputTopic) }
  })
  const ledger = timeline.events.length === 0 ? undefined : await readLedger(env, inputTopic, found.lane)
  const emitted = (event: TimelineEvent) => {
    if (event.isSettled || (ledger !== undefined && event.laneSeq < ledger)) return 'emitted'
    return ledger === undefined ? 'perhaps not emitted' : 'not emitted yet'
  }
  const order = orderView(found)
  const view = timelineView(timeline)
  const { status, amount_minor, currency, expires_at, payment, lane, version, archived_at } = order
  const rows = stepsOf(timeline, emitted).map(({ atMs, what, detail }) => [isoOf(atMs), what, detail])
  const cut = timeline.truncated.length > 0 ? `\nOnly the latest of: ${timeline.truncated.join(', ')}` : ''
  const head = {
    order: `${merchant} ${outTradeNo}`,
    status,
    amount_minor,
    currency,
    expires_at,
    payment,
    lane,
    version,
    archived_at,
  }
  return {
    json: { order, ...view, ledger: ledger ?? null },
    text: [listing(head), table(['time', 'what', 'detail'], rows) + cut].join('\n\n'),
  }
}

/** Whether an event is in Kafka, only Kafka knows; without KAFKA_BROKERS what is settled is all that is sure. */
async function readLedger(env: NodeJS.ProcessEnv, inputTopic: string, lane: number): Promise<number | undefined> {
  if (!isSet(env, 'KAFKA_BROKERS')) return undefined
  const { APP_ID } = readConfig({ APP_ID: COMMON.APP_ID }, env)
  const { settings } = await readKafka(env)
  const { createOffsetReader } = await import('../runtime/kafka/offset-reader.ts')
  const offsets = await createOffsetReader(settings, cliLog(env))
  try {
    return (await offsets.committed(ledgerGroup(APP_ID), inputTopic, lane))?.offset
  } finally {
    await offsets.close()
  }
}

/** One list by time. A delivery counts when the gateway received it, a fact and an event when they were written. */
function stepsOf(
  timeline: Timeline,
  emitted: (event: TimelineEvent) => string,
): { atMs: number; what: string; detail: string }[] {
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
      detail: `${e.topic} lane ${e.lane} no. ${e.laneSeq}, ${emitted(e)}`,
    })),
    ...timeline.waiting.map((e) => ({
      atMs: e.createdAtMs,
      what: `event ${e.kind} waits`,
      detail: `${e.topic} lane ${e.lane}, behind brake ${e.brakeId}: ${e.brakeReason}`,
    })),
    ...timeline.anomalies.map((a) => ({ atMs: a.openedAtMs, what: 'anomaly', detail: `${a.kind} by ${a.cause}` })),
    ...timeline.anomalies
      .filter(({ owner }) => owner !== null)
      .map((a) => ({ atMs: a.claimedAtMs ?? 0, what: 'anomaly claimed', detail: `${a.kind} by ${a.owner ?? ''}` })),
    ...timeline.anomalies
      .filter(({ resolvedAtMs }) => resolvedAtMs !== null)
      .map((a) => ({
        atMs: a.resolvedAtMs ?? 0,
        what: 'anomaly resolved',
        detail: `${a.kind}: ${a.resolution ?? ''} by ${a.resolvedBy ?? 'itself'}${a.reason === null ? '' : `: ${a.reason}`}`,
      })),
  ]
  return steps.sort((a, b) => a.atMs - b.atMs)
}
