import type { Queryable } from '../runtime/postgres.ts'
import type { LeasedQuery } from './lease-queries.ts'
import { rowsOf } from './statement.ts'

export type Settlement =
  /** Asked, and to be asked again. */
  | { readonly kind: 'again'; readonly dueAtMs: number; readonly askedAtMs: number; readonly answer: string }
  /** Asked for the last time; looked at again then, and removed once its order needs it no more. */
  | { readonly kind: 'done'; readonly dueAtMs: number; readonly askedAtMs: number; readonly answer: string }
  /** Not asked: only looked at. */
  | { readonly kind: 'later'; readonly dueAtMs: number }
  /** Its order needs it no more, or it has been given up. */
  | { readonly kind: 'remove' }

// By the lease: whoever was too slow finds another's, and changes nothing. What was made due meanwhile stays so.
const IS_EARLIER = '(due_at < $2::timestamptz or wished_at is not null)'
const SETTLE = `
update timers set leased_until = null,
  due_at = case when ${IS_EARLIER} then due_at else $3::timestamptz end,
  attempts = attempts + case when $4::timestamptz is null then 0 else 1 end, asked_at = coalesce($4, asked_at),
  answer = coalesce($5, answer), done_at = case when ${IS_EARLIER} then null else coalesce($6::timestamptz, done_at) end
where id = $1 and leased_until = $2::timestamptz returning wished_at is not null`
const REMOVE = `
with gone as (delete from timers where id = $1 and leased_until = $2::timestamptz and not ${IS_EARLIER} returning 1)
update timers set leased_until = null where id = $1 and leased_until = $2::timestamptz and ${IS_EARLIER}
returning wished_at is not null`

/** Ends a lease. @returns whether somebody wanted to know at once meanwhile: it is due again */
export async function settleQuery(
  db: Queryable,
  { id, leasedUntilMs }: Pick<LeasedQuery, 'id' | 'leasedUntilMs'>,
  how: Settlement,
): Promise<boolean> {
  const lease = [id, new Date(leasedUntilMs)]
  if (how.kind === 'remove') {
    const [wished] = await rowsOf<[boolean]>(db, { name: 'remove-query', text: REMOVE }, lease)
    return wished?.[0] === true
  }
  const asked = how.kind === 'later' ? [null, null] : [new Date(how.askedAtMs), how.answer.slice(0, 300)]
  const done = how.kind === 'done' ? new Date(how.askedAtMs) : null
  const values = [...lease, new Date(how.dueAtMs), ...asked, done]
  const [wished] = await rowsOf<[boolean]>(db, { name: 'settle-query', text: SETTLE }, values)
  return wished?.[0] === true
}
