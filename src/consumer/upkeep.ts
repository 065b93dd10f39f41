import type pg from 'pg'
import { describeError, type Log } from '../runtime/log.ts'
import type { ConsumerMetrics } from './metrics.ts'

export interface UpkeepOptions {
  readonly pool: pg.Pool
  readonly consumer: string
  readonly keepDays: number
  readonly metrics: ConsumerMetrics
  readonly log: Log
}

const EVERY_MS = 5_000
const ROWS_MAX = 1_000
const PRUNE_MS_MAX = 2_500

/** Looks every 5 s at what waits, for the metrics, and removes a little of what was settled long ago. */
export function startUpkeep(options: UpkeepOptions): { readonly stop: () => Promise<void> } {
  const { log } = options
  let running: Promise<void> = Promise.resolve()
  let isRunning = false
  const timer = setInterval(() => {
    if (isRunning) return
    isRunning = true
    running = Promise.all([sample(options), prune(options)])
      .then(() => undefined)
      .catch((error: unknown) => log.warn({ error: describeError(error) }, 'upkeep failed'))
      .finally(() => (isRunning = false))
  }, EVERY_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return running
    },
  }
}

const STATES = ['waiting', 'calling', 'asking', 'unsettled'] as const

export async function sample({ pool, consumer, metrics }: UpkeepOptions): Promise<void> {
  const { rows } = await pool.query<{ state: string; count: string; age: number }>(
    `select state, count(*), coalesce(extract(epoch from clock_timestamp() - min(taken_at)), 0)::float8 as age
     from paidonce_consumer.inbox where consumer = $1 and settled_at is null group by state`,
    [consumer],
  )
  for (const state of STATES)
    metrics.open.set({ consumer, state }, Number(rows.find((row) => row.state === state)?.count ?? 0))
  metrics.oldest.set({ consumer }, Math.max(0, ...rows.map(({ age }) => age)))
  const { rows: reports } = await pool.query<{ count: string }>(
    'select count(*) from paidonce_consumer.reports where consumer = $1 and sent_at is null',
    [consumer],
  )
  metrics.unsent.set({ consumer }, Number(reports[0]?.count ?? 0))
}

/**
 * What is below the position is never taken in again, so nothing rests on these rows but a reset of the position. Dead
 * ones stay, as a person may want them revived. Small steps, and as many as keep up with what comes in.
 */
export async function prune({ pool, consumer, keepDays }: UpkeepOptions): Promise<void> {
  const endMs = performance.now() + PRUNE_MS_MAX
  for (const [table, key, at, gone] of [
    ['inbox', 'event_id', 'settled_at', `state = 'done'`],
    ['reports', 'id', 'sent_at', 'sent_at is not null'],
  ] as const)
    for (let removed = ROWS_MAX; removed === ROWS_MAX && performance.now() < endMs;) {
      const { rowCount } = await pool.query(
        `delete from paidonce_consumer.${table} where consumer = $1 and ${key} in (
           select ${key} from paidonce_consumer.${table}
           where consumer = $1 and ${gone} and ${at} < clock_timestamp() - $2 * interval '1 day'
           order by ${at} limit $3 for update skip locked)`,
        [consumer, keepDays, ROWS_MAX],
      )
      removed = rowCount ?? 0
    }
}
