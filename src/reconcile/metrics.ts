import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { createPoolGauge } from '../runtime/pool-gauge.ts'
import { noteNotInUse } from '../runtime/reload-gauge.ts'

/** Every metric of the reconciler; its help is the question that it answers. Labels come from fixed sets. */
export function createQueryMetrics(registry = new Registry()) {
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name: `paidonce_query_${name}`, help, labelNames, registers })
  const settled = counter('settled_total', 'What became of the questions that were due?', 'outcome')
  const errors = counter('errors_total', 'How often did Postgres or Kafka stand in the way?', 'step')
  const filed = counter('filed_total', 'How many questions were filed, and about what?', 'about')
  // From the start, so that the first one is seen as an increase.
  for (const outcome of ['again', 'done', 'later', 'remove', 'given_up']) settled.inc({ outcome }, 0)
  const reloads = counter('keys_reloads_total', 'How often were the query keys loaded again, or refused?', 'outcome')
  const reloadFailed = new Gauge({
    name: 'paidonce_query_keys_reload_failed',
    help: 'Do the files of the query keys hold a mistake, or never rest, so that older ones are in use?',
    registers,
  })
  const loadedAt = new Gauge({
    name: 'paidonce_query_keys_loaded_timestamp_seconds',
    help: 'When were the query keys in use loaded?',
    registers,
  })
  const notInUse = noteNotInUse(reloadFailed)
  for (const outcome of ['loaded', 'refused']) reloads.inc({ outcome }, 0)
  for (const step of ['lease', 'settle']) errors.inc({ step }, 0)
  for (const about of ['pending', 'held', 'hint']) filed.inc({ about }, 0)
  return {
    registry,
    watchPool: createPoolGauge(registers),
    settled,
    errors,
    filed,
    noteReload: (outcome: 'loaded' | 'refused', at: Date) => {
      reloads.inc({ outcome })
      notInUse({ refused: outcome === 'refused' })
      if (outcome === 'loaded') loadedAt.set(at.getTime() / 1_000)
    },
    noteUnsettled: (unsettled: boolean) => notInUse({ unsettled }),
    asked: counter('asked_total', 'How often was a provider asked, and what came of it?', 'provider', 'outcome'),
    seconds: new Histogram({
      name: 'paidonce_query_seconds',
      help: 'How long does a provider take to answer?',
      labelNames: ['provider'] as const,
      buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30],
      registers,
    }),
    published: counter('published_total', 'How many records that a provider told were published?', 'provider'),
    inFlight: new Gauge({
      name: 'paidonce_query_in_flight',
      help: 'How many questions of this process are being asked?',
      registers,
    }),
  }
}
export type QueryMetrics = ReturnType<typeof createQueryMetrics>
