import { Counter, Gauge, Registry } from 'prom-client'

/** Every metric of a consumer; its help is the question that it answers. */
export function createConsumerMetrics(registry = new Registry()) {
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name: `paidonce_consumer_${name}`, help, labelNames, registers })
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({ name: `paidonce_consumer_${name}`, help, labelNames, registers })
  return {
    registry,
    taken: counter('taken_total', 'What was in the records of the topic?', 'consumer', 'outcome'),
    worked: counter('worked_total', 'What came of working on events?', 'consumer', 'outcome'),
    calls: counter('calls_total', 'How did calls to the third party end?', 'consumer', 'outcome'),
    asks: counter('asks_total', 'What did the third party say of events of which nobody knew?', 'consumer', 'answer'),
    locks: counter('locks_total', 'What came of asking Redis for an order’s lock?', 'consumer', 'outcome'),
    reports: counter('reports_total', 'What did the gateway answer to reports?', 'consumer', 'outcome'),
    troubles: counter('troubles_total', 'How often had it to wait for Postgres, Kafka or the registry?', 'consumer'),
    lag: gauge('lag_records', 'How many records of each lane are not taken in?', 'consumer', 'lane'),
    open: gauge('open_events', 'How many events are not settled, by state?', 'consumer', 'state'),
    oldest: gauge('oldest_open_seconds', 'How old is the oldest event that is not settled?', 'consumer'),
    unsent: gauge('reports_waiting', 'How many reports has the gateway not accepted yet?', 'consumer'),
    stopped: gauge('lanes_stopped', 'How many lanes wait for a person?', 'consumer'),
  }
}
export type ConsumerMetrics = ReturnType<typeof createConsumerMetrics>

/** Counters that an alert looks at, or a person, are there before the first of their kind: a rise from nothing is none. */
export function beginAtZero(
  { taken, worked, calls, asks, locks, reports, troubles, ...gauges }: ConsumerMetrics,
  consumer: string,
) {
  for (const outcome of ['fresh', 'duplicate', 'undecodable']) taken.inc({ consumer, outcome }, 0)
  for (const outcome of ['done', 'refused', 'poison', 'gave_up', 'no_effect_for_kind', 'killed_process', 'unsettled'])
    worked.inc({ consumer, outcome }, 0)
  for (const outcome of ['happened', 'unknown']) calls.inc({ consumer, outcome }, 0)
  for (const answer of ['happened', 'did_not_happen', 'unknown']) asks.inc({ consumer, answer }, 0)
  for (const outcome of ['held', 'away']) locks.inc({ consumer, outcome }, 0)
  for (const outcome of ['accepted', 'failed']) reports.inc({ consumer, outcome }, 0)
  troubles.inc({ consumer }, 0)
  gauges.stopped.set({ consumer }, 0)
}
