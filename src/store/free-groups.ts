import type { Transaction } from '../runtime/postgres.ts'
import { int8s, texts } from './bind.ts'
import { int, rowsOf } from './statement.ts'

export interface LockedGroups {
  readonly groups: readonly { readonly merchant: string; readonly groupKey: string }[]
  /** Orders whose group a lane or a create holds. */
  readonly busy: ReadonlySet<number>
}

// Whoever creates an order of the group holds its key share until the order can be seen.
const LOCK = {
  name: 'lock-groups-to-free',
  text: `
with wanted as materialized (
  select o.id, o.merchant, o.group_key from orders o where o.id = any($1::int8[]) and o.group_key is not null
), locked as materialized (
  select g.merchant, g.group_key from groups g
  where exists (select from wanted w where w.merchant = g.merchant and w.group_key = g.group_key)
  order by g.merchant, g.group_key for update of g skip locked
)
select w.id, w.merchant, w.group_key, l.group_key is not null from wanted w
left join locked l on l.merchant = w.merchant and l.group_key = w.group_key
where exists (select from groups g where g.merchant = w.merchant and g.group_key = w.group_key)`,
}

/** Locks the groups of orders that the caller has locked and is about to take away; waits for nobody. */
export async function lockGroups(tx: Transaction, orderIds: readonly number[]): Promise<LockedGroups> {
  type Row = [id: unknown, merchant: string, groupKey: string, isLocked: boolean]
  const rows = await rowsOf<Row>(tx, LOCK, [int8s(orderIds)])
  const mine = rows.filter(([, , , isLocked]) => isLocked)
  return {
    groups: [
      ...new Map(mine.map(([, merchant, groupKey]) => [`${merchant}\0${groupKey}`, { merchant, groupKey }])).values(),
    ],
    busy: new Set(rows.flatMap(([id, , , isLocked]) => (isLocked ? [] : [int(id)]))),
  }
}

const FREE = {
  name: 'free-groups',
  text: `
delete from groups g using unnest($1::text[], $2::text[]) as i (merchant, group_key)
where g.merchant = i.merchant and g.group_key = i.group_key
  and not exists (select from orders o where o.merchant = g.merchant and o.group_key = g.group_key)`,
}

/** Removes those of the locked groups that have no order any more; a statement after the orders are gone. */
export async function freeGroups(tx: Transaction, { groups }: Pick<LockedGroups, 'groups'>): Promise<void> {
  if (groups.length === 0) return
  await tx.query({
    ...FREE,
    values: [texts(groups.map(({ merchant }) => merchant)), texts(groups.map(({ groupKey }) => groupKey))],
  })
}
