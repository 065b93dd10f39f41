import type pg from 'pg'

/** What Postgres has of some orders of a lane, each item as `what …`, where the order's number is `round-what-lane…`. */
export interface LaneState {
  readonly orders: readonly string[]
  readonly events: readonly string[]
  readonly anomalies: readonly string[]
  readonly timers: readonly string[]
  readonly commands: readonly string[]
  readonly actions: number
}

const listOf = (text: string, join = '') =>
  `coalesce((select array_agg(said order by said) from (
     select x.what || ' ' || ${text} as said from mine x ${join} where x.lane = l.lane) s), '{}')`

/** @param round the beginning of the orders' numbers */
export async function laneStates(pool: pg.Pool, round: string): Promise<ReadonlyMap<number, LaneState>> {
  const { rows } = await pool.query<LaneState & { lane: number }>(
    `with mine as (select id, lane, status::text, split_part(out_trade_no, '-', 2) as what from orders
       where out_trade_no like $1 || '-%')
     select l.lane, ${listOf('x.status')} as orders,
       ${listOf('e.kind', 'join events e on e.order_id = x.id')} as events,
       ${listOf(`a.kind || coalesce(' ' || a.resolution, '')`, 'join anomalies a on a.order_id = x.id')} as anomalies,
       ${listOf('t.kind', 'join timers t on t.order_id = x.id and t.done_at is null')} as timers,
       ${listOf(`c.kind || ' ' || c.status`, 'join commands c on c.order_id = x.id')} as commands,
       (select count(*)::int from mine x join operator_actions o on (o.target->>'orderId')::bigint = x.id
         where x.lane = l.lane) as actions
     from (select distinct lane from mine) l`,
    [round],
  )
  return new Map(rows.map(({ lane, ...state }) => [lane, state]))
}
