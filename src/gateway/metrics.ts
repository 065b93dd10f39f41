import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { PROVIDERS } from '../providers/registry.ts'
import { CONNECTION_ENDS } from '../runtime/connection-limits.ts'
import { noteNotInUse } from '../runtime/reload-gauge.ts'
import { FILTER_FAILURES } from './filter/repeat-filter.ts'

const LAG_RESOLUTION_MS = 20

/** The gateway's figures; labels come from fixed sets, never from a request. */
export function createMetrics(registry = new Registry()) {
  const delay = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  delay.enable()
  const registers = [registry]
  let readInFlight = () => 0
  const reloads = new Counter({
    name: 'paidonce_merchants_reloads_total',
    help: "Loads of the merchants' files after the first: loaded, or refused as a whole for a mistake in one",
    labelNames: ['outcome'] as const,
    registers,
  })
  const reloadFailed = new Gauge({
    name: 'paidonce_merchants_reload_failed',
    help: "1 while the merchants' files are not what is in use: they hold a mistake, or change all the time",
    registers,
  })
  const merchantsLoadedAt = new Gauge({
    name: 'paidonce_merchants_loaded_timestamp_seconds',
    help: "When the merchants' files in use were loaded",
    registers,
  })
  const endedConnections = new Counter({
    name: 'paidonce_gateway_connections_ended_total',
    help: 'Connections ended for what they did, or for want of room',
    labelNames: ['reason'] as const,
    registers,
  })
  for (const reason of CONNECTION_ENDS) endedConnections.inc({ reason }, 0)
  const filtered = new Counter({
    name: 'paidonce_callbacks_filtered_total',
    help: 'Callbacks accepted without a record, as Redis knew that all they state is in Kafka',
    labelNames: ['provider'] as const,
    registers,
  })
  for (const [provider, { source }] of PROVIDERS) if (source === 'callback') filtered.inc({ provider }, 0)
  const filterFailures = new Counter({
    name: 'paidonce_gateway_filter_failures_total',
    help: 'Questions to Redis without an answer (away, late, refused) or not asked (unsure which topic is meant): those callbacks went to Kafka; and facts not remembered',
    labelNames: ['reason'] as const,
    registers,
  })
  for (const reason of FILTER_FAILURES) filterFailures.inc({ reason }, 0)
  const notInUse = noteNotInUse(reloadFailed)
  return {
    registry,
    merchantsLoadedAt,
    noteReload: (outcome: 'loaded' | 'refused', at: Date) => {
      reloads.inc({ outcome })
      notInUse({ refused: outcome === 'refused' })
      if (outcome === 'loaded') merchantsLoadedAt.set(at.getTime() / 1_000)
    },
    noteUnsettled: (unsettled: boolean) => notInUse({ unsettled }),
    callbacks: new Counter({
      name: 'paidonce_gateway_callbacks_total',
      help: 'Callbacks answered: accepted (in Kafka), refused (the sender must change something), failed (we must)',
      labelNames: ['provider', 'outcome'] as const,
      registers,
    }),
    refusals: new Counter({
      name: 'paidonce_gateway_refusals_total',
      help: 'Callbacks not accepted, by reason',
      labelNames: ['provider', 'reason'] as const,
      registers,
    }),
    returns: new Counter({
      name: 'paidonce_gateway_returns_total',
      help: 'Buyers sent back by a provider: verified (shown, no more), refused, failed (overload), unknown (nothing is returned to there)',
      labelNames: ['provider', 'outcome'] as const,
      registers,
    }),
    unheard: new Counter({
      name: 'paidonce_gateway_unheard_answers_total',
      help: 'Answers whose sender had closed the connection before',
      labelNames: ['provider', 'outcome'] as const,
      registers,
    }),
    broken: new Counter({
      name: 'paidonce_gateway_broken_requests_total',
      help: 'Requests that the parser or a time limit ended',
      labelNames: ['reason'] as const,
      registers,
    }),
    endedConnections,
    filtered,
    filterFailures,
    filterUp: new Gauge({
      name: 'paidonce_gateway_filter_up',
      help: '1 while Redis is asked about repeats; 0 while it is of no use, or none is configured',
      registers,
    }),
    answerSeconds: new Histogram({
      name: 'paidonce_gateway_answer_seconds',
      help: 'From the last header of a request to its answer',
      labelNames: ['provider', 'outcome'] as const,
      buckets: [0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 4, 5],
      registers,
    }),
    batchRecords: new Histogram({
      name: 'paidonce_gateway_publish_batch_records',
      help: 'Records per produce call',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024],
      registers,
    }),
    inFlight: new Gauge({
      name: 'paidonce_gateway_in_flight_requests',
      help: 'Callbacks read and not yet answered',
      registers,
      collect() {
        this.set(readInFlight())
      },
    }),
    eventLoopLag: new Gauge({
      name: 'paidonce_gateway_event_loop_lag_seconds',
      help: 'The 99th percentile of the event loop delay since the last scrape',
      registers,
      collect() {
        // It measures from one of its own timers to the next.
        this.set(Math.max(0, delay.percentile(99) / 1e9 - LAG_RESOLUTION_MS / 1_000))
        delay.reset()
      },
    }),
    /** The gauge is read when it is scraped. */
    watchInFlight: (read: () => number) => (readInFlight = read),
    stop: () => delay.disable(),
  }
}

export type GatewayMetrics = ReturnType<typeof createMetrics>
