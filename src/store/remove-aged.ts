import type pg from 'pg'
import type { Clock } from '../runtime/clock.ts'
import { transactionOn } from '../runtime/postgres.ts'
import { int8s } from './bind.ts'
import { int, rowsOf } from './statement.ts'

export interface RemoveOptions {
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly dryRun: boolean
  readonly isStopped: () => boolean
  readonly budgetMs: number
  /** ISO 8601: what was settled before goes; undefined: nothing does. */
  readonly settledBefore: string | undefined
  readonly commandsBefore: string | undefined
}

/** What is removed row by row, as it comes rarely: each is one row or two of what a person did or must look at. */
export const REMOVED = ['replay_runs', 'dead_letters', 'brakes', 'bill_runs', 'commands'] as const
export type RemovedKind = (typeof REMOVED)[number]
export type Removed = Readonly<Record<RemovedKind, number>>

const ROWS_PER_STEP = 1_000
/** A dry run counts no further. */
const COUNTED_MAX = 100_000

// A run goes as a whole, with what it sent (10,000 at most), when all of it has had its answer for so long.
const RUNS = `replay_runs r where r.created_at < $1 and not exists (
  select from replays p where p.run_id = r.id and (p.result is null or p.finished_at >= $1))`
const REMOVE_RUN = {
  name: 'remove-replay-run',
  text: `
with run as materialized (select r.id from ${RUNS} order by r.id limit 1 for update of r skip locked),
sent as (delete from replays p using run where p.run_id = run.id)
delete from replay_runs r using run where r.id = run.id`,
}

// What is asked for again meanwhile has another status when its lock is had.
const LETTERS = `dead_letters d where d.status in ('replayed', 'discarded') and d.closed_at < $1
  and not exists (select from replays p where p.dead_letter_id = d.id and p.result is null)`
const REMOVE_LETTERS = {
  name: 'remove-dead-letters',
  text: `delete from dead_letters where id = any(array(
    select d.id from ${LETTERS} order by d.closed_at limit ${ROWS_PER_STEP} for update of d skip locked))`,
}

// Done: every lane has been told of the release, and nothing waits for it. operator_actions has who and why.
const BRAKES = `brakes b where b.done_at < $1`
const REMOVE_BRAKES = {
  name: 'remove-brakes',
  text: `
with gone as materialized (select b.id from ${BRAKES} order by b.done_at limit ${ROWS_PER_STEP} for update of b skip locked),
told as (delete from brake_lanes t using gone where t.brake_id = gone.id)
delete from brakes b using gone where b.id = gone.id`,
}

// With its findings, 80,000 at most: what they were about has long been settled, or is in the orders.
const BILLS = `bill_runs b where b.started_at < $1`
const REMOVE_BILL = {
  name: 'remove-bill-run',
  text: `
with run as materialized (select b.id from ${BILLS} order by b.id limit 1 for update of b skip locked),
found as (delete from bill_findings f using run where f.run_id = run.id),
seen as (delete from bill_seen s using run where s.run_id = run.id)
delete from bill_runs b using run where b.id = run.id`,
}

// Most go into the archive with their order; these belong to orders that stay. The oldest ids only, as no index is worth it.
const OLDEST_COMMANDS = 5_000
const COMMANDS = `(select * from commands order by id limit ${OLDEST_COMMANDS}) c
  where c.kind <> 'wake' and c.status <> 'pending' and c.finished_at < $1`
// Its order's lock keeps out whoever is about to find it by its key.
const LOCK_THEIR_ORDERS = {
  name: 'lock-orders-of-commands',
  text: `select o.id from orders o where o.id in (select c.order_id from ${COMMANDS} limit ${ROWS_PER_STEP})
    order by o.merchant, o.out_trade_no for update of o skip locked`,
}
const REMOVE_COMMANDS = {
  name: 'remove-commands',
  text: `delete from commands c where c.order_id = any($2::int8[]) and c.kind <> 'wake' and c.status <> 'pending'
    and c.finished_at < $1`,
}

const remove = (statement: { name: string; text: string }) => async (client: pg.ClientBase, before: string) =>
  (await client.query({ ...statement, values: [before] })).rowCount ?? 0

const removeCommands = (client: pg.ClientBase, before: string) =>
  transactionOn(client, async (tx) => {
    const orders = (await rowsOf<[id: unknown]>(tx, LOCK_THEIR_ORDERS, [before])).map(([id]) => int(id))
    if (orders.length === 0) return 0
    return (await tx.query({ ...REMOVE_COMMANDS, values: [before, int8s(orders)] })).rowCount ?? 0
  })

const STEPS: Record<RemovedKind, { which: string; step: (client: pg.ClientBase, before: string) => Promise<number> }> =
  {
    replay_runs: { which: RUNS, step: remove(REMOVE_RUN) },
    dead_letters: { which: LETTERS, step: remove(REMOVE_LETTERS) },
    brakes: { which: BRAKES, step: remove(REMOVE_BRAKES) },
    bill_runs: { which: BILLS, step: remove(REMOVE_BILL) },
    commands: { which: COMMANDS, step: removeCommands },
  }

/**
 * Removes what was settled long ago, in small steps that wait for nobody, each its own transaction; what is not done
 * within the budget is for the next run. What still waits for a person is never removed, however old.
 */
export async function removeAged(client: pg.ClientBase, options: RemoveOptions): Promise<Removed> {
  const { clock, dryRun, isStopped, budgetMs, settledBefore, commandsBefore } = options
  const removed = { replay_runs: 0, dead_letters: 0, brakes: 0, bill_runs: 0, commands: 0 }
  const startedMs = clock.elapsedMs()
  for (const kind of REMOVED) {
    const before = kind === 'commands' ? commandsBefore : settledBefore
    if (before === undefined) continue
    const { which, step } = STEPS[kind]
    if (dryRun) {
      const { rows } = await client.query<{ n: number }>(
        `select count(*)::int as n from (select from ${which} limit ${COUNTED_MAX}) aged`,
        [before],
      )
      removed[kind] = rows[0]?.n ?? 0
      continue
    }
    while (!isStopped() && clock.elapsedMs() - startedMs < budgetMs) {
      const rows = await step(client, before)
      if (rows === 0) break
      removed[kind] += rows
    }
  }
  return removed
}
