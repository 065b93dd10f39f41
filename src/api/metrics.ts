import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { CONNECTION_ENDS } from '../runtime/connection-limits.ts'
import { createPoolGauge } from '../runtime/pool-gauge.ts'

/** Labels come from fixed sets: a route's pattern, never a path; a kind of refusal, never a text. */
export function createApiMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const endedConnections = new Counter({
    name: 'paidonce_api_connections_ended_total',
    help: 'Connections ended for what they did, or for want of room.',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of CONNECTION_ENDS) endedConnections.inc({ reason }, 0)
  const refreshes = new Counter({
    name: 'paidonce_api_refreshes_total',
    help: 'Orders read with refresh, by result: asked, pending, recent, settled, limited.',
    labelNames: ['result'],
    registers,
  })
  for (const result of ['asked', 'pending', 'recent', 'settled', 'limited']) refreshes.inc({ result }, 0)
  return {
    registry,
    watchPool: createPoolGauge(registers),
    endedConnections,
    refreshes,
    requests: new Counter({
      name: 'paidonce_api_requests_total',
      help: 'Requests answered, by route and status.',
      labelNames: ['method', 'route', 'status'],
      registers,
    }),
    seconds: new Histogram({
      name: 'paidonce_api_request_seconds',
      help: 'From the request line to the answer handed to the socket.',
      labelNames: ['method', 'route'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    refusals: new Counter({
      name: 'paidonce_api_refusals_total',
      help: 'Requests and single orders refused, by kind.',
      labelNames: ['kind'],
      registers,
    }),
    orders: new Counter({
      name: 'paidonce_api_orders_total',
      help: 'Orders asked for, by result: created, same, refused.',
      labelNames: ['result'],
      registers,
    }),
    commands: new Counter({
      name: 'paidonce_api_commands_total',
      help: 'Commands answered, by kind and by what was known then: done, refused, failed, pending.',
      labelNames: ['kind', 'outcome'],
      registers,
    }),
    replaysSent: new Counter({
      name: 'paidonce_api_replayed_records_total',
      help: 'Dead letters sent into the input topic again.',
      registers,
    }),
    replayFailures: new Counter({
      name: 'paidonce_api_replay_failures_total',
      help: 'Tries to send a replay that did not get on.',
      registers,
    }),
    inFlight: new Gauge({ name: 'paidonce_api_in_flight', help: 'Requests being worked on.', registers }),
    databaseRetries: new Counter({
      name: 'paidonce_api_database_retries_total',
      help: 'Requests that ran again after trouble with the database.',
      registers,
    }),
  }
}
export type ApiMetrics = ReturnType<typeof createApiMetrics>
