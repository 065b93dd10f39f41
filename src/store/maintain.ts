import type pg from 'pg'
import type { Clock } from '../runtime/clock.ts'
import { dayAfter, dayOf } from '../runtime/days.ts'
import { archiveAll, type Archived } from './archive-all.ts'
import type { ReachArchive } from './archive-orders.ts'
import { checkClock } from './check-clock.ts'
import { maintainPartitions, type PartitionWork } from './maintain-partitions.ts'
import { removeAged, type Removed } from './remove-aged.ts'
import { settleAllReplays } from './settle-replays.ts'

/** What is kept for how long: `GROWTH` in runtime/config.ts says the same in words of the environment. */
export interface GrowthLimits {
  readonly aheadDays: number
  readonly deliveriesDays: number
  readonly eventsDays: number
  /** 0: never. */
  readonly archiveAfterDays: number
  /** 0: for ever. */
  readonly settledDays: number
  readonly commandsDays: number
}

export interface MaintainOptions {
  readonly clock: Clock
  /** The input topic's full name, prefix included, as in `lanes`. */
  readonly inputTopic: string
  readonly limits: GrowthLimits
  /** True: say what would be done, change nothing. */
  readonly dryRun?: boolean
  /** What archiving may take, and removing after it; the rest is for the next run. */
  readonly budgetMs?: number
  /** Where the last run stopped; undefined: from the oldest order on. */
  readonly archiveAfterId?: number | undefined
  readonly reach?: ReachArchive
  /** True: end at the next step. */
  readonly isStopped?: () => boolean
  /** How far the clock may be from Postgres' own; undefined: as far as it likes, as in a simulation. */
  readonly skewMsMax?: number
}

export type Maintained =
  | {
      readonly kind: 'done'
      readonly work: readonly PartitionWork[]
      readonly archived: Archived
      readonly removed: Removed
    }
  /** Another process is at it. */
  | { readonly kind: 'busy' }

/** Any number that nothing else in the database locks. */
const LOCK = 7_205_711_305

/** The limits as the environment has them. */
export const limitsOf = (config: {
  readonly PARTITIONS_AHEAD_DAYS: number
  readonly DELIVERIES_KEEP_DAYS: number
  readonly EVENTS_KEEP_DAYS: number
  readonly ARCHIVE_AFTER_DAYS: number
  readonly SETTLED_KEEP_DAYS: number
  readonly COMMANDS_KEEP_DAYS: number
}): GrowthLimits => ({
  aheadDays: config.PARTITIONS_AHEAD_DAYS,
  deliveriesDays: config.DELIVERIES_KEEP_DAYS,
  eventsDays: config.EVENTS_KEEP_DAYS,
  archiveAfterDays: config.ARCHIVE_AFTER_DAYS,
  settledDays: config.SETTLED_KEEP_DAYS,
  commandsDays: config.COMMANDS_KEEP_DAYS,
})

/**
 * Keeps the tables from growing without end: makes the partitions of the days to come, drops those that are past their
 * time, moves finished orders into the archive, and removes what was settled long ago. Safe to run at any time, again,
 * and from several processes: one at a time does it. Killed at any moment it leaves nothing half done.
 * @throws WrongClock
 */
export async function maintain(pool: pg.Pool, options: MaintainOptions): Promise<Maintained> {
  const { clock, inputTopic, limits, dryRun = false, isStopped = () => false, budgetMs = Infinity } = options
  const client = await pool.connect()
  let failure: Error | undefined
  let isLocked = false
  try {
    // To look through a large default partition takes longer than any statement of a lane.
    // One that is frozen keeps its orders, or a whole table, from the lanes: not for the pool's half minute.
    await client.query(
      `set statement_timeout = '10min'; set timezone = 'UTC'; set idle_in_transaction_session_timeout = '5s'`,
    )
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [LOCK])
    isLocked = rows[0]?.mine === true
    if (!isLocked) return { kind: 'busy' }
    await checkClock(client, clock, options.skewMsMax ?? Infinity)
    const today = dayOf(clock.now().getTime())
    if (!dryRun) await settleAllReplays(pool)
    const work = await maintainPartitions(client, { today, inputTopic, limits, dryRun, isStopped })
    const archived = await archiveAll(client, {
      clock,
      inputTopic,
      dryRun,
      isStopped,
      now: clock.now().toISOString(),
      unchangedSince: limits.archiveAfterDays === 0 ? undefined : dayAfter(today, -limits.archiveAfterDays),
      budgetMs,
      afterId: options.archiveAfterId,
      reach: options.reach ?? (() => undefined),
    })
    const before = (days: number) => (days === 0 ? undefined : dayAfter(today, -days))
    const removed = await removeAged(client, {
      ...{ clock, dryRun, isStopped, budgetMs },
      ...{ settledBefore: before(limits.settledDays), commandsBefore: before(limits.commandsDays) },
    })
    return { kind: 'done', work, archived, removed }
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error))
    throw error
  } finally {
    // The settings end with the connection; the lock is given back before, so that the next run finds it free.
    if (isLocked && failure === undefined)
      await client.query('select pg_advisory_unlock($1)', [LOCK]).catch(() => undefined)
    client.release(failure ?? true)
  }
}
