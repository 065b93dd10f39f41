import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { createPoolGauge } from '../runtime/pool-gauge.ts'

/** Every metric of the processor; its help is the question that it answers. */
export function createMetrics(registry = new Registry()) {
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name: `paidonce_${name}`, help, labelNames, registers })
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({ name: `paidonce_${name}`, help, labelNames, registers })
  const histogram = <L extends string>(name: string, help: string, buckets: number[], ...labelNames: L[]) =>
    new Histogram({ name: `paidonce_${name}`, help, buckets, labelNames, registers })

  return {
    registry,
    watchPool: createPoolGauge(registers),
    records: counter('records_total', 'What became of the records of the input topic?', 'outcome'),
    deadLetters: counter('dead_letters_total', 'Which records could not be processed, and why?', 'reason'),
    hintsLeftOut: counter(
      'hints_left_out_total',
      'How many unsigned hints asked for nothing, as their order had as many questions open as it may?',
    ),
    batchRecords: histogram(
      'batch_records',
      'How many records share one pair of transactions?',
      [1, 3, 10, 30, 100, 300, 1_000],
    ),
    stepSeconds: histogram(
      'step_seconds',
      'How long do the Postgres and the Kafka transaction of a batch take?',
      [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
      'step',
    ),
    transactions: counter(
      'transactions_total',
      'How many transactions commit, fail or are refused?',
      'step',
      'outcome',
    ),
    errors: counter('lane_errors_total', 'How often does a lane have to wait, and where did it fail?', 'step'),
    fences: counter('fences_total', 'How often does a lane fence, and how does it go on?', 'outcome'),
    takeovers: counter('takeovers_total', 'How often did a fence find events that a dead owner had not emitted?'),
    rebalances: counter('rebalances_total', 'How often does the consumer group deal out its lanes anew?'),
    events: counter('events_total', 'How many events of which kind were emitted?', 'kind'),
    callbackToEvent: histogram(
      'callback_to_event_seconds',
      'How long after a callback reached the gateway is its event committed?',
      [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    ),
    laneNext: gauge('lane_next_offset', 'Where does each lane of this process read on?', 'lane'),
    laneLag: gauge('lane_lag_records', 'How many records of each lane of this process still wait?', 'lane'),
    laneLedger: gauge('lane_ledger', 'Below which number are the events of each lane emitted?', 'lane'),
    unemittedAge: gauge('lane_oldest_unemitted_seconds', 'How old is the oldest event not yet emitted?', 'lane'),
    lanesHalted: gauge('lanes_halted', 'How many lanes stand still until a person resumes them?', 'reason'),
    lanesOwned: gauge('lanes_owned', 'How many lanes does this process own?'),
    sincePoll: gauge('since_poll_seconds', 'How long ago did this process last finish a fetch?'),
    heldFacts: gauge('held_facts', 'How many facts wait for their order or payment (whole installation)?'),
    heldOldestAge: gauge(
      'held_facts_oldest_seconds',
      'How long has the oldest held fact waited that is no anomaly yet?',
    ),
    anomaliesOpen: gauge('anomalies_open', 'How many anomalies wait for a person (whole installation)?', 'kind'),
    anomaliesOldestAge: gauge('anomalies_oldest_seconds', 'How long has the oldest open anomaly waited?', 'kind'),
    anomaliesClaimed: gauge('anomalies_claimed', 'How many open anomalies does somebody work on?', 'kind'),
    resolutions: counter('anomalies_resolved_total', 'How are anomalies resolved?', 'kind', 'resolution'),
    queriesFiled: gauge('queries_filed', 'How many questions to providers wait to be asked (whole installation)?'),
    queriesOldestAge: gauge('queries_oldest_seconds', 'How long ago was the first of them due?'),
    replaysOpen: gauge('replays_open', 'How many replayed records has no lane met yet (whole installation)?'),
    replaysOldestAge: gauge('replays_oldest_seconds', 'How long ago was the oldest of them asked for?'),
    lanesSuspect: gauge('lanes_suspect', 'How many lanes take one record at a time, as their owners died?'),
    brakes: gauge('brakes', 'How many brakes are set, or still releasing (whole installation)?', 'state'),
    waitingEvents: gauge(
      'waiting_events',
      'How many events does a brake keep back, up to 100,000 (whole installation)?',
    ),
    waitingOldestAge: gauge('waiting_events_oldest_seconds', 'How long has the oldest of them waited?'),
    tableBytes: gauge('table_bytes', 'How large is what grows (partitions and indexes included)?', 'table'),
    partitions: gauge('partitions', 'How many partitions does a table have?', 'table'),
    partitionOldestAge: gauge('partition_oldest_seconds', 'How old is the oldest day that a table keeps?', 'table'),
    partitionsAhead: gauge('partitions_ahead_seconds', 'How far ahead are partitions made?', 'table'),
    partitionRestBytes: gauge('partition_rest_bytes', 'How much lies in no day’s partition?', 'table'),
    maintenanceRuns: counter('maintenance_runs_total', 'How often did this process look after the tables?', 'outcome'),
    maintenanceFindings: gauge('maintenance_findings', 'What could the last run of this process not make or drop?'),
    maintenanceSucceededAt: gauge(
      'maintenance_last_success_timestamp_seconds',
      'When did this process last look after the tables to the end?',
    ),
    removedRows: counter('removed_rows_total', 'How much that was settled long ago was removed?', 'table'),
    archivedOrders: counter('archived_orders_total', 'How many finished orders went into the archive?'),
    archiveKept: gauge(
      'archive_kept_orders',
      'Which orders are old enough for the archive, and why are they kept?',
      'reason',
    ),
    archiveBacklog: gauge(
      'archive_backlog_orders',
      'How many living orders are old enough for the archive (up to 100,000)?',
    ),
    ordersOldestAge: gauge('orders_oldest_seconds', 'How old is the oldest living order?'),
    auditFindings: gauge('audit_findings', 'What did the last audit find?', 'finding'),
    auditAge: gauge('audit_age_seconds', 'How long ago did the last audit end?'),
    auditUndecided: gauge('audit_undecided', 'Could the last audit not judge all (1)?'),
    billFindings: gauge('bill_findings', 'What do the bills of the last 31 days leave to a person?', 'finding'),
    billUnconfirmed: gauge(
      'bill_unconfirmed',
      'About how many findings of the last 31 days could the provider not be asked?',
    ),
    billUndecided: gauge('bill_undecided', 'How many bills of the last 31 days could not be trusted?'),
    billAge: gauge('bill_age_seconds', "How long ago was a provider's and merchant's last bill imported, at most?"),
    deadLettersOpen: gauge(
      'dead_letters_open',
      'How many dead letters wait for a person, and why (whole installation)?',
      'reason',
    ),
    deadLettersOldestAge: gauge('dead_letters_oldest_seconds', 'How long has the oldest open dead letter waited?'),
  }
}
export type Metrics = ReturnType<typeof createMetrics>
