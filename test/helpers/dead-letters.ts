import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { payment, type Installation } from './installation.ts'

let offset = 1_000_000

/** Dead letters of sound payments of orders that exist, as an unknown schema leaves them; one for each order. */
export async function givenLetters(
  it: Installation,
  orders: readonly string[],
  more: { readonly replayCount?: number; readonly value?: Buffer; readonly merchant?: string } = {},
): Promise<number[]> {
  await it.createOrders(orders)
  const ids: number[] = []
  for (const order of orders) {
    const { rows } = await it.database.pool.query<{ id: number }>(
      `insert into dead_letters (topic, lane, kafka_offset, key, value, reason, record_time, replay_count, merchant)
       values ($1, $2, $3, $4, $5, 'unknown_schema', now(), $6, $7) returning id::int`,
      [
        ...[it.topics.name(INPUT_TOPIC), it.laneOf(order), offset++, order],
        ...[more.value ?? it.encode(payment(order).callback), more.replayCount ?? 0, more.merchant ?? null],
      ],
    )
    ids.push(...rows.map(({ id }) => id))
  }
  return ids
}
