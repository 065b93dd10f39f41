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
