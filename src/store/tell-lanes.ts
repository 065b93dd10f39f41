import type pg from 'pg'
import { isBusy } from '../runtime/postgres-fault.ts'
import { noSteps, type OnStep, type TransactionStep } from '../runtime/postgres.ts'
import { lanesChannel } from './notify.ts'
import { int } from './statement.ts'

/** `changed`: who did it is not noted yet; `ruled`: it is committed, no lane knows of it. */
export type BrakeStep = TransactionStep | 'changed' | 'ruled' | 'told_lane' | 'told'

// A lane in a transaction of its own: a lane that is slow keeps no other waiting. Whoever decides by older brakes is
// refused from here on, and what is numbered by then has a number below the counter.
const TELL_SET = `
with l as (
  update lanes set brake_version = brake_version + 1, updated_at = now() where topic = $1 and lane = $2
  returning lane, next_seq
), told as (
  insert into brake_lanes (brake_id, lane, stop_seq) select $3, lane, next_seq from l on conflict do nothing
)
select pg_notify($4, lane::text) from l`
const TELL_RELEASED = `
with l as (
  update lanes set brake_version = brake_version + 1, updated_at = now() where topic = $1 and lane = $2
    and exists (select from brakes where id = $3 and released_at is not null)
  returning lane, next_seq
), told as (
  insert into brake_lanes (brake_id, lane, stop_seq, is_released) select $3, lane, next_seq, true from l
  on conflict (brake_id, lane) do update set is_released = true
)
select pg_notify($4, lane::text) from l`
// Whoever released a brake may go on with telling it after Postgres was set back to before that: it is set, and stays so.
// A lane that is not there yet reads the brakes with its first fence, which comes after this.
const UNTOLD = `
select l.lane from lanes l where l.topic = $1 and not exists (
  select from brake_lanes t where t.brake_id = $2 and t.lane = l.lane and (t.is_released or not $3::bool))
order by l.lane`
const DONE = {
  set: 'update brakes set told_at = now() where id = $1 and told_at is null',
  released:
    'update brakes set release_told_at = now() where id = $1 and released_at is not null and release_told_at is null',
}

/** Each waits for the pool's lock timeout; then whoever asked has waited long enough. */
const BUSY_LANES_MAX = 3

/**
 * Makes every lane read its brakes again before it writes anything more. Safe to run again and to run twice at once: the
 * processors go on with what somebody has left undone.
 * @returns lanes that were too busy to be told
 */
export async function tellLanes(
  pool: pg.Pool,
  appId: string,
  topic: string,
  { brakeId, phase }: { brakeId: number; phase: 'set' | 'released' },
  onStep: OnStep<BrakeStep> = noSteps,
): Promise<number[]> {
  const isReleased = phase === 'released'
  const { rows } = await pool.query<{ lane: number }>(UNTOLD, [topic, brakeId, isReleased])
  const busy: number[] = []
  for (const { lane } of rows) {
    if (
      busy.length < BUSY_LANES_MAX &&
      (await tell(pool, isReleased ? TELL_RELEASED : TELL_SET, [topic, lane, brakeId, lanesChannel(appId)]))
    )
      await onStep('told_lane')
    else busy.push(lane)
  }
  if (busy.length > 0) return busy
  await pool.query(DONE[phase], [brakeId])
  await onStep('told')
  return []
}

async function tell(pool: pg.Pool, sql: string, values: unknown[]): Promise<boolean> {
  try {
    await pool.query(sql, values)
    return true
  } catch (error) {
    if (!isBusy(error)) throw error
    return false
  }
}

/** By lane: the number below which its events still go out. */
export async function readStops(pool: pg.Pool, brakeId: number): Promise<{ lane: number; stopSeq: number }[]> {
  const { rows } = await pool.query<{ lane: number; stop_seq: string }>(
    'select lane, stop_seq from brake_lanes where brake_id = $1 order by lane',
    [brakeId],
  )
  return rows.map(({ lane, stop_seq: stopSeq }) => ({ lane, stopSeq: int(stopSeq) }))
}

/**
 * Ends what somebody has begun and not ended: lanes that were not told, and brakes that nothing waits for any more. Run
 * by the processors now and then.
 */
export async function finishBrakes(pool: pg.Pool, appId: string, topic: string): Promise<void> {
  const { rows } = await pool.query<{ id: string; set_untold: boolean; release_untold: boolean }>(
    `select id, told_at is null and released_at is null as set_untold,
       released_at is not null and release_told_at is null as release_untold
     from brakes where done_at is null order by id`,
  )
  for (const row of rows) {
    const brakeId = int(row.id)
    if (row.set_untold) await tellLanes(pool, appId, topic, { brakeId, phase: 'set' })
    if (row.release_untold) await tellLanes(pool, appId, topic, { brakeId, phase: 'released' })
  }
  // A lane that has not been told could still put events to it; after that only behind others that wait for it.
  await pool.query(
    `update brakes b set done_at = now() where b.done_at is null and b.released_at is not null
       and b.release_told_at is not null
       and not exists (select from waiting_events w where w.brake_id = b.id)`,
  )
}
